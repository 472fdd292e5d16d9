# ruff: noqa: N802, ARG004 (the names and arguments are those of the C functions)
"""The C functions of the fake library, named like them, each writing through the pointers that the binding hands in."""

from __future__ import annotations

import ctypes
import queue
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.fake_nvml.gpu import (
    FIRST_GPU,
    FIRST_INSTANCE,
    INSTANCES,
    INVALID,
    LOST,
    MEBI,
    NO_INSTANCE,
    NOT_FOUND,
    NOT_SUPPORTED,
    OK,
    TOO_SMALL,
    FakeGpu,
    Process,
)

if TYPE_CHECKING:
    from tests.fake_nvml.library import FakeLibrary


def _number(argument: Any) -> int:
    return int(getattr(argument, "value", argument))


def _set(reference: Any, value: int) -> int:
    reference._obj.value = value
    return OK


def _set_handle(reference: Any, number: int) -> int:
    ctypes.cast(ctypes.byref(reference._obj), ctypes.POINTER(ctypes.c_void_p))[0] = number
    return OK


def _give_processes(
    library: FakeLibrary, processes: list[Process], count: Any, rows: Any, layout: struct.Struct
) -> int:
    room = count._obj.value
    count._obj.value = len(processes)
    if len(processes) > room or (processes and rows is None):
        return TOO_SMALL
    raw = bytearray()
    for process in processes:
        values = (*process, NO_INSTANCE, NO_INSTANCE)[:4] if len(process) == 2 else process
        full = (*values, 0)
        raw += layout.pack(*full[: {16: 2, 24: 4, 32: 5}[layout.size]])
    if raw:
        ctypes.memmove(rows, bytes(raw), len(raw))
    return OK


V1, V2, V3_LONG = struct.Struct("@IxxxxQ"), struct.Struct("@IxxxxQII"), struct.Struct("@IxxxxQIIQ")


