"""Processes and the host: what changes each tick. What rarely changes is in `facts`."""

from __future__ import annotations

from monitor.types.identity import ProcessIdentity
from monitor.types.record import Missing, Record


class ProcessSample(Record, frozen=True, kw_only=True):
    """One watched process at one moment. Rates are over the time since the reading before; the first has none."""

    process: ProcessIdentity
    parent_pid: int = 0
    state: str = "?"
    """R running, S sleeping, D waiting for disk, T stopped, Z zombie."""
    cpu_ratio: float | None = None
    """1.0 is one core; may be far above 1."""
    cpu_s: float | None = None
    """User and system time so far."""
    rss_bytes: int | None = None
    threads: int | None = None
    read_bytes: int | None = None
    """Bytes fetched from storage so far; own processes only."""
    written_bytes: int | None = None
    gpu_files_open: bool | None = None
    """Whether it holds /dev/nvidia* open; own processes only."""


class Pairing(Record, frozen=True, kw_only=True):
    """Whom a pid that the driver names belongs to here. Never sent a signal when `how` is not same_pid."""

    gpu_uuid: str
    driver_pid: int
    process: ProcessIdentity | None = None
    how: str = "same_pid"
    """same_pid, inferred (paired by elimination), other_namespace, hidden (hidepid), gone."""
    detail: str = ""


class ProcessEnd(Record, frozen=True, kw_only=True):
    """A watched process is gone. `tail` is the cleaned end of what it wrote, where that was readable."""

    process: ProcessIdentity
    seen_s: float
    tail: tuple[str, ...] = ()
    host_oom_kills: int | None = None
    """By how much its cgroup's oom_kill counter rose while it was watched; `None` where it cannot be read."""


class Pressure(Record, frozen=True, kw_only=True):
    """Pressure stall information of one resource (cpu, memory, io) over the last 10 s."""

    resource: str
    some_ratio: float
    full_ratio: float | None = None


class DiskSample(Record, frozen=True, kw_only=True):
    """Room on the file system that holds `path` (a working directory of a run, or /dev/shm)."""

    path: str
    total_bytes: int
    free_bytes: int
    file_system: str | None = None


class HostSample(Record, frozen=True, kw_only=True):
    """The machine, and the limits that this process itself lives under."""

    cpu_ratio: float | None = None
    """Share of all cores; the first sample has none."""
    cpu_count: int | None = None
    load_1min: float | None = None
    memory_total_bytes: int | None = None
    memory_available_bytes: int | None = None
    swap_total_bytes: int | None = None
    swap_used_bytes: int | None = None
    pressures: tuple[Pressure, ...] = ()
    disks: tuple[DiskSample, ...] = ()
    missing: tuple[Missing, ...] = ()
