"""Invented cards, processes and runs that scenes are made of."""

from __future__ import annotations

import calendar
import math

from advisor.assessment import Assessment
from monitor.types.facts import ProcessFacts
from monitor.types.gpu import EccCounts, GpuIdentity, GpuProcess, GpuSample, NvLink, PcieLink
from monitor.types.identity import ProcessIdentity
from monitor.types.messages import Hello, Snapshot
from monitor.types.process import HostSample, Pairing, ProcessSample
from monitor.types.record import Range
from monitor.types.run import Checkpoint, Run, RunMember, SourceReading
from monitor.types.steps import StepValue

NOW_S = float(calendar.timegm((2026, 3, 2, 13, 2, 31)))
"""A Monday, 14:02:31 in the invented zone."""
BOOT_S = 500_000.0
GIB = 1024**3
TOTAL = 85_520_809_984
TICKS = 120


def gpu(index: int, name: str = "NVIDIA H100 80GB HBM3", total: int = TOTAL) -> GpuIdentity:
    """One card."""
    return GpuIdentity(
        uuid=f"GPU-0000000{index // 10}-{index % 10}",
        index=index,
        name=name,
        memory_total_bytes=total,
        power_limit_w=700.0,
        power_limit_max_w=700.0,
        sm_max_mhz=1980,
        compute_capability="9.0",
        pci_bus_id=f"00000000:{index + 16:02X}:00.0",
        temperature_slowdown_c=87.0,
        pcie_generation_max=5,
        pcie_width_max=16,
        numa_node=index // 4,
    )


def busy(
    identity: GpuIdentity, tick: int, *, load: float = 0.94, used_gib: float = 74.9, pid: int = 0, **more: object
) -> GpuSample:
    """A card that trains: short dips of its load at each save."""
    wave = 0.55 if tick % 24 in (9, 10) else 1.0
    jitter = 0.015 * math.sin(tick * 1.7 + identity.index)
    values: dict[str, object] = {
        "uuid": identity.uuid,
        "taken_s": 0.0,
        "gpu_util_ratio": min(1.0, max(0.0, load * wave + jitter)),
        "memory_busy_ratio": load * 0.55,
        "memory_total_bytes": identity.memory_total_bytes,
        "memory_used_bytes": int(used_gib * GIB) - (int(3.6 * GIB) if tick < TICKS * 0.4 else 0),
        "memory_reserved_bytes": int(0.6 * GIB),
        "power_w": 634.0 - 6 * (identity.index % 3) + 4 * math.sin(tick / 3),
        "power_limit_w": 700.0,
        "energy_j": 4.2e9 + 634.0 * tick,
        "temperature_c": 61.0 + identity.index % 3,
        "fan_ratio": 0.4,
        "sm_mhz": 1980 - 15 * (identity.index % 2),
        "memory_mhz": 2619,
        "performance_state": 0,
        "pcie": PcieLink(generation=5, width=16, replay_count=0),
        "nvlink": NvLink(link_count=18, active_count=18),
        "ecc": EccCounts(enabled=True, corrected_volatile=0, uncorrected_volatile=0),
        "processes": (GpuProcess(pid=pid, used_memory_bytes=int((used_gib - 1.0) * GIB)),) if pid else (),
        "unattributed_bytes": int(0.4 * GIB),
    }
    return GpuSample(**{**values, **more})  # type: ignore[arg-type]


def idle(identity: GpuIdentity, **more: object) -> GpuSample:
    """A card that nobody uses."""
    values: dict[str, object] = {
        "uuid": identity.uuid,
        "gpu_util_ratio": 0.0,
        "memory_busy_ratio": 0.0,
        "memory_total_bytes": identity.memory_total_bytes,
        "memory_used_bytes": 4 * 1024**2,
        "memory_reserved_bytes": int(0.6 * GIB),
        "power_w": 78.0,
        "power_limit_w": 700.0,
        "temperature_c": 31.0,
        "sm_mhz": 345,
        "throttle": ("idle",),
        "pcie": PcieLink(generation=1, width=16),
        "unattributed_bytes": 0,
    }
    return GpuSample(**{**values, **more})  # type: ignore[arg-type]


def process(pid: int) -> ProcessIdentity:
    """A process by its pid."""
    return ProcessIdentity(pid=pid, start_ticks=pid * 100)


def facts_of(pid: int, user: str, argv: tuple[str, ...], *, mine: bool = False, **more: object) -> ProcessFacts:
    """Facts of a process."""
    values: dict[str, object] = {
        "process": process(pid),
        "name": argv[0],
        "uid": 1000 if mine else 1001,
        "user": user,
        "mine": mine,
        "argv": argv,
        "cwd": f"/home/{user}/work",
        "started_s": NOW_S - 7 * 3600,
        "kind": "training",
    }
    return ProcessFacts(**{**values, **more})  # type: ignore[arg-type]


