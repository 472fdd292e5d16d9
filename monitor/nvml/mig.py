"""MIG: the instances that one GPU is cut into. Each is shown as a GPU of its own below its parent."""

from __future__ import annotations

import dataclasses

from monitor.clean import clean
from monitor.nvml.binding import Handle
from monitor.nvml.calls import Caller
from monitor.nvml.errors import Refusal
from monitor.nvml.gpm import GpmMeter
from monitor.nvml.metrics import MEMORY
from monitor.nvml.processes import Claim, ProcessLister, with_unique_claims
from monitor.nvml.reading import MetricReader
from monitor.nvml.sums import missing_of_list, process_records, unattributed_bytes
from monitor.types.gpu import GpuIdentity, GpuSample
from monitor.types.record import Missing

_MAX_INSTANCES = 64

_WHOLE_GPU_ONLY = tuple(
    Missing(
        field=field, reason="not_supported", detail="The driver gives this for the whole GPU only, not for an instance."
    )
    for field in ("gpu_util_ratio", "memory_busy_ratio", "power_w", "temperature_c")
)


class MigInstance:
    """One instance: its own handle, memory and processes. The driver gives no utilisation for it."""

    def __init__(self, caller: Caller, handle: Handle, identity: GpuIdentity, pid_max: int) -> None:
        self.handle = handle
        self.identity = identity
        self._memory = MetricReader(caller, (MEMORY,))
        self._lister = ProcessLister(caller, pid_max)
        self.gpm = GpmMeter(caller)
        self.trouble: Refusal | None = None

    def read(self, parent_claims: tuple[Claim, ...], wall_s: float, now_s: float, is_shown: bool) -> GpuSample:
        """The instance now. `parent_claims` are the processes that the parent's list names for this instance."""
        self._memory.read(self.handle, now_s)
        self.trouble = self._memory.trouble
        values = self._memory.values
        total = values.get("memory_total_bytes", self.identity.memory_total_bytes)
        listed = self._lister.read(self.handle, total, now_s)
        own = tuple(claim for claim in listed.claims if self.owns(claim))
        claims = with_unique_claims(own, parent_claims)
        refusal = None if claims else listed.refusal  # the parent's list may know what the instance's own does not
        listed = dataclasses.replace(listed, claims=claims, refusal=refusal)
        used_bytes = values.get("memory_used_bytes")
        if not is_shown:
            self.gpm.close()
        return GpuSample(
            uuid=self.identity.uuid,
            taken_s=wall_s,
            **values,
            gpm=self.gpm.read(self.handle, now_s) if is_shown else None,
            processes=process_records(claims, None, now_s),
            processes_known=refusal is None,
            unattributed_bytes=unattributed_bytes(used_bytes, listed),
            missing=(*_WHOLE_GPU_ONLY, *self._memory.missing(), *missing_of_list(used_bytes, listed)),
        )

    def owns(self, claim: Claim) -> bool:
        """Whether a process of some list belongs to this instance. Its own list may leave the numbers out."""
        for mine, theirs in (
            (self.identity.gpu_instance_id, claim.gpu_instance_id),
            (self.identity.compute_instance_id, claim.compute_instance_id),
        ):
            if mine is not None and theirs is not None and mine != theirs:
                return False
        return True


def is_mig_enabled(caller: Caller, handle: Handle) -> bool:
    """True only when MIG is on now; a GPU without MIG refuses the question, one with MIG off answers (0, 0)."""
    modes = caller.call("nvmlDeviceGetMigMode", handle)
    return not isinstance(modes, Refusal) and modes[0] == 1


def read_instances(caller: Caller, parent: GpuIdentity, parent_handle: Handle, pid_max: int) -> list[MigInstance]:
    """All instances of a GPU in MIG mode. A number that is not in use is a hole, not the end."""
    count = caller.call("nvmlDeviceGetMaxMigDeviceCount", parent_handle)
    instances: list[MigInstance] = []
    for index in range(0 if isinstance(count, Refusal) else min(int(count), _MAX_INSTANCES)):
        handle = caller.call("nvmlDeviceGetMigDeviceHandleByIndex", parent_handle, index)
        if isinstance(handle, Refusal):
            continue
        identity = _identity(caller, parent, handle, index)
        if identity is not None:
            instances.append(MigInstance(caller, handle, identity, pid_max))
    return instances


def _identity(caller: Caller, parent: GpuIdentity, handle: Handle, index: int) -> GpuIdentity | None:
    uuid = caller.call("nvmlDeviceGetUUID", handle)
    if isinstance(uuid, Refusal):
        return None
    name = caller.call("nvmlDeviceGetName", handle)
    memory = MetricReader(caller, (MEMORY,))
    memory.read(handle, 0.0)
    gpu_instance, compute_instance = (
        None if isinstance(answer, Refusal) else int(answer)
        for answer in (
            caller.call("nvmlDeviceGetGpuInstanceId", handle),
            caller.call("nvmlDeviceGetComputeInstanceId", handle),
        )
    )
    return GpuIdentity(
        uuid=clean(uuid, 96),
        index=index,
        name=f"{parent.name} MIG {index}" if isinstance(name, Refusal) else clean(name, 96),
        memory_total_bytes=memory.values.get("memory_total_bytes"),
        compute_capability=parent.compute_capability,
        architecture=parent.architecture,
        pci_bus_id=parent.pci_bus_id,
        minor_number=parent.minor_number,
        numa_node=parent.numa_node,
        mig_parent_uuid=parent.uuid,
        gpu_instance_id=gpu_instance,
        compute_instance_id=compute_instance,
    )
