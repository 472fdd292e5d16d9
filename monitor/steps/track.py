"""One counter over time: its segment since the last restart, by its own clock and by ours."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from monitor.steps.pace import Pace, Rate
from monitor.steps.trail import MOST_LIVE, Trail, TrailClock
from monitor.types.run import SourceReading
from monitor.types.steps import Phase, StepEvent

LAG_STEPS = 2
"""A count that is this little behind is another rank's line, no restart."""
ELAPSED_RESOLUTION_S = 1.0
STAMP_RESOLUTION_S = 0.001
WATCHED_RESOLUTION_S = 0.1
GOOD_CLOCK_RATIO = 0.01
"""A source's own clock is kept to while it can be wrong by no more than this."""
MAX_RATIO = 4096
"""Nobody accumulates more micro-batches than this."""
SAME_RATIO = 0.02
LATE_LINES = 2.0
"""A line may be buffered, and the next one is not due yet: a counter may lag by so many of its own rises."""
SILENT_S = 600.0
PRINTED_NOTE = "step time as the log prints it: pauses are not in it"


@dataclass(frozen=True)
class TrackRate:
    """The rate that is shown, and by whose clock."""

    step_seconds: float
    wall_seconds_per_step: float | None
    clock: Literal["source", "watched"]
    window_s: float | None
    steps: float | None
    spread_ratio: float | None
    note: str = ""
    trail: Trail | None = None
    """The points by the clock that is used."""