def sample_of(pid: int, cpu: float = 1.02, rss_gib: float = 14.2, **more: object) -> ProcessSample:
    """A process at one moment."""
    values: dict[str, object] = {
        "process": process(pid),
        "state": "R",
        "cpu_ratio": cpu,
        "rss_bytes": int(rss_gib * GIB),
        "threads": 96,
        "read_bytes": 412 * GIB,
        "written_bytes": 96 * GIB,
    }
    return ProcessSample(**{**values, **more})  # type: ignore[arg-type]


def run(name: str, pids: tuple[int, ...], gpus: tuple[GpuIdentity, ...] = (), **more: object) -> Run:
    """A run of these processes."""
    values: dict[str, object] = {
        "run_id": f"run-{pids[0]}",
        "name": name,
        "user": "ada",
        "members": tuple(
            RunMember(process=process(pid), role="trainer", rank=rank if len(pids) > 1 else None)
            for rank, pid in enumerate(pids)
        ),
        "gpu_uuids": tuple(identity.uuid for identity in gpus),
        "command": f"python train.py --name {name}",
        "started_s": NOW_S - 7 * 3600,
        "watched_since_s": NOW_S - 2400,
        "phase": "training",
        "last_step_s": NOW_S - 0.5,
    }
    return Run(**{**values, **more})  # type: ignore[arg-type]


def assessment(one: Run, left_s: float, spread: float = 0.04) -> Assessment:
    """A finish with its range."""
    low, high = left_s * (1 - spread), left_s * (1 + spread)
    return Assessment(
        run_id=one.run_id,
        remaining_s=Range(low=low, likely=left_s, high=high),
        finish_s=Range(low=NOW_S + low, likely=NOW_S + left_s, high=NOW_S + high),
        basis="the plain mean over 1,200 steps, pauses counted in",
    )


def hello(gpus: tuple[GpuIdentity, ...], **more: object) -> Hello:
    """The node."""
    values: dict[str, object] = {
        "taken_s": NOW_S - TICKS,
        "boot_s": BOOT_S - TICKS,
        "host": "node07",
        "boot_id": "b0",
        "pid_namespace": "pid:[1]",
        "user": "ada",
        "utc_offset_s": 3600,
        "zone": "CET",
        "driver_state": "ok",
        "driver_version": "580.95",
        "cuda_version": "13.0",
        "gpus": gpus,
    }
    return Hello(**{**values, **more})  # type: ignore[arg-type]


def host() -> HostSample:
    """The machine."""
    return HostSample(
        cpu_ratio=0.31,
        cpu_count=128,
        load_1min=41.0,
        memory_total_bytes=1024 * GIB,
        memory_available_bytes=812 * GIB,
        swap_total_bytes=0,
        swap_used_bytes=0,
    )


def snapshot(tick: int, gpus: tuple[GpuSample, ...], **more: object) -> Snapshot:
    """The tick with this number; the last one is now."""
    before = TICKS - 1 - tick
    values: dict[str, object] = {
        "taken_s": NOW_S - before,
        "boot_s": BOOT_S - before,
        "sequence": tick,
        "gpus": gpus,
        "host": host(),
    }
    return Snapshot(**{**values, **more})  # type: ignore[arg-type]


def pair(identity: GpuIdentity, pid: int, how: str = "same_pid") -> Pairing:
    """Whom a driver's pid belongs to."""
    known = how in ("same_pid", "inferred")
    return Pairing(gpu_uuid=identity.uuid, driver_pid=pid, process=process(pid) if known else None, how=how)


SFT_VALUES = (
    StepValue(name="loss", value=1.732),
    StepValue(name="lr", value=1.4e-5),
    StepValue(name="grad_norm", value=0.83),
)


def sft(pids: tuple[int, ...], gpus: tuple[GpuIdentity, ...], **more: object) -> Run:
    """The run that most scenes show first."""
    values: dict[str, object] = {
        "mine": True,
        "gpu_memory_bytes": int(73.9 * GIB) * len(gpus),
        "step": 12_400.0,
        "unit": "optimizer_step",
        "total": 40_000.0,
        "total_source": "progress bar",
        "step_seconds": 1.84,
        "wall_seconds_per_step": 1.93,
        "rate_clock": "source",
        "rate_window_s": 2208.0,
        "rate_steps": 1200.0,
        "rate_spread_ratio": 0.02,
        "values": SFT_VALUES,
        "checkpoint": Checkpoint(step=12_000, path="out/checkpoint-12000", written_s=NOW_S - 736, whole=True),
        "sources": (
            SourceReading(
                source="tqdm",
                where="stderr → logs/train.err",
                step=12_400,
                total=40_000,
                seen_s=NOW_S - 0.5,
                confidence=0.95,
                used=True,
            ),
            SourceReading(
                source="hf_dict",
                where="stdout → logs/train.out",
                step=12_390,
                seen_s=NOW_S - 18,
                confidence=0.8,
                note="agrees, ten steps behind",
            ),
        ),
    }
    return run("llama3-8b-sft", pids, gpus, **{**values, **more})
