"""Whom the pids that the driver names belong to here. Pure.

Inside a container the driver may speak of the host's pids: its 42 need not be our 42. A wrong name is worse than none,
so a pid counts as ours only where something confirms it, and what is found by elimination is marked as inferred.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from monitor.processes.namespace import Namespace
from monitor.types.gpu import GpuSample
from monitor.types.identity import ProcessIdentity
from monitor.types.process import Pairing

_HOW_TO_SEE = "Run traintop on the host, or the container with --pid=host (Kubernetes: hostPID: true), to see it."


@dataclass(frozen=True, slots=True)
class LocalProcess:
    """What is known here of a pid."""

    identity: ProcessIdentity | None
    """`None` when /proc does not show it."""
    exists: bool
    """Whether the kernel knows such a pid, shown or not."""
    holds_gpu: bool | None = None
    """Whether it holds a GPU device open; `None` when that cannot be read."""
    zombie: bool = False


@dataclass(frozen=True, slots=True)
class Holder:
    """An own process that holds a GPU open, as a partner for a pid that means nothing here."""

    identity: ProcessIdentity
    gpu_uuids: frozenset[str] | None
    """The GPUs it may use (CUDA_VISIBLE_DEVICES); `None` when it may use all."""


def pair(
    gpus: Sequence[GpuSample], local: Mapping[int, LocalProcess], holders: Sequence[Holder], here: Namespace
) -> tuple[Pairing, ...]:
    """Say for each pid on each GPU whom it belongs to here."""
    on_gpus: dict[int, set[str]] = {}
    for gpu in gpus:
        for process in gpu.processes or ():
            on_gpus.setdefault(process.pid, set()).add(gpu.uuid)
    decided = {pid: _direct(local.get(pid), here) for pid in on_gpus}
    open_pids = {pid: on_gpus[pid] for pid, verdict in decided.items() if verdict[1] == "other_namespace"}
    taken = {verdict[0] for verdict in decided.values() if verdict[0] is not None}
    for pid, identity in _eliminate(open_pids, [holder for holder in holders if holder.identity not in taken]).items():
        detail = f"The driver's pid {pid} means nothing here; this is the only local process that fits."
        decided[pid] = (identity, "inferred", detail)
    return tuple(
        Pairing(gpu_uuid=gpu.uuid, driver_pid=process.pid, process=verdict[0], how=verdict[1], detail=verdict[2])
        for gpu in gpus
        for process in gpu.processes or ()
        for verdict in (decided[process.pid],)
    )


def _direct(local: LocalProcess | None, here: Namespace) -> tuple[ProcessIdentity | None, str, str]:
    """What can be said of one pid by itself."""
    known = local is not None and local.identity is not None
    if local is not None and local.identity is not None and (local.holds_gpu or here.nested is False):
        detail = "It has ended but its parent has not noticed; the driver may keep its memory." if local.zombie else ""
        return local.identity, "same_pid", detail
    if not known and local is not None and local.exists:
        return None, "hidden", "The system hides processes of other users (hidepid on /proc)."
    if here.nested is False:
        return None, "gone", "No such process: it has just ended, or the driver still holds memory of a dead one."
    if local is not None and local.identity is not None and local.holds_gpu is None:
        detail = "A process with this pid is here, but nothing shows that it is the one the driver means."
        return None, "other_namespace", f"{detail} {_HOW_TO_SEE}"
    detail = "The driver names a process of another pid namespace (another container, or the host)."
    return None, "other_namespace", f"{detail} {_HOW_TO_SEE}"


def _eliminate(open_pids: Mapping[int, set[str]], holders: Sequence[Holder]) -> dict[int, ProcessIdentity]:
    """Pairs that are the only possible ones from both sides; each pair found may make the next one unique."""
    pids = dict(open_pids)
    left = {holder.identity: holder for holder in holders}
    found: dict[int, ProcessIdentity] = {}
    while True:
        fits = {
            pid: [holder for holder in left.values() if holder.gpu_uuids is None or uuids <= holder.gpu_uuids]
            for pid, uuids in pids.items()
        }
        unique = [
            (pid, candidates[0].identity)
            for pid, candidates in fits.items()
            if len(candidates) == 1 and sum(candidates[0] in others for others in fits.values()) == 1
        ]
        if not unique:
            return found
        for pid, identity in unique:
            found[pid] = identity
            del pids[pid], left[identity]
