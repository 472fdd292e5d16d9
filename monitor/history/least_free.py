"""How close each run came to the end of its GPUs' memory: the least that was free while it was watched, as sampled."""

from __future__ import annotations

from monitor.types.gpu import GpuIdentity, GpuSample
from monitor.types.messages import Hello, Message, Snapshot
from monitor.types.record import Record
from monitor.types.run import Run


class LeastFree(Record, frozen=True, kw_only=True):
    """The tightest moment of a run's tightest GPU. Shorter peaks than the interval of the samples are not in it."""

    gpu_uuid: str
    free_bytes: int
    total_bytes: int | None = None


class RunMemory:
    """Follows the free memory of the GPUs of each run. Same messages and runs, same answers."""

    def __init__(self) -> None:
        self._least: dict[str, dict[str, LeastFree]] = {}
        self._identities: dict[str, GpuIdentity] = {}

    def update(self, message: Message) -> None:
        """Take one message: which GPUs there are."""
        if isinstance(message, Hello):
            self._identities = {identity.uuid: identity for identity in message.gpus}

    def note_runs(self, runs: tuple[Run, ...], snapshot: Snapshot) -> None:
        """Take what the runs were at this snapshot. A run that ended keeps what was seen; one that is gone does not."""
        for run_id in self._least.keys() - {run.run_id for run in runs}:
            del self._least[run_id]
        free = {sample.uuid: found for sample in snapshot.gpus if (found := self._free(sample)) is not None}
        for run in runs:
            if run.ended is not None or not run.gpu_uuids:
                continue
            kept = self._least.setdefault(run.run_id, {})
            for uuid in run.gpu_uuids:
                now = free.get(uuid)
                before = kept.get(uuid)
                if now is not None and (before is None or now.free_bytes < before.free_bytes):
                    kept[uuid] = now

    def least_free(self) -> dict[str, LeastFree]:
        """By run: its tightest GPU. Runs without a GPU whose memory is known are absent."""
        return {
            run_id: min(by_gpu.values(), key=lambda one: one.free_bytes)
            for run_id, by_gpu in self._least.items()
            if by_gpu
        }

    def _free(self, sample: GpuSample) -> LeastFree | None:
        identity = self._identities.get(sample.uuid)
        if sample.state != "ok" or (identity is not None and identity.unified_memory):
            return None
        free, total = free_memory_bytes(sample), sample.memory_total_bytes
        return None if free is None else LeastFree(gpu_uuid=sample.uuid, free_bytes=free, total_bytes=total)


def free_memory_bytes(sample: GpuSample, gpu: GpuIdentity | None = None) -> int | None:
    """What is free by the driver's own figure, else what neither runs nor the driver use; `None` where that is unknown.

    `gpu` gives the size of the memory where the sample has none.
    """
    if sample.memory_free_bytes is not None:
        return sample.memory_free_bytes
    total = sample.memory_total_bytes
    if total is None and gpu is not None:
        total = gpu.memory_total_bytes
    if total is None or sample.memory_used_bytes is None:
        return None
    return max(0, total - sample.memory_used_bytes - (sample.memory_reserved_bytes or 0))
