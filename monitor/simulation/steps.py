"""Step readings of simulated runs, beside those of real processes; implements `monitor.sources.StepSource`.

The runs' text is simulated, the reading is not: it goes through the same formats as text from a file.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec

from monitor.clock import Clock
from monitor.simulation.log_text import bars_at, figures_line, full_bar, last_words, logged_steps, tail_lines
from monitor.simulation.run import PID_FLOOR, SimulatedRun
from monitor.sources import StepSource, TailReading
from monitor.steps.files import FIRST_EVENTS, LATER_EVENTS
from monitor.steps.formats.line_format import Origin
from monitor.steps.formats.registry import TextReader
from monitor.steps.lines import Line
from monitor.steps.thinning import thin
from monitor.types.facts import ProcessFacts
from monitor.types.identity import ProcessIdentity
from monitor.types.steps import StepEvent

_MAX_TAIL_LINES = 400
_LINE_BYTES = 90
_MAX_BARS = 40
"""States of the bar that are read in one look at most; so many the end of a file holds when it is first looked at."""
_BAR_EVERY_S = 0.1
"""tqdm's own least interval."""
_LAST_MOMENT_S = 0.001
_FIRST_FIGURES = 8
_LATER_FIGURES = 6


class _Text:
    """One file of a run as it is followed."""

    def __init__(self, run: SimulatedRun, role: str) -> None:
        self._reader = TextReader()
        self._process = run.main.facts.process
        self.where = f"{role} → {_path(run, role)}"
        self._row = 0

    def read(self, lines: list[str], now_s: float, written_s: float) -> list[StepEvent]:
        """Events of some new lines; the last was written at `written_s` (wall clock), which is the file's time."""
        events: list[StepEvent] = []
        for text in lines:
            self._row += 1
            events.extend(self._reader.read(Line(text, self._row), Origin(self._process, self.where, now_s)))
        if events and events[-1].step is not None and events[-1].event_s is None:
            events[-1] = msgspec.structs.replace(events[-1], event_s=min(now_s, written_s), event_clock="file_time")
        return events


class _Followed:
    """What has been read of one run so far."""

    def __init__(self, run: SimulatedRun) -> None:
        self.run = run
        self.out = _Text(run, "stdout")
        self.err = _Text(run, "stderr")
        self.step: int | None = None
        self.bars: tuple[str, ...] = ()
        self.looked_s: float | None = None
        self.ended = False


class SimulatedSteps:
    """Reads simulated runs from what their plans make them write, and hands real processes on."""

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
        self._followed: dict[ProcessIdentity, _Followed] = {}

    def read(self, facts: tuple[ProcessFacts, ...]) -> tuple[StepEvent, ...]:
        """What is new since the last reading; at first what the ends of the files hold."""
        events: list[StepEvent] = []
        if self._inner is not None:
            real = tuple(fact for fact in facts if fact.process.pid < PID_FLOOR)
            events.extend(self._inner.read(real))
        at_s = self._elapsed_s()
        for run in self._runs():
            if run.plan.total and run.plan.readable:
                events.extend(self._read_run(run, at_s))
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
        return TailReading(path=f"stdout → {_path(run, 'stdout')}", lines=lines)

    def _read_run(self, run: SimulatedRun, at_s: float) -> list[StepEvent]:
        process = run.main.facts.process
        followed = self._followed.get(process)
        moment = run.moment(at_s)
        if moment is None:
            return [] if followed is None or followed.ended else self._read_end(followed)
        if followed is None:
            followed = self._followed[process] = _Followed(run)
        if moment.phase == "starting":
            return []
        return self._read_figures(followed, moment.step, at_s) + self._read_bar(followed, moment.step, at_s)

    def _read_figures(self, followed: _Followed, step: int, at_s: float) -> list[StepEvent]:
        run = followed.run
        before = followed.step
        followed.step = step
        if before is None:
            new = logged_steps(run, 0, step, _FIRST_FIGURES)
        else:
            new = logged_steps(run, before, step, _LATER_FIGURES)
        if not new:
            return []
        lines = [figures_line(run, logged) for logged in new]
        return followed.out.read(lines, self._clock.wall_s(), self._written_s(run, new[-1], at_s))

    def _read_bar(self, followed: _Followed, step: int, at_s: float) -> list[StepEvent]:
        """The states of the bar since the last look. All of them: its clock is read where it turns to a new second."""
        run = followed.run
        every_s = max(_BAR_EVERY_S, run.plan.step_s)
        first = followed.looked_s is None
        since_s = max(run.plan.starts_s, at_s - _MAX_BARS * every_s if followed.looked_s is None else followed.looked_s)
        count = max(1, min(_MAX_BARS, math.ceil((at_s - since_s) / every_s)))
        followed.looked_s = at_s
        lines: list[str] = []
        for place in range(count - 1, -1, -1):
            bars = bars_at(run, at_s - place * every_s)
            if bars != followed.bars:
                followed.bars = bars
                lines.extend(bars)
        events = followed.err.read(lines, self._clock.wall_s(), self._written_s(run, step, at_s))
        return thin(events, FIRST_EVENTS if first else LATER_EVENTS)

    def _read_end(self, followed: _Followed) -> list[StepEvent]:
        followed.ended = True
        run, now_s = followed.run, self._clock.wall_s()
        bars = bars_at(run, run.ends_s - _LAST_MOMENT_S) if run.how != "finished" else (full_bar(run),)
        events = followed.err.read(list(bars), now_s, now_s)
        return events + followed.out.read(list(last_words(run)), now_s, now_s)

    def _written_s(self, run: SimulatedRun, step: int, at_s: float) -> float:
        """Wall clock at which a step was done."""
        done_s = run.plan.starts_s + run.timeline.age_of_step(step)
        return self._clock.wall_s() - max(0.0, at_s - done_s)


def _path(run: SimulatedRun, role: str) -> str:
    files = run.main.facts.open_files
    cwd = f"{run.main.facts.cwd}/"
    return next((file.path.removeprefix(cwd) for file in files if file.role == role), _log_name(run))


def _log_name(run: SimulatedRun) -> str:
    return f"logs/{run.plan.name.replace(' ', '-')}.log"
