"""What this driver and this GPU have at all: process lists, events, GPM, MIG and links between GPUs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import msgspec

from benchmarks.on_gpu.answers import plain, refused
from benchmarks.on_gpu.parts import Deadline, Row
from benchmarks.on_gpu.target import Target
from monitor.nvml.binding import Answer
from monitor.nvml.errors import Refusal
from monitor.nvml.gpm import GpmMeter
from monitor.nvml.processes import has_protected_memory_layout

GPM_GAP_S = 0.5
EVENT_TYPES = (
    (0x1, "single-bit ECC error"),
    (0x2, "double-bit ECC error"),
    (0x4, "performance state"),
    (0x8, "Xid"),
    (0x10, "clock"),
    (0x80, "power source"),
    (0x100, "MIG configuration"),
    (0x200, "single-bit ECC storm"),
    (0x400, "memory retirement"),
    (0x800, "memory retirement failed"),
    (0x1000, "poison, not fatal"),
    (0x2000, "poison, fatal"),
    (0x4000, "GPU unavailable"),
    (0x8000, "recovery action"),
)


def measure(target: Target) -> Callable[[Deadline], Iterator[Row]]:
    """One row a feature."""

    def rows(_deadline: Deadline) -> Iterator[Row]:
        yield {"feature": "process lists", **_process_lists(target)}
        yield {"feature": "events", **_events(target)}
        yield {"feature": "GPM", **_gpm(target)}
        yield {"feature": "MIG", "modes": _answer(target.call("nvmlDeviceGetMigMode"))}
        levels = [_answer(target.call("nvmlDeviceGetTopologyCommonAncestor", other)) for other in target.others]
        yield {"feature": "topology to the other GPUs", "levels": levels}

    return rows


def _answer(answer: Answer) -> Answer:
    return refused(answer) if isinstance(answer, Refusal) else plain(answer)


def _process_lists(target: Target) -> Row:
    names = [f"nvmlDeviceGet{word}RunningProcesses" for word in ("Compute", "Graphics", "MPSCompute")]
    symbols = {
        name + version: target.caller.symbol(name + version) is not None
        for name in names
        for version in ("_v3", "_v2", "")
    }
    rest = ("nvmlDeviceGetRunningProcessDetailList", "nvmlDeviceGetProcessesUtilizationInfo")
    return {
        "in_the_library": {**symbols, **{name: target.caller.symbol(name) is not None for name in rest}},
        "rows_are_32_bytes": has_protected_memory_layout(target.caller),
    }


def _events(target: Target) -> Row:
    mask = target.call("nvmlDeviceGetSupportedEventTypes")
    if isinstance(mask, Refusal):
        return {"refused": refused(mask)}
    return {"mask": hex(mask), "types": [name for bit, name in EVENT_TYPES if mask & bit]}


def _gpm(target: Target) -> Row:
    """One reading over half a second; what `nvmlGpmSampleGet` says to this user decides whether there is any."""
    meter = GpmMeter(target.caller)
    row: Row = {"is_supported": meter.is_supported(target.handle)}
    sample = target.caller.call("nvmlGpmSampleAlloc")
    if isinstance(sample, Refusal):
        return {**row, "refused": refused(sample)}
    taken = target.call("nvmlGpmSampleGet", sample)
    target.caller.call("nvmlGpmSampleFree", sample)
    if isinstance(taken, Refusal):
        return {**row, "refused": refused(taken)}
    try:
        meter.read(target.handle, time.monotonic())
        time.sleep(GPM_GAP_S)
        begun_s = time.perf_counter()
        reading = meter.read(target.handle, time.monotonic())
        row["reading_took_ms"] = round((time.perf_counter() - begun_s) * 1000, 3)
        row["reading"] = None if reading is None else msgspec.to_builtins(reading)
    finally:
        meter.close()
    return row
