"""What follows from the driver's process list: records for the stream, and memory that nobody listed accounts for."""

from __future__ import annotations

from collections.abc import Sequence

from monitor.nvml.process_use import ProcessUse
from monitor.nvml.processes import Claim, ProcessList
from monitor.nvml.reading import missing_entry
from monitor.types.gpu import GpuProcess
from monitor.types.record import Missing

_UNRELIABLE = Missing(
    field="processes",
    reason="failed",
    detail="The process list is unreliable with this driver and binding: rows that cannot be true were left out.",
)
_NOT_SAID = Missing(
    field="processes.used_memory_bytes",
    reason="hidden",
    detail="The driver does not say how much memory each process holds.",
)


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


def held_bytes(listed: ProcessList) -> int | None:
    """The sum over the processes; `None` when the list, a row of it or the figure of a process is not to be had."""
    if listed.refusal is not None or listed.dropped or any(one.used_memory_bytes is None for one in listed.claims):
        return None
    return _named_bytes(listed)


def unattributed_bytes(used_bytes: int | None, listed: ProcessList) -> int | None:
    """Device memory in use that no figure of a listed process accounts for; `None` without a list that can be trusted.

    Contexts, managed memory, the display, hidden processes, other containers and the processes whose figure the driver
    does not give are in it: it is nobody's fault.
    """
    if used_bytes is None or listed.refusal is not None or listed.dropped:
        return None
    return max(0, used_bytes - _named_bytes(listed))


def _named_bytes(listed: ProcessList) -> int:
    return sum(claim.used_memory_bytes or 0 for claim in listed.claims)


def missing_of_list(used_bytes: int | None, listed: ProcessList) -> tuple[Missing, ...]:
    """What the process list lacks, and what cannot be worked out for want of it."""
    if listed.refusal is not None:
        return (missing_entry("processes", listed.refusal),)
    if listed.dropped:
        return (_UNRELIABLE,)
    return (_NOT_SAID,) if used_bytes is not None and held_bytes(listed) is None else ()