class Track:
    """The state of one counter."""

    def __init__(self, event: StepEvent, most_points: int = MOST_LIVE) -> None:
        self.source, self.where, self.unit = event.source, event.where, event.unit
        self._series, self._most_points, self._segment = event.series, most_points, 0
        self.process = event.process
        self.step = -1.0
        self.total: float | None = None
        self.total_source = ""
        self.epoch: float | None = None
        self.confidence = 0.0
        self.order = 0
        self.seen_s = event.seen_s
        self.changed_s: float | None = None
        self.changed_boot_s = 0.0
        self.note = ""
        self._begin()

    def _begin(self) -> None:
        self.moves = 0
        self.risen = 0.0
        """By how much the count rose last."""
        self._segment += 1
        self._own: Pace | None = None
        self._own_clock: TrailClock | None = None
        self._own_trail: Trail | None = None
        self._own_step = -1.0
        """The newest count that its own clock gave a time to."""
        self._printed = Pace(0.0)
        self._printed_s = 0.0
        self._printed_trail = self._new_trail("printed")
        self._watched = Pace(WATCHED_RESOLUTION_S)
        self._watched_trail = self._new_trail("watched")
        self._looked_s: float | None = None
        self._own_stalled: Phase | None = None
        self._watched_stalled: Phase | None = None

    def _new_trail(self, clock: TrailClock) -> Trail:
        pid = "" if self.process is None else f"{self.process.pid} {self.process.start_ticks}"
        key = f"{pid} {self.where} {self.source} {self._series} {self._segment}"
        return Trail(key, clock, self._most_points)

    @property
    def moved(self) -> bool:
        """Whether the count was seen to rise."""
        return self.moves > 1

    @property
    def through(self) -> bool:
        """Whether it is at its total."""
        return self.total is not None and self.step >= self.total

    def take(self, event: StepEvent, now_s: float, order: int) -> bool:
        """Take one reading; true when the count changed."""
        step = event.step
        if step is None:
            return False
        self.seen_s, self.confidence = event.seen_s, event.confidence
        if event.epoch is not None:
            self.epoch = event.epoch
        if step < self.step:
            if self.step - step <= LAG_STEPS < step and self.unit != "epoch":
                return False
            self.note = f"fell from {self.step:g} to {step:g} (restarted or resumed): only what came after is used"
            self._begin()
        elif step == self.step:
            self._amend_time(event, now_s)
            if self._own_step < step:
                self._clock_own(event, step)  # drawn again, and only then its clock had turned
            return False
        before = max(0.0, self.step) if self.moves else step
        self.step, self.order = step, order
        self.unit, self.total, self.total_source = event.unit, event.total, event.total_source
        self.moves += 1
        self.risen = step - before
        self._clock_own(event, step)
        self._clock_printed(event, step)
        self._clock_watched(event, step, now_s)
        return True

    def stalled(self, phase: Phase) -> None:
        """An evaluation or the like runs: the time up to the next count is no step's."""
        self._own_stalled = self._watched_stalled = phase

    def _clock_own(self, event: StepEvent, step: float) -> None:
        time_s: float | None = None
        clock: TrailClock = "text"
        if event.event_clock == "text" and event.event_s is not None:
            time_s = event.event_s
        elif event.elapsed_s is not None:
            time_s, clock = event.elapsed_s, "elapsed"
        if time_s is None or (self._own_clock == "text" and clock != "text"):
            return
        if self._own is None or self._own_trail is None or clock != self._own_clock:
            fine = clock == "text" or event.source != "tqdm"
            self._own = Pace(STAMP_RESOLUTION_S if fine else ELAPSED_RESOLUTION_S)
            self._own_clock, self._own_trail = clock, self._new_trail(clock)
        if clock == "text" and time_s == int(time_s):
            self._own.resolution_s = max(self._own.resolution_s, 1.0)
        self._own.add(time_s, step, stalled=self._own_stalled is not None)
        self._own_trail.add(time_s, step, self._own.resolution_s, self._own_stalled)
        self._own_step, self._own_stalled = step, None

    def _clock_printed(self, event: StepEvent, step: float) -> None:
        if event.seconds_per_step is not None and event.source != "tqdm":
            self._printed_s += event.seconds_per_step * self.risen
            self._printed.add(self._printed_s, step)
            self._printed_trail.add(self._printed_s, step, 0.0, None)

    def _clock_watched(self, event: StepEvent, step: float, now_s: float) -> None:
        time_s = now_s
        self.changed_s = event.seen_s
        if event.event_s is not None:
            self.changed_s = min(event.event_s, event.seen_s)
            if event.event_clock == "file_time":
                time_s = now_s - max(0.0, event.seen_s - event.event_s)
        self.changed_boot_s = now_s - max(0.0, event.seen_s - self.changed_s)
        last_s = self._watched.last_s
        if self._looked_s == event.seen_s:
            self._watched.amend(time_s, step)
            self._watched_trail.amend(self._watched.last_s or time_s, step)
            return
        self._looked_s = event.seen_s
        time_s = time_s if last_s is None else max(time_s, last_s)
        self._watched.add(time_s, step, stalled=self._watched_stalled is not None)
        self._watched_trail.add(time_s, step, WATCHED_RESOLUTION_S, self._watched_stalled)
        self._watched_stalled = None

    def _amend_time(self, event: StepEvent, now_s: float) -> None:
        """The same count again in the same look, with the time of the file: it was written then, not when we looked."""
        if event.event_clock == "file_time" and event.event_s is not None and self._looked_s == event.seen_s:
            self._clock_watched(event, self.step, now_s)

    def rate(self) -> TrackRate | None:
        """By the source's own clock where it is fine enough, else by ours, else as the log prints it."""
        own = None if self._own is None else self._own.rate()
        watched = self._watched.rate()
        if own is not None and self._own is not None:
            own_error = min(self._own.resolution_s, max(own.step_seconds, 0.1)) / max(own.window_s, 1e-9)
            if watched is None or own_error <= GOOD_CLOCK_RATIO or own_error <= _watched_error(watched):
                shown = _shown(own, "source", self._own_trail)
                if self._own_clock == "elapsed" and watched is not None and watched.window_s >= 0.5 * own.window_s:
                    # A bar's clock stands still between two bars; ours does not.
                    wall_s = max(own.wall_seconds_per_step, watched.wall_seconds_per_step)
                    return replace(shown, wall_seconds_per_step=wall_s, trail=self._watched_trail)
                return shown
        if watched is not None:
            return _shown(watched, "watched", self._watched_trail)
        printed = self._printed.rate()
        if printed is not None and self.moves > 2:
            spread = printed.spread_ratio
            each_s, trail = printed.step_seconds, self._printed_trail
            return TrackRate(each_s, None, "source", None, printed.steps, spread, PRINTED_NOTE, trail)
        return None

    def longest_s(self) -> float:
        """The longest time between two counts, by whichever clock."""
        return max(self._watched.longest_s, 0.0 if self._own is None else self._own.longest_s)

    def silent_for(self, boot_s: float) -> bool:
        """Whether nothing was counted for so long that another counter is to be preferred."""
        return boot_s - self.changed_boot_s > max(SILENT_S, 5 * self.longest_s())

    def shown(self, *, used: bool, note: str) -> SourceReading:
        """This counter for the steps tab."""
        return SourceReading(
            source=self.source,
            where=self.where,
            step=self.step,
            total=self.total,
            seen_s=self.seen_s,
            confidence=self.confidence,
            used=used,
            note=note,
        )

    def total_for(self, chosen: Track) -> float | None:
        """What this counter's total is in counts of another one that goes along with it; `None` where it does not.

        Both count the same steps, this one perhaps late by what is written at a time; or it counts micro-batches, a
        whole number of them for each step of the other.
        """
        if self.total is None or self.step <= 0 or chosen.step <= 0 or "epoch" in (self.unit, chosen.unit):
            return None
        late = self._late_for(chosen)
        mixed = (self.unit == "micro_batch") != (chosen.unit == "micro_batch")
        if not mixed and abs(self.step - chosen.step) <= late:
            return self.total if self.total >= chosen.step else None
        ratio = round(self.step / chosen.step)
        if mixed and self.unit == "micro_batch" and ratio >= 1 and abs(self.step - ratio * chosen.step) <= ratio * late:
            return float(self.total // ratio)
        return None

    def _late_for(self, chosen: Track) -> float:
        """By how many steps it may differ from another counter and still count the same."""
        return max(LAG_STEPS, SAME_RATIO * chosen.step, LATE_LINES * self.risen)

    def beside(self, chosen: Track) -> str:
        """How this counter differs from the one that is used, as a sentence; empty when it does not."""
        if "epoch" in (self.unit, chosen.unit) or chosen.step <= 0 or self.step <= 0:
            return "" if self.unit == chosen.unit else f"counts {self.unit.replace('_', ' ')}s"
        for small, large in ((chosen, self), (self, chosen)):
            if large.step > MAX_RATIO * small.step:
                continue
            ratio = round(large.step / small.step)
            same = small.total is not None and large.total == ratio * small.total
            told = (small.unit, large.unit) == ("optimizer_step", "micro_batch")
            if ratio >= 2 and abs(large.step - ratio * small.step) <= ratio and (same or told):
                return f"{ratio} counts of {large.source} for one of {small.source}: gradient accumulation"
        if abs(self.step - chosen.step) > self._late_for(chosen):
            return f"says {self.step:g}, the one used says {chosen.step:g}"
        return ""


def _watched_error(rate: Rate) -> float:
    return max(0.1, rate.step_seconds) / max(rate.window_s, 1e-9)


def _shown(rate: Rate, clock: Literal["source", "watched"], trail: Trail | None) -> TrackRate:
    return TrackRate(
        rate.step_seconds,
        rate.wall_seconds_per_step,
        clock,
        rate.window_s,
        rate.steps,
        rate.spread_ratio,
        trail=trail,
    )