class FakeFunctions:
    """The C functions. Static: `library` and, for device functions, `gpu` are handed in."""

    @staticmethod
    def nvmlInitWithFlags(library: FakeLibrary, flags: Any) -> int:
        library.is_open = True
        return OK

    @staticmethod
    def nvmlShutdown(library: FakeLibrary) -> int:
        library.is_open = False
        return OK

    @staticmethod
    def nvmlSystemGetDriverVersion(library: FakeLibrary, buffer: Any, size: Any) -> int:
        buffer.value = library.generation.version.encode()
        return OK

    @staticmethod
    def nvmlSystemGetCudaDriverVersion_v2(library: FakeLibrary, out: Any) -> int:
        return _set(out, 12090)

    @staticmethod
    def nvmlDeviceGetCount_v2(library: FakeLibrary, out: Any) -> int:
        return _set(out, len(library.gpus))

    @staticmethod
    def nvmlDeviceGetHandleByIndex_v2(library: FakeLibrary, index: Any, out: Any) -> int:
        number = _number(index)
        if number in library.handle_refused:
            return library.handle_refused[number]
        if not 0 <= number < len(library.gpus):
            return INVALID
        return LOST if library.gpus[number].lost else _set_handle(out, FIRST_GPU + number)

    @staticmethod
    def nvmlDeviceGetName(library: FakeLibrary, gpu: FakeGpu, buffer: Any, size: Any) -> int:
        buffer.value = gpu.name
        return OK

    @staticmethod
    def nvmlDeviceGetUUID(library: FakeLibrary, gpu: FakeGpu, buffer: Any, size: Any) -> int:
        buffer.value = gpu.uuid
        return OK

    @staticmethod
    def nvmlDeviceGetPciInfo_v3(library: FakeLibrary, gpu: FakeGpu, out: Any) -> int:
        out._obj.busId = gpu.bus_id
        return OK

    @staticmethod
    def nvmlDeviceGetCudaComputeCapability(library: FakeLibrary, gpu: FakeGpu, major: Any, minor: Any) -> int:
        return _set(major, 9) or _set(minor, 0)

    @staticmethod
    def nvmlDeviceGetMemoryInfo(library: FakeLibrary, gpu: FakeGpu, out: Any) -> int:
        info = out._obj
        info.total = gpu.total_mib * MEBI
        info.used = (gpu.used_mib + gpu.reserved_mib) * MEBI
        info.free = info.total - info.used if info.total else 0
        return OK

    @staticmethod
    def nvmlDeviceGetMemoryInfo_v2(library: FakeLibrary, gpu: FakeGpu, out: Any) -> int:
        info = out._obj
        if info.version != 0x02000028:
            return 25
        info.total, info.used, info.reserved = (part * MEBI for part in (gpu.total_mib, gpu.used_mib, gpu.reserved_mib))
        info.free = info.total - info.used - info.reserved if info.total else 0
        return OK

    @staticmethod
    def nvmlDeviceGetUtilizationRates(library: FakeLibrary, gpu: FakeGpu, out: Any) -> int:
        out._obj.gpu, out._obj.memory = gpu.utilisation
        return OK

    @staticmethod
    def nvmlDeviceGetPowerManagementLimitConstraints(library: FakeLibrary, gpu: FakeGpu, low: Any, high: Any) -> int:
        return _set(low, 100_000) or _set(high, gpu.limit_mw)

    @staticmethod
    def nvmlDeviceGetTemperature(library: FakeLibrary, gpu: FakeGpu, sensor: Any, out: Any) -> int:
        return _set(out, gpu.temperature)

    @staticmethod
    def nvmlDeviceGetTemperatureV(library: FakeLibrary, gpu: FakeGpu, out: Any) -> int:
        out._obj.temperature = gpu.temperature
        return OK

    @staticmethod
    def nvmlDeviceGetTemperatureThreshold(library: FakeLibrary, gpu: FakeGpu, which: Any, out: Any) -> int:
        limits = {0: 95, 1: 90, 2: 95, 3: 87}
        return _set(out, limits[_number(which)]) if _number(which) in limits else NOT_SUPPORTED

    @staticmethod
    def nvmlDeviceGetClockInfo(library: FakeLibrary, gpu: FakeGpu, which: Any, out: Any) -> int:
        return _set(out, gpu.clocks[_number(which)])

    @staticmethod
    def nvmlDeviceGetMaxClockInfo(library: FakeLibrary, gpu: FakeGpu, which: Any, out: Any) -> int:
        return _set(out, {1: 1980, 2: 2619}[_number(which)])

    @staticmethod
    def nvmlDeviceGetPcieThroughput(library: FakeLibrary, gpu: FakeGpu, which: Any, out: Any) -> int:
        return _set(out, 300_000 if _number(which) else 200_000)

    @staticmethod
    def nvmlDeviceGetEccMode(library: FakeLibrary, gpu: FakeGpu, now: Any, pending: Any) -> int:
        return _set(now, 1) or _set(pending, 1)

    @staticmethod
    def nvmlDeviceGetTotalEccErrors(library: FakeLibrary, gpu: FakeGpu, kind: Any, span: Any, out: Any) -> int:
        return _set(out, 2 if _number(kind) == 0 else 0)

    @staticmethod
    def nvmlDeviceGetRemappedRows(library: FakeLibrary, gpu: FakeGpu, a: Any, b: Any, c: Any, d: Any) -> int:
        return _set(a, 1) or _set(b, 0) or _set(c, 1) or _set(d, 0)

    @staticmethod
    def nvmlDeviceGetFieldValues(library: FakeLibrary, gpu: FakeGpu, count: Any, values: Any) -> int:
        known = usual_fields(gpu) | gpu.fields
        for value in list(values._obj)[: _number(count)]:
            if value.fieldId > library.generation.last_field:
                value.nvmlReturn = INVALID
            elif value.fieldId not in known:
                value.nvmlReturn = NOT_SUPPORTED
            else:
                value.nvmlReturn = OK
                value.valueType, number = known[value.fieldId]
                value.value.ullVal = 0
                name = {0: "dVal", 1: "uiVal", 2: "ulVal", 3: "ullVal", 4: "sllVal", 5: "siVal", 6: "usVal"}[
                    value.valueType
                ]
                setattr(value.value, name, number if value.valueType == 0 else int(number))
        return OK

    @staticmethod
    def nvmlDeviceGetNvLinkState(library: FakeLibrary, gpu: FakeGpu, link: Any, out: Any) -> int:
        if not gpu.links:
            return NOT_SUPPORTED
        return _set(out, 1) if _number(link) < gpu.links else INVALID

    @staticmethod
    def nvmlDeviceGetNvLinkRemotePciInfo_v2(library: FakeLibrary, gpu: FakeGpu, link: Any, out: Any) -> int:
        out._obj.busId = library.gpus[(gpu.index ^ 1) % len(library.gpus)].bus_id  # pairs: 0-1, 2-3
        return OK

    @staticmethod
    def nvmlDeviceGetTopologyCommonAncestor(library: FakeLibrary, gpu: FakeGpu, other: Any, out: Any) -> int:
        target = library.target(other)
        return _set(out, 20 if target is not None and target.index // 4 == gpu.index // 4 else 50)

    @staticmethod
    def nvmlDeviceGetProcessUtilization(library: FakeLibrary, gpu: FakeGpu, rows: Any, count: Any, since: Any) -> int:
        since_us = _number(since)
        if rows is None:
            library.use_asked_since.append(since_us)
        new = [sample for sample in gpu.use if sample[1] > since_us]
        if not new:
            return NOT_FOUND
        room, count._obj.value = count._obj.value, len(new)
        if rows is None or room < len(new):
            return TOO_SMALL
        for row, (pid, stamp_us, percent) in zip(rows, new, strict=False):
            row.pid, row.timeStamp, row.smUtil = pid, stamp_us, percent
        return OK

    @staticmethod
    def nvmlDeviceGetMigMode(library: FakeLibrary, gpu: FakeGpu, now: Any, pending: Any) -> int:
        if gpu.mig is None:
            return NOT_SUPPORTED
        return _set(now, gpu.mig[0]) or _set(pending, gpu.mig[1])

    @staticmethod
    def nvmlDeviceGetMaxMigDeviceCount(library: FakeLibrary, gpu: FakeGpu, out: Any) -> int:
        return _set(out, 7)

    @staticmethod
    def nvmlDeviceGetMigDeviceHandleByIndex(library: FakeLibrary, gpu: FakeGpu, index: Any, out: Any) -> int:
        number = _number(index)
        if number >= len(gpu.instances) or gpu.instances[number] is None:
            return NOT_FOUND
        return _set_handle(out, FIRST_INSTANCE + gpu.index * INSTANCES + number)

    @staticmethod
    def nvmlDeviceGetGpuInstanceId(library: FakeLibrary, gpu: FakeGpu, out: Any) -> int:
        return NOT_SUPPORTED if gpu.parent is None else _set(out, gpu.instance_ids[0])

    @staticmethod
    def nvmlDeviceGetComputeInstanceId(library: FakeLibrary, gpu: FakeGpu, out: Any) -> int:
        return NOT_SUPPORTED if gpu.parent is None else _set(out, gpu.instance_ids[1])

    @staticmethod
    def nvmlEventSetCreate(library: FakeLibrary, out: Any) -> int:
        return _set_handle(out, 0x77)

    @staticmethod
    def nvmlEventSetFree(library: FakeLibrary, event_set: Any) -> int:
        return OK

    @staticmethod
    def nvmlDeviceGetSupportedEventTypes(library: FakeLibrary, gpu: FakeGpu, out: Any) -> int:
        return _set(out, 0xB)

    @staticmethod
    def nvmlDeviceRegisterEvents(library: FakeLibrary, gpu: FakeGpu, types: Any, event_set: Any) -> int:
        if _number(types) & ~0xB:
            return NOT_SUPPORTED
        library.registered.append(gpu.index)
        return OK

    @staticmethod
    def nvmlEventSetWait_v2(library: FakeLibrary, event_set: Any, out: Any, milliseconds: Any) -> int:
        try:
            index, xid = library.events.get(timeout=min(0.02, _number(milliseconds) / 1000))
        except queue.Empty:
            return 10
        data = out._obj
        ctypes.cast(ctypes.byref(data), ctypes.POINTER(ctypes.c_void_p))[0] = FIRST_GPU + index
        data.eventType, data.eventData = 8, xid
        return OK

    @staticmethod
    def nvmlGpmQueryDeviceSupport(library: FakeLibrary, gpu: FakeGpu, out: Any) -> int:
        out._obj.isSupportedDevice = int(gpu.has_gpm)
        return OK

    @staticmethod
    def nvmlGpmSampleAlloc(library: FakeLibrary, out: Any) -> int:
        return _set_handle(out, 0x5000 + library.calls["nvmlGpmSampleAlloc"])

    @staticmethod
    def nvmlGpmSampleFree(library: FakeLibrary, sample: Any) -> int:
        return OK

    @staticmethod
    def nvmlGpmSampleGet(library: FakeLibrary, gpu: FakeGpu, sample: Any) -> int:
        return OK

    @staticmethod
    def nvmlGpmMetricsGet(library: FakeLibrary, request: Any) -> int:
        info = request._obj
        for slot in info.metrics[: info.numMetrics]:
            slot.nvmlReturn = OK
            slot.value = {2: 71.5, 20: 100.0}.get(slot.metricId, float("nan"))
        return OK

    @staticmethod
    def nvmlDeviceGetConfComputeMemSizeInfo(library: FakeLibrary, gpu: FakeGpu, out: Any) -> int:
        return NOT_SUPPORTED

    @staticmethod
    def nvmlDeviceGetRunningProcessDetailList(library: FakeLibrary, gpu: FakeGpu, out: Any) -> int:
        return NOT_SUPPORTED


def usual_fields(gpu: FakeGpu) -> dict[int, tuple[int, float]]:
    """The field values of a data-centre GPU."""
    return {
        185: (1, gpu.power_mw),
        186: (1, gpu.power_mw + 5000),
        83: (3, gpu.energy_mj),
        82: (1, 72),
        74: (3, 12_000_000_000),
        269: (3, 0),
        270: (3, 0),
        271: (3, 0),
        94: (1, 3),
        138: (3, 2048),
        139: (3, 1024),
        91: (1, gpu.links),
        230: (1, 0),
    }


_PLAIN: dict[str, Callable[[FakeGpu], int]] = {
    "nvmlDeviceGetMinorNumber": lambda gpu: gpu.index,
    "nvmlDeviceGetArchitecture": lambda gpu: 9,
    "nvmlDeviceGetNumaNodeId": lambda gpu: 0,
    "nvmlDeviceGetPowerUsage": lambda gpu: gpu.power_mw,
    "nvmlDeviceGetEnforcedPowerLimit": lambda gpu: gpu.limit_mw,
    "nvmlDeviceGetPowerManagementLimit": lambda gpu: gpu.limit_mw,
    "nvmlDeviceGetPowerManagementDefaultLimit": lambda gpu: gpu.limit_mw,
    "nvmlDeviceGetTotalEnergyConsumption": lambda gpu: gpu.energy_mj,
    "nvmlDeviceGetFanSpeed": lambda gpu: gpu.fan,
    "nvmlDeviceGetPerformanceState": lambda gpu: 0,
    "nvmlDeviceGetCurrentClocksEventReasons": lambda gpu: gpu.reasons,
    "nvmlDeviceGetCurrentClocksThrottleReasons": lambda gpu: gpu.reasons,
    "nvmlDeviceGetCurrPcieLinkGeneration": lambda gpu: 4,
    "nvmlDeviceGetMaxPcieLinkGeneration": lambda gpu: 4,
    "nvmlDeviceGetGpuMaxPcieLinkGeneration": lambda gpu: 5,
    "nvmlDeviceGetCurrPcieLinkWidth": lambda gpu: 16,
    "nvmlDeviceGetMaxPcieLinkWidth": lambda gpu: 16,
    "nvmlDeviceGetPcieReplayCounter": lambda gpu: 3,
}


def _plain(value: Callable[[FakeGpu], int]) -> staticmethod[..., int]:
    return staticmethod(lambda library, gpu, out: _set(out, value(gpu)))


def _process_list(part: str, version: str) -> staticmethod[..., int]:
    def give(library: FakeLibrary, gpu: FakeGpu, count: Any, rows: Any) -> int:
        layout = {"": V1, "_v2": V2, "_v3": V3_LONG if library.generation.has_long_rows else V2}[version]
        return _give_processes(library, getattr(gpu, part), count, rows, layout)

    return staticmethod(give)


for _name, _value in _PLAIN.items():
    setattr(FakeFunctions, _name, _plain(_value))
for _word, _part in (("Compute", "compute"), ("Graphics", "graphics"), ("MPSCompute", "mps")):
    for _version in ("", "_v2", "_v3"):
        setattr(FakeFunctions, f"nvmlDeviceGet{_word}RunningProcesses{_version}", _process_list(_part, _version))

OF_DEVICE = frozenset(
    name
    for name in vars(FakeFunctions)
    if (name.startswith("nvmlDevice") and name not in ("nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2"))
    or name in ("nvmlGpmQueryDeviceSupport", "nvmlGpmSampleGet")
)
