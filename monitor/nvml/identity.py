"""What stays the same about a GPU: asked once, when its handle is taken."""

from __future__ import annotations

import dataclasses

from monitor.clean import clean
from monitor.clock import Clock
from monitor.nvml.binding import Handle
from monitor.nvml.calls import Caller
from monitor.nvml.errors import Refusal
from monitor.nvml.events import EventWatch
from monitor.nvml.machine import Machine
from monitor.nvml.metrics import IDENTITY_METRICS, SAMPLE_METRICS, Tier
from monitor.nvml.mig import MigInstance, is_mig_enabled, read_instances
from monitor.nvml.reading import MetricReader
from monitor.nvml.throughput import PcieMeter
from monitor.types.gpu import GpuIdentity

PLACEHOLDER = "GPU-unknown-"
"""Begins the UUID of a GPU that has never told its own."""


@dataclasses.dataclass(frozen=True, slots=True)
class Tools:
    """What every device needs from its driver."""

    caller: Caller
    clock: Clock
    machine: Machine
    events: EventWatch
    pcie: PcieMeter
    pid_max: int


def read_identity(tools: Tools, index: int, handle: Handle, uuid: str) -> tuple[GpuIdentity, list[MigInstance]]:
    """What stays the same about a GPU, asked once; and its MIG instances."""
    reader = MetricReader(tools.caller, (*IDENTITY_METRICS, *_FIRST_SEEN))
    reader.read(handle, tools.clock.boot_s())
    values = dict(reader.values)
    name = values.pop("name", f"GPU {index}")
    mig_enabled = is_mig_enabled(tools.caller, handle)
    memory_refusal = reader.refusals.get("memory_total_bytes")
    unified = not mig_enabled and (
        values.get("memory_total_bytes") == 0
        or (memory_refusal is not None and memory_refusal.reason == "not_supported")
    )
    if unified:
        system = tools.machine.memory_bytes()
        values["memory_total_bytes"] = None if system is None else system[0]
        for field in ("pcie_generation_max", "pcie_generation_gpu_max", "pcie_width_max"):
            values.pop(field, None)
    known = {field: value for field, value in values.items() if field in GpuIdentity.__struct_fields__}
    identity = GpuIdentity(
        uuid=uuid,
        index=index,
        name=name,
        unified_memory=unified,
        mig_enabled=mig_enabled,
        missing=tuple(entry for entry in reader.missing() if entry.field in GpuIdentity.__struct_fields__),
        **known,
    )
    return identity, read_instances(tools.caller, identity, handle, tools.pid_max) if mig_enabled else []


_FIRST_SEEN = tuple(
    dataclasses.replace(metric, tier=Tier.ONCE)
    for metric in SAMPLE_METRICS
    if metric.fields[0] in ("memory_total_bytes", "power_limit_w")
)
"""Figures of the sample that the identity shows as they were at first."""


def read_uuid(caller: Caller, handle: Handle) -> str | Refusal:
    """The UUID of a device, the only identity that lasts."""
    uuid = caller.call("nvmlDeviceGetUUID", handle)
    if isinstance(uuid, Refusal):
        return uuid
    return clean(uuid, 96)
