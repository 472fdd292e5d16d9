"""Processes that only the driver names: in another pid namespace or hidden. They hold a GPU, so they are shown."""

from __future__ import annotations

import hashlib

from monitor.types.messages import Snapshot
from monitor.types.record import Missing
from monitor.types.run import Run

_PLACES = {"other_namespace": "in another container", "hidden": "hidden by the system"}
MAX_RUNS = 64


def unseen_runs(snapshot: Snapshot, boot_id: str, since_s: dict[int, float]) -> list[Run]:
    """One run without members for each such process: nothing is ever signalled or read on the strength of its pid.

    `since_s` remembers, by pid, when each was first seen.
    """
    gpus: dict[int, list[str]] = {}
    places: dict[int, tuple[str, str]] = {}
    for pairing in snapshot.pairings:
        if pairing.process is None and pairing.how in _PLACES and len(gpus) < MAX_RUNS:
            gpus.setdefault(pairing.driver_pid, []).append(pairing.gpu_uuid)
            places[pairing.driver_pid] = pairing.how, pairing.detail
    for pid in since_s.keys() - gpus.keys():
        del since_s[pid]
    figures = {(gpu.uuid, one.pid): one.used_memory_bytes for gpu in snapshot.gpus for one in gpu.processes}
    runs: list[Run] = []
    for pid, uuids in sorted(gpus.items()):
        how, detail = places[pid]
        used = [figures.get((uuid, pid)) for uuid in uuids]
        known = [figure for figure in used if figure is not None]
        key = hashlib.blake2b(f"{boot_id}|unseen|{pid}".encode(), digest_size=5).hexdigest()
        reason = "hidden" if how == "hidden" else "no_permission"
        runs.append(
            Run(
                run_id=key,
                name=f"pid {pid} {_PLACES[how]}",
                kind="other",
                gpu_uuids=tuple(uuids),
                gpu_memory_bytes=sum(known) if len(known) == len(used) else None,
                watched_since_s=since_s.setdefault(pid, snapshot.taken_s),
                phase="not_training",
                missing=(Missing(field="members", reason=reason, detail=detail),),
            )
        )
    return runs
