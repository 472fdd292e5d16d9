"""Figures without the digits that mean nothing: they would be most of the bytes on the stream and in a recording."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import msgspec

from monitor.types.gpu import GpmActivity, GpuProcess, GpuSample, NvLink, PcieLink, ThrottleTime
from monitor.types.process import HostSample, Pressure, ProcessSample
from monitor.types.record import Record
from monitor.types.steps import StepEvent, StepValue

R = TypeVar("R", bound=Record)

_DIGITS: dict[type[Record], tuple[tuple[str, int], ...]] = {
    GpuSample: (
        ("taken_s", 3),
        ("state_since_s", 3),
        ("gpu_util_ratio", 3),
        ("memory_busy_ratio", 3),
        ("power_w", 1),
        ("power_instant_w", 1),
        ("power_limit_w", 1),
        ("energy_j", 0),
        ("temperature_c", 1),
        ("memory_temperature_c", 1),
        ("fan_ratio", 3),
    ),
    GpuProcess: (("gpu_util_ratio", 3), ("gpu_util_age_s", 2)),
    ThrottleTime: (("total_s", 3),),
    PcieLink: (("received_bytes_per_s", 0), ("transmitted_bytes_per_s", 0)),
    NvLink: (("received_bytes", -6), ("transmitted_bytes", -6)),
    GpmActivity: (
        ("sm_util_ratio", 3),
        ("sm_occupancy_ratio", 3),
        ("tensor_ratio", 3),
        ("dram_ratio", 3),
        ("pcie_received_bytes_per_s", 0),
        ("pcie_transmitted_bytes_per_s", 0),
        ("nvlink_received_bytes_per_s", 0),
        ("nvlink_transmitted_bytes_per_s", 0),
    ),
    ProcessSample: (("cpu_ratio", 2), ("cpu_s", 2)),
    HostSample: (("cpu_ratio", 3), ("load_1min", 2)),
    Pressure: (("some_ratio", 4), ("full_ratio", 4)),
    StepEvent: (("event_s", 3), ("seen_s", 3), ("elapsed_s", 3), ("seconds_per_step", 6)),
}
"""Decimals kept: watts to 0.1, energy to 1 J, ratios to 0.001, wall clock to 1 ms, process CPU time to the kernel's own
10 ms, the share of a core to what that allows in a second, traffic counters to 1 MB of the gigabytes that pass."""


def rounded(record: R) -> R:
    """The record with its figures rounded, or the very same record where there is nothing to round."""
    changes = _changes(record)
    return msgspec.structs.replace(record, **changes) if changes else record


def rounded_all(records: tuple[R, ...]) -> tuple[R, ...]:
    """Each of them rounded."""
    return tuple([rounded(record) for record in records])


def rounded_gpu(gpu: GpuSample) -> GpuSample:
    """A GPU with everything inside it rounded."""
    changes = _changes(gpu)
    if gpu.pcie is not None:
        changes["pcie"] = rounded(gpu.pcie)
    if gpu.nvlink is not None:
        changes["nvlink"] = rounded(gpu.nvlink)
    if gpu.gpm is not None:
        changes["gpm"] = rounded(gpu.gpm)
    if gpu.throttle_times:
        changes["throttle_times"] = rounded_all(gpu.throttle_times)
    if gpu.processes:
        changes["processes"] = rounded_all(gpu.processes)
    return msgspec.structs.replace(gpu, **changes) if changes else gpu


def rounded_host(host: HostSample) -> HostSample:
    """The host with its pressures rounded."""
    changes = _changes(host)
    if host.pressures:
        changes["pressures"] = rounded_all(host.pressures)
    return msgspec.structs.replace(host, **changes) if changes else host


def rounded_step(event: StepEvent) -> StepEvent:
    """A step event with rounded times. A value that is no finite number becomes text: JSON has no word for it."""
    changes = _changes(event)
    if any(isinstance(value.value, float) and not math.isfinite(value.value) for value in event.values):
        changes["values"] = tuple(
            StepValue(name=value.name, value=str(value.value))
            if isinstance(value.value, float) and not math.isfinite(value.value)
            else value
            for value in event.values
        )
    return msgspec.structs.replace(event, **changes) if changes else event


def _changes(record: Record) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    for name, digits in _DIGITS[type(record)]:
        value = getattr(record, name)
        if value is not None:
            shorter = round(value, digits)
            if shorter != value and math.isfinite(value):
                changes[name] = shorter
    return changes
