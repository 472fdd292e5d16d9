"""What of the driver works here, what does not and why, for `doctor`."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable, Sequence

from monitor.nvml.device import Device
from monitor.nvml.errors import Refusal
from monitor.nvml.identity import Tools
from monitor.types.messages import Ability

_FIGURES = (
    ("GPU memory", "memory_used_bytes"),
    ("GPU utilisation", "gpu_util_ratio"),
    ("power", "power_w"),
    ("energy counter", "energy_j"),
    ("throttle reasons", "throttle"),
    ("throttle times", "throttle_times."),
    ("ECC", "ecc."),
    ("NVLink", "nvlink."),
)
"""Name of the ability, and the metric (or prefix of metrics) that shows it."""

_PERMISSION_REMEDY = "Ask the administrator, or run with more rights."
_TOO_OLD_REMEDY = "A newer driver has it."


def abilities(
    state: str, detail: str, driver_version: str | None, devices: Sequence[Device], tools: Tools | None
) -> tuple[Ability, ...]:
    """One entry an ability. One GPU that can is enough."""
    works = state == "ok" and tools is not None
    driver = Ability(name="NVIDIA driver", works=works, detail=f"version {driver_version}" if works else detail)
    working = [device for device in devices if device.handle is not None]
    if tools is None or not working:
        return (driver,)
    figures = tuple(_of_refusal(name, _refusal(working, metric)) for name, metric in _FIGURES)
    return (
        driver,
        *figures,
        _process_list(working, driver_version),
        _of_refusal("use per process", _first(device.use.question.refusal for device in working)),
        _events(tools),
        _gpm(working),
    )


def _first(refusals: Iterable[Refusal | None]) -> Refusal | None:
    """`None` when one GPU was not refused, else the first refusal."""
    found = list(refusals)
    return found[0] if found and all(refusal is not None for refusal in found) else None


def _refusal(devices: Sequence[Device], metric: str) -> Refusal | None:
    def of(device: Device) -> Refusal | None:
        if any(field.startswith(metric) for field in device.reader.values):
            return None
        return next((refusal for field, refusal in device.reader.refusals.items() if field.startswith(metric)), None)

    return _first(of(device) for device in devices)


def _of_refusal(name: str, refusal: Refusal | None) -> Ability:
    if refusal is None:
        return Ability(name=name, works=True)
    remedy = {"no_permission": _PERMISSION_REMEDY, "driver_too_old": _TOO_OLD_REMEDY}.get(refusal.reason, "")
    return Ability(name=name, works=False, detail=refusal.sentence, remedy=remedy)


def _process_list(devices: Sequence[Device], driver_version: str | None) -> Ability:
    if any(device.process_list.dropped for device in devices):
        return Ability(
            name="process list",
            works=False,
            detail=f"The process list is unreliable with driver {driver_version} and binding {_binding_version()}: "
            "rows that cannot be true are left out.",
            remedy="Update the driver, or nvidia-ml-py beside traintop.",
        )
    return _of_refusal("process list", _first(device.process_list.refusal for device in devices))


def _events(tools: Tools) -> Ability:
    if tools.events.is_waiting:
        return Ability(
            name="driver errors (Xid)", works=True, detail="Only those from now on; the driver keeps no history."
        )
    refusal = tools.events.refusal
    return Ability(name="driver errors (Xid)", works=False, detail="" if refusal is None else refusal.sentence)


def _gpm(devices: Sequence[Device]) -> Ability:
    works = any(device.state == "ok" and device.gpm.is_supported(device.handle) for device in devices)
    detail = "Read only while a GPU's detail is shown." if works else "Needs Hopper or newer."
    return Ability(name="activity counters (GPM)", works=works, detail=detail)


def _binding_version() -> str:
    try:
        return importlib.metadata.version("nvidia-ml-py")
    except importlib.metadata.PackageNotFoundError:
        return "of unknown version"
