"""A simulated node: all that the agent reads from, as a function of a profile, a seed and the time since its start."""

from __future__ import annotations

import os

from monitor.clean import clean
from monitor.clock import Clock
from monitor.simulation.adopted import AdoptedProcess
from monitor.simulation.gpus import SimulatedGpus
from monitor.simulation.host import SimulatedHost
from monitor.simulation.plans import Profile
from monitor.simulation.processes import SimulatedProcesses
from monitor.simulation.run import SimulatedRun, Viewer
from monitor.simulation.steps import SimulatedSteps
from monitor.sources import HostSource, ProcessSource, StepSource


class SimulatedNode:
    """One node. Its sources may be read on threads of their own: they share only functions of the time."""

    def __init__(self, profile: Profile, seed: int, clock: Clock, user: str | None = None) -> None:
        """`user` is whom own runs belong to; by default whoever this process belongs to."""
        self.profile = profile
        self._clock = clock
        self._start_boot_s = clock.boot_s()
        viewer = Viewer(
            user=clean(user or _user_name(), 64),
            uid=os.getuid() if hasattr(os, "getuid") else 0,
            start_wall_s=clock.wall_s(),
            start_boot_s=self._start_boot_s,
        )
        self._seed = seed
        self._all_runs = tuple(SimulatedRun(plan, number, seed, viewer) for number, plan in enumerate(profile.runs))
        self._gpus = SimulatedGpus(profile, seed, clock, self.elapsed_s, self.runs)

    def elapsed_s(self) -> float:
        """Seconds since the simulation's start."""
        return max(0.0, self._clock.boot_s() - self._start_boot_s)

    def runs(self) -> tuple[SimulatedRun, ...]:
        """All runs of the profile, whether they live now or not."""
        return self._all_runs

    def adopt(self, pid: int) -> None:
        """Put a real process on GPU 0, in place of the stand-in. Call it before the first reading."""
        self._all_runs = tuple(run for run in self._all_runs if not run.plan.stand_in)
        self._gpus.adopt(AdoptedProcess(pid))

    @property
    def gpus(self) -> SimulatedGpus:
        """The GPUs, as a `GpuSource`."""
        return self._gpus

    def processes(self, inner: ProcessSource | None = None) -> SimulatedProcesses:
        """The processes, as a `ProcessSource`; real ones come from `inner`."""
        return SimulatedProcesses(self._clock, self.elapsed_s, self.runs, inner)

    def steps(self, inner: StepSource | None = None) -> SimulatedSteps:
        """The step counters, as a `StepSource`; those of real processes come from `inner`."""
        return SimulatedSteps(self._clock, self.elapsed_s, self.runs, inner)

    def host(self, inner: HostSource | None = None) -> SimulatedHost:
        """The machine, as a `HostSource`; room on real disks comes from `inner`."""
        return SimulatedHost(self.profile, self._seed, self.elapsed_s, self.runs, inner)


def _user_name() -> str:
    """The user's name, or its number where it has none."""
    try:
        import pwd
    except ImportError:
        return os.environ.get("USERNAME", "you")
    uid = os.getuid()
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
