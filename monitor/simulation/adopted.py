"""A real process that stands on a simulated GPU: what the GPU shows follows what the process really does."""

from __future__ import annotations

import os

from monitor.simulation.noise import noise
from monitor.simulation.plans import GIB, GpuModel

_BUSY_SHARE = 0.55
"""Below this share of its usual CPU use the process is taken to evaluate, save or wait."""

_USUAL_GAIN = 0.2
_CONTEXT_BYTES = int(0.5 * GIB)
_MOVING_S = 1.0
_LOADED_S = 3.0


class AdoptedProcess:
    """Reads the CPU time of one process; one read of one small file a tick."""

    def __init__(self, pid: int, proc: str = "/proc") -> None:
        self.pid = pid
        self._stat_path = f"{proc}/{pid}/stat"
        self._schedule_path = f"{proc}/{pid}/schedstat"
        self._readable = os.path.isdir(proc)
        self._start_ticks: int | None = None
        self._first_s: float | None = None
        self._last: tuple[float, float] | None = None
        self._usual = 0.0
        self._rested = False
        self.alive = True
        self.share = 0.0
        """CPU use now against its usual use, 0 to 1."""

    def look(self, at_s: float) -> None:
        """Read it again. Where there is no /proc it counts as busy."""
        if self._first_s is None:
            self._first_s = at_s
        if not self._readable:
            self.share = 1.0
            return
        cpu_s = self._cpu_s()
        if cpu_s is None:
            self.alive = False
            self.share = 0.0
            return
        if self._last is None:
            self._last = (at_s, cpu_s)
            return
        before_s, before_cpu_s = self._last
        if at_s - before_s < 0.2:
            return
        self._last = (at_s, cpu_s)
        self._take(max(0.0, cpu_s - before_cpu_s) / (at_s - before_s), at_s)

    def _take(self, cpu_ratio: float, at_s: float) -> None:
        moving = self._first_s is not None and at_s - self._first_s > _MOVING_S
        if cpu_ratio > self._usual * _BUSY_SHARE and moving:
            self._usual += (cpu_ratio - self._usual) * (_USUAL_GAIN if self._usual else 1.0)
        self.share = min(1.0, cpu_ratio / self._usual) if self._usual > 0 else 0.0
        if moving and self._usual > 0 and self.share < _BUSY_SHARE:
            self._rested = True

    def load(self, at_s: float) -> tuple[float, float]:
        """Utilisation and intensity of its GPU."""
        if not self.alive:
            return 0.0, 0.0
        util_ratio = 0.93 * min(1.0, self.share / 0.8) if self.share >= _BUSY_SHARE else 0.9 * self.share
        return max(0.0, min(1.0, util_ratio * (1.0 + 0.02 * noise(self.pid, int(at_s * 2))))), 0.85

    def memory_bytes(self, at_s: float, model: GpuModel) -> int:
        """A plausible curve: weights, then the first step, then the first evaluation, each kept."""
        if not self.alive or self._first_s is None:
            return 0
        age_s = at_s - self._first_s
        if age_s < _MOVING_S / 2:
            return _CONTEXT_BYTES
        if age_s < _LOADED_S:
            return int(model.memory_total_bytes * 0.11)
        return int(model.memory_total_bytes * (0.43 if self._rested else 0.38))

    def _cpu_s(self) -> float | None:
        """CPU time so far, or `None` once it is gone or its pid belongs to another process."""
        try:
            with open(self._stat_path, "rb", buffering=0) as file:
                fields = file.read(4096).rpartition(b")")[2].split()
            state, ticks, start_ticks = fields[0], int(fields[11]) + int(fields[12]), int(fields[19])
        except (OSError, ValueError, IndexError):
            return None
        if self._start_ticks is None:
            self._start_ticks = start_ticks
        if state in (b"Z", b"X") or start_ticks != self._start_ticks:
            return None
        try:
            with open(self._schedule_path, "rb", buffering=0) as file:
                return int(file.read(128).split()[0]) / 1e9
        except (OSError, ValueError, IndexError):
            return ticks / os.sysconf("SC_CLK_TCK")
