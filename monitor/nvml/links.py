"""How GPUs reach each other: PCIe topology and NVLink. Asked once; a full server answers a few thousand questions."""

from __future__ import annotations

from typing import Any

from monitor.clean import clean
from monitor.nvml.binding import Handle
from monitor.nvml.calls import Caller
from monitor.nvml.errors import INVALID_ARGUMENT, Refusal
from monitor.types.gpu import GpuIdentity, GpuLink

_MAX_LINKS = 36
"""NVML_NVLINK_MAX_LINKS of the newest header; the driver stops us earlier."""

_PATHS = {
    0: "internal",
    10: "single_switch",
    20: "multiple_switches",
    30: "host_bridge",
    40: "node",
    50: "system",
}
"""nvmlGpuTopologyLevel_t."""


def active_links(caller: Caller, handle: Handle) -> tuple[int, ...] | None:
    """The numbers of the NVLinks that are up; `None` where the GPU has none or does not say."""
    active: list[int] = []
    for link in range(_MAX_LINKS):
        state = caller.call("nvmlDeviceGetNvLinkState", handle, link)
        if isinstance(state, Refusal):
            if link == 0:
                return None
            if state.code == INVALID_ARGUMENT or state.is_final:
                break
            continue
        if state:
            active.append(link)
    return tuple(active)


def read_links(
    caller: Caller, devices: tuple[tuple[GpuIdentity, Any], ...], nvlinks: dict[str, tuple[int, ...]]
) -> tuple[GpuLink, ...]:
    """The best path between each two GPUs. `nvlinks` holds the active links by UUID.

    A link to an NVSwitch reaches every GPU on that switch: two GPUs that both have such links count as connected.
    """
    remote = {
        identity.uuid: _remote_ends(caller, handle, nvlinks.get(identity.uuid, ())) for identity, handle in devices
    }
    bus_ids = {identity.uuid: _normal_bus_id(identity.pci_bus_id or "") for identity, _ in devices}
    gpu_bus_ids = frozenset(bus_ids.values())
    switched = {uuid: sum(1 for end in ends if end not in gpu_bus_ids) for uuid, ends in remote.items()}
    found: list[GpuLink] = []
    for position, (first, first_handle) in enumerate(devices):
        for second, second_handle in devices[position + 1 :]:
            direct = remote[first.uuid].count(bus_ids[second.uuid])
            count = direct or min(switched[first.uuid], switched[second.uuid])
            if count:
                path: str | None = "nvlink"
            else:
                level = caller.call("nvmlDeviceGetTopologyCommonAncestor", first_handle, second_handle)
                path = None if isinstance(level, Refusal) else _PATHS.get(level)
            if path is not None:
                found.append(GpuLink(uuid_a=first.uuid, uuid_b=second.uuid, path=path, nvlink_count=count))
    return tuple(found)


def _remote_ends(caller: Caller, handle: Handle, links: tuple[int, ...]) -> list[str]:
    ends: list[str] = []
    for link in links:
        info = caller.call("nvmlDeviceGetNvLinkRemotePciInfo", handle, link)
        if not isinstance(info, Refusal):
            ends.append(_normal_bus_id(clean(info.busId, 32)))
    return ends


def _normal_bus_id(bus_id: str) -> str:
    """The domain has four digits in some answers and eight in others."""
    domain, _, rest = bus_id.lower().partition(":")
    return f"{domain.lstrip('0')}:{rest}"
