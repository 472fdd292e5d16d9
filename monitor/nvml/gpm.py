"""GPM, the activity counters of Hopper and newer: how full a GPU really is. Sampled only while it is shown.

A figure is the difference between two samples at least 100 ms apart (nvml.h); two sample buffers are kept and swapped.
"""

from __future__ import annotations

from typing import Any

from monitor.nvml.binding import Handle
from monitor.nvml.calls import Caller
from monitor.nvml.errors import SUCCESS, Refusal
from monitor.types.gpu import GpmActivity

_MIN_GAP_S = 0.1
_MEBIBYTE = 1024 * 1024

_METRICS: tuple[tuple[int, str, float], ...] = (
    (2, "sm_util_ratio", 0.01),
    (3, "sm_occupancy_ratio", 0.01),
    (5, "tensor_ratio", 0.01),
    (10, "dram_ratio", 0.01),
    (20, "pcie_transmitted_bytes_per_s", _MEBIBYTE),
    (21, "pcie_received_bytes_per_s", _MEBIBYTE),
    (60, "nvlink_received_bytes_per_s", _MEBIBYTE),
    (61, "nvlink_transmitted_bytes_per_s", _MEBIBYTE),
)
"""NVML_GPM_METRIC_… number, field, factor from percent or MiB/s."""


class GpmMeter:
    """GPM of one device or MIG instance."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._supported: bool | None = None
        self._samples: list[Any] = []
        self._taken_s: float | None = None

    def is_supported(self, handle: Handle) -> bool:
        """Whether this device has GPM. Asked once it has answered."""
        if self._supported is None:
            answer = self._caller.call("nvmlGpmQueryDeviceSupport", handle)
            if isinstance(answer, Refusal):
                self._supported = False if answer.is_final else None
            else:
                self._supported = bool(answer.isSupportedDevice)
        return self._supported is True

    def read(self, handle: Handle, now_s: float) -> GpmActivity | None:
        """The activity since the last reading; `None` at the first one, or where there is no GPM."""
        if not self.is_supported(handle):
            return None
        if not self._samples and not self._allocate():
            return None
        if self._taken_s is not None and now_s - self._taken_s < _MIN_GAP_S:
            return None
        if isinstance(self._caller.call("nvmlGpmSampleGet", handle, self._samples[1]), Refusal):
            return None
        first, self._taken_s = self._taken_s is None, now_s
        activity = None if first else self._activity()
        self._samples.reverse()
        return activity

    def close(self) -> None:
        """Free the sample buffers; the next reading starts anew."""
        for sample in self._samples:
            self._caller.call("nvmlGpmSampleFree", sample)
        self._samples = []
        self._taken_s = None

    def _allocate(self) -> bool:
        for _ in range(2):
            sample = self._caller.call("nvmlGpmSampleAlloc")
            if isinstance(sample, Refusal):
                self.close()
                self._supported = False
                return False
            self._samples.append(sample)
        return True

    def _activity(self) -> GpmActivity | None:
        structure = self._caller.binding.structure("c_nvmlGpmMetricsGet_t")
        if structure is None:
            return None
        request = structure()
        request.version = 1
        request.numMetrics = len(_METRICS)
        request.sample1, request.sample2 = self._samples[0], self._samples[1]
        for slot, (metric_id, _field, _factor) in zip(request.metrics, _METRICS, strict=False):
            slot.metricId = metric_id
        if isinstance(self._caller.call("nvmlGpmMetricsGet", request), Refusal):
            return None
        values: dict[str, float] = {}
        for slot, (_metric_id, field, factor) in zip(request.metrics, _METRICS, strict=False):
            value = float(slot.value)
            if slot.nvmlReturn == SUCCESS and 0 <= value < 1e12:  # also false for nan
                values[field] = value * factor
        return GpmActivity(**values) if values else None
