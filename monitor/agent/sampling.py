"""The four sources, each on its own thread, and the newest of what they said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from monitor.agent.driver_sampling import DriverSampling
from monitor.agent.process_sampling import Ends, ProcessesSeen, ProcessSampling
from monitor.agent.schedule import Schedule
from monitor.agent.source_loop import SourceLoop
from monitor.agent.step_sampling import StepSampling
from monitor.clock import Clock
from monitor.sources import DriverInfo, GpuSource, HostSource, ProcessReading, ProcessSource, StepSource, TailReading
from monitor.types.facts import ProcessFacts
from monitor.types.gpu import GpuSample
from monitor.types.identity import ProcessIdentity
from monitor.types.messages import SourceTiming
from monitor.types.process import HostSample, Pairing, ProcessEnd
from monitor.types.requests import Release, Tail, Watch
from monitor.types.steps import StepEvent

DRIVER_PATIENCE_S = 0.15
"""How long the first look at processes waits for the driver's pids."""
MAX_HOST_PATHS = 8


@dataclass(frozen=True)
class SourceState:
    """How one source is doing now."""

    name: str
    timing: SourceTiming
    failure: str | None


@dataclass(frozen=True)
class Latest:
    """The newest of everything; events and ends are those since the last time this was taken."""

    info: DriverInfo | None = None
    gpus: tuple[GpuSample, ...] = ()
    processes: ProcessReading = field(default_factory=ProcessReading)
    pairings: tuple[Pairing, ...] = ()
    host: HostSample | None = None
    events: tuple[StepEvent, ...] = ()
    ended: tuple[ProcessEnd, ...] = ()
    tails: dict[ProcessIdentity, TailReading] = field(default_factory=dict)
    sources: tuple[SourceState, ...] = ()


class Sampling:
    """Owns the threads. `on_news` is called, on any of them, whenever a source has said something."""

    def __init__(
        self,
        gpus: GpuSource,
        processes: ProcessSource,
        host: HostSource,
        steps: StepSource,
        *,
        clock: Clock,
        start_s: float,
        interval_s: float,
        on_news: Callable[[], None],
    ) -> None:
        self._clock = clock
        self._host = host
        self._on_news = on_news
        ends = Ends(clock)
        self._ends = ends
        self._driver_side = DriverSampling(gpus, clock)
        self._process_side = ProcessSampling(processes, self.gpus, ends)
        self._step_side = StepSampling(steps, self._facts, ends)
        self.driver: SourceLoop[tuple[GpuSample, ...]] = SourceLoop(
            "driver", self._driver_side.read, clock, Schedule(start_s, interval_s), on_landed=self._driver_landed
        )
        self.processes: SourceLoop[ProcessesSeen] = SourceLoop(
            "processes",
            self._process_side.read,
            clock,
            Schedule(start_s, interval_s),
            after=self.driver,
            patience_s=DRIVER_PATIENCE_S,
            on_landed=self._processes_landed,
        )
        self.steps: SourceLoop[tuple[ProcessFacts, ...]] = SourceLoop(
            "steps",
            self._step_side.read,
            clock,
            Schedule(start_s, interval_s),
            after=self.processes,
            on_landed=on_news,
        )
        self.host: SourceLoop[HostSample] = SourceLoop(
            "host", self._read_host, clock, Schedule(start_s, interval_s), on_landed=on_news
        )
        self._loops: tuple[SourceLoop[Any], ...] = (self.driver, self.processes, self.steps, self.host)
        self._facts_before: tuple[ProcessFacts, ...] = ()

    def start(self) -> None:
        """Start every source at once."""
        for loop in self._loops:
            loop.start()

    def stop(self) -> None:
        """Ask every source to end; waits for none."""
        for loop in self._loops:
            loop.stop()

    def watch(self, request: Watch) -> None:
        """What is shown now."""
        self._driver_side.watch = request
        self.driver.wake()

    def release(self, request: Release) -> None:
        """Let go of the GPUs or take them again."""
        self._driver_side.wants_release = request.released
        self.driver.wake()

    def tail(self, request: Tail) -> None:
        """Follow what a process writes, or stop."""
        self._step_side.ask(request)
        self.steps.wake()

    def driver_info(self) -> DriverInfo | None:
        """What the driver said of itself; `None` until it has answered."""
        return self._driver_side.info

    def gpus(self) -> tuple[GpuSample, ...]:
        """The newest reading of the GPUs; none before the first."""
        reading = self.driver.latest()
        return () if reading is None else reading.value

    def wait_for_tick(self, due_s: float, grace_s: float) -> None:
        """Wait until every source that can be expected to has read for the tick at `due_s`, at most `grace_s`."""
        deadline_s = self._clock.boot_s() + grace_s
        for loop in self._loops:
            now_s = self._clock.boot_s()
            if (loop.waiting_s(now_s) or 0.0) <= grace_s:
                loop.wait_landed(due_s, deadline_s - now_s)

    def take(self) -> Latest:
        """The newest of everything, for one snapshot."""
        now_s = self._clock.boot_s()
        seen = self.processes.latest()
        host = self.host.latest()
        return Latest(
            info=self._driver_side.info,
            gpus=self.gpus(),
            processes=ProcessReading() if seen is None else seen.value.reading,
            pairings=() if seen is None else seen.value.pairings,
            host=None if host is None else host.value,
            events=self._step_side.take_events(),
            ended=self._ends.take(),
            tails=self._step_side.tails(),
            sources=tuple(SourceState(loop.name, loop.timing(now_s), loop.failure) for loop in self._loops),
        )

    def _facts(self) -> tuple[ProcessFacts, ...]:
        seen = self.processes.latest()
        return () if seen is None else seen.value.reading.facts

    def _read_host(self) -> HostSample:
        # Only own working directories: those of others are not readable, and a run's disk matters to its owner.
        folders = dict.fromkeys(fact.cwd for fact in self._facts() if fact.cwd and fact.mine)
        return self._host.read((*tuple(folders)[:MAX_HOST_PATHS], "/dev/shm"))  # noqa: S108  shared memory, not a temporary file

    def _driver_landed(self) -> None:
        # In a steady state processes are read after the driver in the same tick. A driver that was slow to open answers
        # when the first look at processes is over: they are looked at again now, not one interval later.
        if self.driver.landings == 1 and self.processes.landings:
            self.processes.wake()
        self._on_news()

    def _processes_landed(self) -> None:
        # The same at the next stage: a process that is new here has its steps read now.
        facts, before = self._facts(), self._facts_before
        if len(facts) != len(before) or any(a is not b for a, b in zip(facts, before, strict=True)):
            self.steps.wake()
        self._facts_before = facts
        self._on_news()
