"""Driver generations: which C functions and field numbers each lacks, as far as our calls are concerned."""

from __future__ import annotations

import dataclasses

_LISTS = tuple(f"nvmlDeviceGet{word}RunningProcesses" for word in ("Compute", "Graphics", "MPSCompute"))
_THIRD = tuple(f"{name}_v3" for name in _LISTS)
_GPM = ("nvmlGpmQueryDeviceSupport", "nvmlGpmSampleAlloc", "nvmlGpmSampleFree", "nvmlGpmSampleGet", "nvmlGpmMetricsGet")
_NEWEST = ("nvmlDeviceGetTemperatureV", "nvmlDeviceGetNumaNodeId")
_PROTECTED = ("nvmlDeviceGetConfComputeMemSizeInfo", "nvmlDeviceGetRunningProcessDetailList")


@dataclasses.dataclass(frozen=True)
class Generation:
    """`has_long_rows`: version 3 of the process list has 32-byte rows."""

    version: str
    missing: frozenset[str]
    last_field: int
    has_long_rows: bool = False


GENERATIONS = {
    "470": Generation(
        "470.256.02",
        frozenset((
            *_THIRD, *_GPM, *_PROTECTED, "nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetCurrentClocksEventReasons",
            "nvmlDeviceGetTemperatureV", "nvmlDeviceGetNumaNodeId", "nvmlDeviceGetGpuMaxPcieLinkGeneration",
        )),
        last_field=163,
    ),
    "525": Generation(
        "525.147.05",
        frozenset((
            *_PROTECTED, *_NEWEST, "nvmlDeviceGetCurrentClocksEventReasons",
        )),
        last_field=184,
    ),
    "535": Generation(
        "535.54.03",
        frozenset(("nvmlDeviceGetRunningProcessDetailList", *_NEWEST)),
        last_field=200,
        has_long_rows=True,
    ),
    "550": Generation("550.163.01", frozenset(("nvmlDeviceGetTemperatureV",)), last_field=250),
    "580": Generation("580.95.05", frozenset(), last_field=307),
}  # fmt: skip
