"""The machine: CPU, memory, swap, pressure, and the room on the file systems that runs write to."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from monitor.clean import clean
from monitor.clock import Clock
from monitor.processes.background import Background
from monitor.processes.proc import read_bounded
from monitor.types.process import DiskSample, HostSample, Pressure
from monitor.types.record import Missing

T = TypeVar("T")

MAX_PATHS = 32
DISK_MAX_AGE_S = 5.0
FIRST_DISK_WAIT_S = 0.02
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - looked at, never written to
_RESOURCES = ("cpu", "memory", "io")


def parse_memory(text: bytes) -> dict[str, int]:
    """The figures of /proc/meminfo in bytes."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 2 and words[1].isdigit():
            unit_bytes = 1024 if words[-1] == b"kB" else 1
            found[words[0].rstrip(b":").decode("ascii", "replace")] = int(words[1]) * unit_bytes
    return found


def parse_cpu(text: bytes) -> tuple[int, int]:
    """Busy and total clock ticks of all cores from /proc/stat; guest time is part of user time there (proc(5)).

    Raises:
        ValueError: there is no such line.
    """
    line = text.split(b"\n", 1)[0].split()
    if len(line) < 5 or line[0] != b"cpu":
        raise ValueError("no cpu line in /proc/stat")
    ticks = [int(word) for word in line[1:9]]
    total = sum(ticks)
    idle = ticks[3] + (ticks[4] if len(ticks) > 4 else 0)  # idle and waiting for disk
    return total - idle, total


def parse_pressure(resource: str, text: bytes) -> Pressure:
    """One file of /proc/pressure, the averages over 10 s.

    Raises:
        ValueError: it holds no such averages.
    """
    ratios: dict[bytes, float] = {}
    for line in text.splitlines():
        words = line.split()
        for word in words[1:]:
            if word.startswith(b"avg10="):
                ratios[words[0]] = min(1.0, max(0.0, float(word[6:]) / 100.0))
    if b"some" not in ratios:
        raise ValueError("no averages")
    # Since Linux 5.13 there is a "full" line for the CPU of the whole machine, and it is always 0 (psi.rst).
    full = None if resource == "cpu" else ratios.get(b"full")
    return Pressure(resource=resource, some_ratio=ratios[b"some"], full_ratio=full)


def file_system_of(path: str, mounts: str) -> str | None:
    """The type of the file system that holds an absolute path, from the text of /proc/self/mounts."""
    best, kind = "", None
    for line in mounts.splitlines():
        words = line.split(" ")
        if len(words) < 3:
            continue
        point = words[1].replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):  # a later mount on the same point hides the one before
            best, kind = point, clean(words[2], 32)
    return kind


class HostReader:
    """Implements `monitor.sources.HostSource`. Each figure fails alone and says so in `missing`."""

    def __init__(self, clock: Clock, proc_root: str = "/proc") -> None:
        self._proc_root = proc_root
        self._disks: Background[str, DiskSample] = Background(self._disk, clock, DISK_MAX_AGE_S)
        self._cpu_before: tuple[int, int] | None = None

    def read(self, paths: tuple[str, ...]) -> HostSample:
        """Host figures, with the room on the file systems that hold `paths` and on /dev/shm."""
        missing: list[Missing] = []
        memory = _try(missing, "memory_total_bytes", lambda: parse_memory(self._file("meminfo"))) or {}
        swap_total, swap_free = memory.get("SwapTotal"), memory.get("SwapFree")
        return HostSample(
            cpu_ratio=_try(missing, "cpu_ratio", self._cpu_ratio),
            cpu_count=os.cpu_count(),
            load_1min=_try(missing, "load_1min", self._load),
            memory_total_bytes=memory.get("MemTotal"),
            memory_available_bytes=memory.get("MemAvailable"),
            swap_total_bytes=swap_total,
            swap_used_bytes=None if swap_total is None or swap_free is None else max(0, swap_total - swap_free),
            pressures=self._pressures(missing),
            disks=self._room(paths, missing),
            missing=tuple(missing),
        )

    def _file(self, name: str) -> bytes:
        return read_bounded(f"{self._proc_root}/{name}", 65536)

    def _load(self) -> float:
        return float(self._file("loadavg").split()[0])

    def _cpu_ratio(self) -> float | None:
        now = parse_cpu(self._file("stat"))
        before, self._cpu_before = self._cpu_before, now
        if before is None or now[1] <= before[1]:
            return None
        # Idle and iowait may step back a little (proc(5)), so the share is held to its bounds.
        return min(1.0, max(0.0, (now[0] - before[0]) / (now[1] - before[1])))

    def _pressures(self, missing: list[Missing]) -> tuple[Pressure, ...]:
        found: list[Pressure] = []
        for resource in _RESOURCES:
            pressure = _try(missing, "pressures", partial(self._pressure, resource))
            if pressure is not None:
                found.append(pressure)
        return tuple(found)

    def _pressure(self, resource: str) -> Pressure:
        return parse_pressure(resource, self._file(f"pressure/{resource}"))

    def _room(self, paths: tuple[str, ...], missing: list[Missing]) -> tuple[DiskSample, ...]:
        found: list[DiskSample] = []
        for path in tuple(dict.fromkeys((*paths, SHARED_MEMORY)))[:MAX_PATHS]:
            sample = self._disks.get(path, wait_s=FIRST_DISK_WAIT_S)
            if sample is not None:
                found.append(sample)
            elif self._disks.waiting(path):
                missing.append(Missing(field="disks", reason="timeout", detail=f"{clean(path, 200)}: no answer yet"))
        return tuple(found)

    def _disk(self, path: str) -> DiskSample | None:
        """Runs on a thread of its own: a dead network file system never answers."""
        room = os.statvfs(path)
        if room.f_blocks <= 0:
            return None
        try:
            mounts = read_bounded(f"{self._proc_root}/self/mounts", 1 << 20).decode("utf-8", "replace")
        except OSError:
            mounts = ""
        return DiskSample(
            path=clean(path, 4096),
            total_bytes=room.f_blocks * room.f_frsize,
            free_bytes=room.f_bavail * room.f_frsize,
            file_system=file_system_of(os.path.realpath(path), mounts),
        )


def _try(missing: list[Missing], field: str, read: Callable[[], T]) -> T | None:
    try:
        return read()
    except (OSError, ValueError, IndexError) as error:
        missing.append(_reason(field, error))
        return None


def _reason(field: str, error: Exception) -> Missing:
    if isinstance(error, PermissionError):
        return Missing(field=field, reason="no_permission")
    if isinstance(error, FileNotFoundError):
        return Missing(field=field, reason="not_supported")
    return Missing(field=field, reason="failed", detail=clean(str(error), 200))
