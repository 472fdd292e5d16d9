"""Step readings of simulated runs, beside those of real processes; implements `monitor.sources.StepSource`."""

from __future__ import annotations

from collections.abc import Callable

from monitor.clock import Clock
from monitor.simulation.log_text import (
    bar_line,
    evaluation_line,
    figures_at,
    figures_line,
    logged_step,
    tail_lines,
)
from monitor.simulation.run import PID_FLOOR, SimulatedRun
from monitor.simulation.timeline import Moment
from monitor.sources import StepSource, TailReading
from monitor.types.facts import ProcessFacts
from monitor.types.identity import ProcessIdentity
from monitor.types.steps import StepEvent, StepValue

_MAX_TAIL_LINES = 400
_LINE_BYTES = 90
_BAR_CONFIDENCE = 0.8
_FIGURES_CONFIDENCE = 0.7


class SimulatedSteps:
    """Reads simulated runs from their plans and hands real processes on."""

    def __init__(
        self,
        clock: Clock,
        elapsed_s: Callable[[], float],
        runs: Callable[[], tuple[SimulatedRun, ...]],
        inner: StepSource | None,
    ) -> None:
        self._clock = clock
        self._elapsed_s = elapsed_s
        self._runs = runs
        self._inner = inner
        self._bars: dict[int, tuple[str, int, int]] = {}
        self._logged: dict[int, int] = {}
        self._ended: set[int] = set()
        self._first_read = True

    def read(self, facts: tuple[ProcessFacts, ...]) -> tuple[StepEvent, ...]:
        """What is new since the last reading: at most one bar and one line of figures a run."""
        events: list[StepEvent] = []
        if self._inner is not None:
            real = tuple(fact for fact in facts if fact.process.pid < PID_FLOOR)
            events.extend(self._inner.read(real))
        at_s = self._elapsed_s()
        for run in self._runs():
            if run.plan.total and run.plan.readable:
                events.extend(self._read_run(run, at_s))
        self._first_read = False
        return tuple(events)

    def tail(self, process: ProcessIdentity, max_bytes: int) -> TailReading:
        """The end of what a process writes."""
        if process.pid < PID_FLOOR:
            if self._inner is None:
                return TailReading(refused="Only simulated processes can be read here.")
            return self._inner.tail(process, max_bytes)
        run = next((run for run in self._runs() if any(p.facts.process == process for p in run.processes)), None)
        if run is None:
            return TailReading(refused="There is no such process.")
        if not run.plan.readable:
            return TailReading(refused="Its output goes where you may not read. (simulated)")
        count = max(1, min(_MAX_TAIL_LINES, max_bytes // _LINE_BYTES))
        lines = tail_lines(run, self._elapsed_s(), count)
        return TailReading(path=_path(run, "stdout"), lines=lines)

    def _read_run(self, run: SimulatedRun, at_s: float) -> list[StepEvent]:
        key = run.main.pid
        moment = run.moment(at_s)
        if moment is None:
            if at_s < run.ends_s or key in self._ended:
                return []
            self._ended.add(key)
            return [] if self._first_read else [self._end(run)]
        if moment.phase == "starting":
            return []
        events: list[StepEvent] = []
        logged = logged_step(run, moment.step)
        if logged and self._logged.get(key) != logged:
            self._logged[key] = logged
            events.append(self._figures(run, logged, at_s))
        state = (moment.phase, moment.step, int(moment.part * 100) if moment.phase == "evaluating" else 0)
        if self._bars.get(key) != state and moment.phase != "stalled":
            self._bars[key] = state
            events.append(self._bar(run, moment, at_s))
        return events

    def _bar(self, run: SimulatedRun, moment: Moment, at_s: float) -> StepEvent:
        where = f"stderr → {_path(run, 'stderr')}"
        if moment.phase == "evaluating":
            return StepEvent(
                process=run.main.facts.process,
                source="tqdm",
                where=where,
                series="evaluation",
                phase="evaluating",
                seen_s=self._clock.wall_s(),
                confidence=_BAR_CONFIDENCE,
                evidence=evaluation_line(moment),
            )
        elapsed_s = at_s - run.plan.starts_s - run.plan.startup_s
        return StepEvent(
            process=run.main.facts.process,
            source="tqdm",
            where=where,
            series="bar",
            step=float(moment.step),
            total=float(run.plan.total),
            total_source="tqdm",
            elapsed_s=round(elapsed_s),
            seconds_per_step=round(elapsed_s / moment.step, 3) if moment.step else None,
            phase=moment.phase,
            seen_s=self._clock.wall_s(),
            confidence=_BAR_CONFIDENCE,
            evidence=bar_line(run, moment, elapsed_s),
        )

    def _figures(self, run: SimulatedRun, step: int, at_s: float) -> StepEvent:
        figures = figures_at(run, step)
        written_s = run.plan.starts_s + run.timeline.age_of_step(step)
        return StepEvent(
            process=run.main.facts.process,
            source="hf_dict",
            where=f"stdout → {_path(run, 'stdout')}",
            series="figures",
            epoch=figures["epoch"],
            event_s=self._clock.wall_s() - max(0.0, at_s - written_s),
            event_clock="file_time",
            seen_s=self._clock.wall_s(),
            values=tuple(StepValue(name=name, value=value) for name, value in figures.items()),
            confidence=_FIGURES_CONFIDENCE,
            evidence=figures_line(run, step),
        )

    def _end(self, run: SimulatedRun) -> StepEvent:
        return StepEvent(
            process=run.main.facts.process,
            source="hf_dict",
            where=f"stdout → {_path(run, 'stdout')}",
            series="figures",
            phase="ended",
            ended=run.how,
            seen_s=self._clock.wall_s(),
            confidence=_FIGURES_CONFIDENCE,
            evidence=tail_lines(run, run.ends_s, 1)[-1],
        )


def _path(run: SimulatedRun, role: str) -> str:
    files = run.main.facts.open_files
    return next((file.path for file in files if file.role == role), f"{run.plan.cwd}/{run.plan.name}.log")
