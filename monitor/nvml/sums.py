"""What follows from the driver's process list: records for the stream, and memory that nobody listed accounts for."""

from __future__ import annotations

from collections.abc import Sequence

from monitor.nvml.process_use import ProcessUse
from monitor.nvml.processes import Claim
from monitor.types.gpu import GpuProcess


def process_records(claims: Sequence[Claim], use: ProcessUse | None, now_s: float) -> tuple[GpuProcess, ...]:
    """The claims as records, with how busy each keeps the GPU where that is known."""
    records: list[GpuProcess] = []
    for claim in claims:
        ratio, age_s = use.value(claim.pid, now_s) if use is not None else (None, None)
        records.append(
            GpuProcess(
                pid=claim.pid,
                used_memory_bytes=claim.used_memory_bytes,
                kind=claim.kind,
                gpu_util_ratio=ratio,
                gpu_util_age_s=age_s,
                gpu_instance_id=claim.gpu_instance_id,
                compute_instance_id=claim.compute_instance_id,
            )
        )
    return tuple(records)


def held_bytes(claims: Sequence[Claim]) -> int | None:
    """The sum over the processes; `None` when the figure of one is not available."""
    total = 0
    for claim in claims:
        if claim.used_memory_bytes is None:
            return None
        total += claim.used_memory_bytes
    return total


def unattributed_bytes(used_bytes: int | None, claims: Sequence[Claim], *, known: bool) -> int | None:
    """Device memory in use that no listed process accounts for; `None` where either side is not known.

    Contexts, managed memory, the display, hidden processes and other containers are in it: it is nobody's fault.
    """
    held = held_bytes(claims)
    if used_bytes is None or held is None or not known:
        return None
    return max(0, used_bytes - held)
