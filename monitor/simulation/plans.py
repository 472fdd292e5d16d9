"""What a simulated node is made of, as plain frozen data. Times are seconds after the simulation's start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

GIB = 1024**3


@dataclass(frozen=True, kw_only=True)
class GpuModel:
    """A kind of GPU. Figures are typical ones, rounded; nothing is computed from them outside the simulation."""

    name: str
    memory_total_bytes: int
    memory_reserved_bytes: int
    idle_w: float
    full_w: float
    """Drawn at full load and full clock when no limit holds it down."""
    limit_w: float
    sm_max_mhz: int
    sm_idle_mhz: int
    memory_mhz: int
    compute_capability: str
    architecture: str
    hot_c: float = 87.0
    """Above this the driver lowers the clocks (software thermal slowdown)."""
    slowdown_c: float = 90.0
    """Above this the board does (hardware thermal slowdown)."""
    shutdown_c: float = 95.0
    pcie_generation: int = 5
    nvlink_count: int = 0
    nvlink_bytes_per_s: float = 25e9
    has_fan: bool = False
    has_ecc: bool = True
    unified_memory: bool = False


@dataclass(frozen=True, kw_only=True)
class GpuPlan:
    """One GPU of a node, or a MIG slice of one."""

    model: GpuModel
    cooling_c_per_w: float = 0.055
    """Degrees above the air per watt, once settled. A badly cooled one has more."""
    air_c: float = 27.0
    power_limit_w: float | None = None
    """Set below the model's own limit."""
    lost_after_s: float | None = None
    """When it falls off the bus (XID 79)."""
    slice_of: int | None = None
    """For a MIG slice: the position of its parent in the profile; `model` then holds the slice's memory."""
    mig_enabled: bool = False


@dataclass(frozen=True, kw_only=True)
class MemoryPlan:
    """Device memory of one rank of a run. Steps, as an allocator that keeps what it had makes them."""

    context_bytes: int = int(0.5 * GIB)
    weights_bytes: int = 0
    training_bytes: int = 0
    """All of it, from the first step on."""
    evaluation_bytes: int = 0
    """All of it, from the first evaluation on; 0 where that needs no more."""
    growth_bytes_per_s: float = 0.0
    """A leak, from the first step on."""


EndKind = Literal["finished", "out_of_memory", "error", "killed"]


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """One run: its processes, what it does and when. `total` of 0 means that it counts no steps."""

    name: str
    argv: tuple[str, ...]
    """Of a rank; `{rank}` is filled in."""
    kind: Literal["training", "serving", "notebook"] = "training"
    user: str | None = None
    """`None`: whoever looks on."""
    gpus: tuple[int, ...] = ()
    """Positions in the profile; one rank each. Empty: a run on the CPU."""
    launcher: tuple[str, ...] = ()
    workers: int = 0
    """Data-loader workers a rank."""
    cwd: str = "/srv/work"
    container: str | None = None
    slurm_job_id: str | None = None
    waits_for_disk: bool = False
    stand_in: bool = False
    """Stands where the real demo trainer goes, and is left out once one is adopted."""
    readable: bool = True
    """Whether its output can be read from here."""
    starts_s: float = 0.0
    """Negative: it was there before."""
    startup_s: float = 25.0
    total: int = 0
    step_s: float = 1.0
    log_every: int = 10
    evaluate_every: int = 0
    evaluate_s: float = 0.0
    save_every: int = 0
    """A multiple of `evaluate_every` where both are set."""
    save_s: float = 0.0
    steps_per_epoch: int = 1000
    loss_first: float = 2.4
    loss_floor: float = 1.4
    learning_rate: float = 2e-5
    load_ratio: float = 0.93
    """GPU utilisation while it trains, or at a server's busiest."""
    intensity_ratio: float = 0.97
    """How much of the full power that load draws."""
    memory: MemoryPlan = MemoryPlan()
    freezes_s: float | None = None
    """When it hangs: no step from then on."""
    ends_s: float | None = None
    """When it ends before its last step."""
    ends_how: EndKind = "finished"
    ends_text: tuple[str, ...] = ()
    """Its last lines."""
    rank_rss_bytes: int = 6 * GIB
    rank_cpu_ratio: float = 1.05
    worker_cpu_ratio: float = 0.35


@dataclass(frozen=True, kw_only=True)
class Profile:
    """A whole node."""

    name: str
    sentence: str
    gpus: tuple[GpuPlan, ...]
    runs: tuple[RunPlan, ...]
    host: str = "node07"
    cpu_count: int = 96
    memory_total_bytes: int = 1024 * GIB
    driver_version: str = "580.95.05"
    cuda_version: str = "13.0"
    nvlink_group: int = 8
    """So many GPUs in a row reach each other over NVLink, where the model has it."""
