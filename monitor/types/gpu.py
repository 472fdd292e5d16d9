"""GPUs: what does not change (`GpuIdentity`) and what does (`GpuSample`). The UUID is the identity, never the index."""

from __future__ import annotations

from monitor.types.record import Missing, Record


class GpuIdentity(Record, frozen=True, kw_only=True):
    """What stays the same about a GPU or a MIG instance while the driver is loaded."""

    uuid: str
    index: int
    """The driver's own order; for a MIG instance the index within its parent."""
    name: str
    memory_total_bytes: int | None = None
    power_limit_w: float | None = None
    """Enforced limit when first seen; the current one is in `GpuSample`."""
    power_limit_default_w: float | None = None
    power_limit_max_w: float | None = None
    sm_max_mhz: int | None = None
    memory_max_mhz: int | None = None
    compute_capability: str | None = None
    """For example "9.0"."""
    architecture: str | None = None
    pci_bus_id: str | None = None
    minor_number: int | None = None
    """The N of /dev/nvidiaN, which is not the index."""
    temperature_slowdown_c: float | None = None
    temperature_shutdown_c: float | None = None
    temperature_gpu_max_c: float | None = None
    pcie_generation_max: int | None = None
    """What GPU and slot together allow."""
    pcie_generation_gpu_max: int | None = None
    """What the GPU alone allows; more than `pcie_generation_max` means the slot is the limit."""
    pcie_width_max: int | None = None
    unified_memory: bool = False
    """True on GB10 and the like: memory figures are those of the system."""
    mig_enabled: bool = False
    mig_parent_uuid: str | None = None
    gpu_instance_id: int | None = None
    compute_instance_id: int | None = None
    numa_node: int | None = None
    missing: tuple[Missing, ...] = ()


class GpuLink(Record, frozen=True, kw_only=True):
    """How two GPUs reach each other, after `nvmlDeviceGetTopologyCommonAncestor` and NVLink's remote ends."""

    uuid_a: str
    uuid_b: str
    path: str
    """One of: nvlink, internal, single_switch, multiple_switches, host_bridge, node, system."""
    nvlink_count: int = 0


class GpuProcess(Record, frozen=True, kw_only=True):
    """One process as the driver lists it on one GPU. The pid is a claim: it may belong to another pid namespace."""

    pid: int
    used_memory_bytes: int | None = None
    kind: str = "C"
    """C compute, G graphics, C+G both, M MPS client."""
    gpu_util_ratio: float | None = None
    """Share of time this process ran a kernel; 0 when the driver has been quiet about it."""
    gpu_util_age_s: float | None = None
    """Age of that sample; a value older than two ticks is old."""
    gpu_instance_id: int | None = None
    compute_instance_id: int | None = None


class ThrottleTime(Record, frozen=True, kw_only=True):
    """Cumulative time a GPU's clocks were held down for one reason, as the driver counts it (or since we watch)."""

    reason: str
    total_s: float


class PcieLink(Record, frozen=True, kw_only=True):
    """The PCIe link now. The generation drops when idle by design: judge it only under load."""

    generation: int | None = None
    width: int | None = None
    replay_count: int | None = None
    received_bytes_per_s: float | None = None
    transmitted_bytes_per_s: float | None = None


class NvLink(Record, frozen=True, kw_only=True):
    """NVLink as a whole: how many links are there and up, and the counters over all of them."""

    link_count: int | None = None
    active_count: int | None = None
    link_bytes_per_s: float | None = None
    """Speed of one link, one direction."""
    received_bytes: int | None = None
    transmitted_bytes: int | None = None
    error_count: int | None = None


class EccCounts(Record, frozen=True, kw_only=True):
    """ECC errors and what the driver did about them."""

    enabled: bool | None = None
    corrected_volatile: int | None = None
    uncorrected_volatile: int | None = None
    corrected_aggregate: int | None = None
    uncorrected_aggregate: int | None = None
    remapped_corrected: int | None = None
    remapped_uncorrected: int | None = None
    remap_pending: bool | None = None
    remap_failed: bool | None = None


class XidEvent(Record, frozen=True, kw_only=True):
    """A driver error event. Only events after we registered are seen; there is no history in the driver."""

    xid: int
    seen_s: float


class GpmActivity(Record, frozen=True, kw_only=True):
    """Hopper and newer: how full the GPU really is (sampled only while shown)."""

    sm_util_ratio: float | None = None
    sm_occupancy_ratio: float | None = None
    tensor_ratio: float | None = None
    dram_ratio: float | None = None
    pcie_received_bytes_per_s: float | None = None
    pcie_transmitted_bytes_per_s: float | None = None
    nvlink_received_bytes_per_s: float | None = None
    nvlink_transmitted_bytes_per_s: float | None = None


class GpuSample(Record, frozen=True, kw_only=True):
    """One GPU or MIG instance at one moment."""

    uuid: str
    taken_s: float = 0.0
    """Wall clock of the reading; older than the Snapshot when the driver is slow."""
    state: str = "ok"
    """One of: ok, lost, needs_reset, no_permission, asleep, error."""
    state_since_s: float | None = None
    state_detail: str = ""
    """A plain sentence when `state` is not ok."""
    gpu_util_ratio: float | None = None
    """Share of the last sample period in which at least one kernel ran. Says nothing about how full the GPU was."""
    memory_busy_ratio: float | None = None
    """Share of time in which memory was accessed. Not bandwidth, not occupancy."""
    memory_total_bytes: int | None = None
    memory_used_bytes: int | None = None
    memory_free_bytes: int | None = None
    memory_reserved_bytes: int | None = None
    """What the driver keeps for itself; not part of used."""
    power_w: float | None = None
    """Mean over the last second where the driver says so, else instantaneous."""
    power_instant_w: float | None = None
    power_limit_w: float | None = None
    energy_j: float | None = None
    """Since the driver was loaded."""
    temperature_c: float | None = None
    memory_temperature_c: float | None = None
    fan_ratio: float | None = None
    """Intended speed; may exceed 1."""
    sm_mhz: int | None = None
    memory_mhz: int | None = None
    performance_state: int | None = None
    throttle: tuple[str, ...] = ()
    """Why clocks are low now: idle, application_clocks, power_cap, hw_slowdown, sync_boost, sw_thermal, hw_thermal,
    power_brake, display_clocks, board_limit, reliability, or 0x… for a bit nobody has named."""
    throttle_times: tuple[ThrottleTime, ...] = ()
    pcie: PcieLink | None = None
    nvlink: NvLink | None = None
    ecc: EccCounts | None = None
    recovery_action: str | None = None
    """none, reset, reboot, drain_p2p, drain_and_reset or imex, as the driver asks for it."""
    xids: tuple[XidEvent, ...] = ()
    """The latest few, oldest first."""
    gpm: GpmActivity | None = None
    processes: tuple[GpuProcess, ...] = ()
    processes_known: bool = True
    """False when the driver gave no process list at all (an empty list then means nothing)."""
    unattributed_bytes: int | None = None
    """Device memory in use that no figure of a listed process accounts for; processes without a figure are in it."""
    missing: tuple[Missing, ...] = ()
