"""Which runs were on a GPU when it failed. The driver lists no processes on a lost GPU, but their ranks hang on it."""

from __future__ import annotations

import msgspec

from monitor.types.messages import Snapshot
from monitor.types.run import Run

FAILED = frozenset({"lost", "needs_reset", "error"})
GRACE_TICKS = 3
"""The list of processes may go some ticks before the state does."""


class FailedGpus:
    """Remembers the GPUs of each run for as long as a failed one hides who was on it."""

    def __init__(self) -> None:
        self._held: dict[str, dict[str, int]] = {}
        self._failed: dict[str, tuple[str, ...]] = {}

    def note_runs(self, runs: tuple[Run, ...], snapshot: Snapshot) -> None:
        """Take what the runs were at this snapshot."""
        failed = {sample.uuid for sample in snapshot.gpus if sample.state in FAILED}
        self._failed = {}
        held: dict[str, dict[str, int]] = {}
        for run in runs:
            if run.ended is not None:
                continue
            now = dict.fromkeys(run.gpu_uuids, 0)
            for uuid, ticks in self._held.get(run.run_id, {}).items():
                if uuid in failed:
                    now.setdefault(uuid, ticks)
                elif ticks < GRACE_TICKS:
                    now.setdefault(uuid, ticks + 1)
            if now:
                held[run.run_id] = now
            gone = tuple(uuid for uuid in now if uuid in failed and uuid not in run.gpu_uuids)
            if gone:
                self._failed[run.run_id] = gone
        self._held = held

    def with_failed(self, runs: tuple[Run, ...]) -> tuple[Run, ...]:
        """The runs, each with the failed GPUs that it was on."""
        if not self._failed:
            return runs
        return tuple(
            run if gone is None else msgspec.structs.replace(run, gpu_uuids=(*run.gpu_uuids, *gone))
            for run in runs
            for gone in (self._failed.get(run.run_id),)
        )
