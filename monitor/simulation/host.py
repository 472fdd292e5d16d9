"""The simulated machine; implements `monitor.sources.HostSource`."""

from __future__ import annotations

from collections.abc import Callable

from monitor.simulation.noise import noise, seed_of
from monitor.simulation.plans import GIB, Profile
from monitor.simulation.run import SimulatedRun
from monitor.sources import HostSource
from monitor.types.process import DiskSample, HostSample, Pressure

_DISK_TOTAL_BYTES = 7000 * GIB
_DISK_FREE_BYTES = 1840 * GIB
_WRITTEN_BYTES_PER_S = 3_000_000
_BASE_MEMORY_BYTES = 5 * GIB


class SimulatedHost:
    """Figures that agree with the simulated runs. Room on real disks is asked of the inner source."""

    def __init__(
        self,
        profile: Profile,
        seed: int,
        elapsed_s: Callable[[], float],
        runs: Callable[[], tuple[SimulatedRun, ...]],
        inner: HostSource | None,
    ) -> None:
        self._profile = profile
        self._seed = seed_of(seed, "host")
        self._elapsed_s = elapsed_s
        self._runs = runs
        self._inner = inner

    def read(self, paths: tuple[str, ...]) -> HostSample:
        """CPU and memory in use are the sums over the simulated processes and a little more."""
        at_s = self._elapsed_s()
        profile = self._profile
        cores, used_bytes, waiting = 0.4, _BASE_MEMORY_BYTES, 0
        for run in self._runs():
            if run.moment(at_s) is not None:
                cores += sum(process.cpu_ratio for process in run.processes)
                used_bytes += sum(process.rss_bytes for process in run.processes)
                waiting += run.plan.waits_for_disk
        tremble = 1.0 + 0.04 * noise(self._seed, int(at_s))
        stalled_ratio = min(0.9, 0.11 * waiting * tremble)
        return HostSample(
            cpu_ratio=round(min(1.0, cores / profile.cpu_count * tremble), 3),
            cpu_count=profile.cpu_count,
            load_1min=round(cores + waiting, 2),
            memory_total_bytes=profile.memory_total_bytes,
            memory_available_bytes=max(GIB, profile.memory_total_bytes - used_bytes),
            swap_total_bytes=8 * GIB,
            swap_used_bytes=0,
            pressures=(
                Pressure(resource="cpu", some_ratio=0.01, full_ratio=0.0),
                Pressure(resource="memory", some_ratio=0.0, full_ratio=0.0),
                Pressure(resource="io", some_ratio=round(stalled_ratio, 3), full_ratio=round(stalled_ratio * 0.6, 3)),
            ),
            disks=self._disks(paths, at_s),
        )

    def _disks(self, paths: tuple[str, ...], at_s: float) -> tuple[DiskSample, ...]:
        ours = {run.main.facts.cwd for run in self._runs()}
        real = tuple(path for path in paths if path not in ours)
        disks = list(self._inner.read(real).disks) if self._inner is not None and real else []
        free_bytes = max(0, int(_DISK_FREE_BYTES - _WRITTEN_BYTES_PER_S * at_s))
        disks.extend(
            DiskSample(path=path, total_bytes=_DISK_TOTAL_BYTES, free_bytes=free_bytes, file_system="xfs")
            for path in paths
            if path in ours
        )
        return tuple(disks)
