"""When one run will finish: kept up to date point by point, in bounded memory, without a clock or chance of its own."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from advisor.finish.blend import Blend, blend
from advisor.finish.history import MOST, History
from advisor.finish.plain_mean import EARLY_RATIO, MIN_WATCHED_S, Remaining, too_early
from advisor.finish.plan import Plan
from advisor.finish.spread import SKEW, half_width, within
from advisor.finish.stalls import Parted, parted
from advisor.finish.wording import change_words, included_words
from monitor.types.record import Range
from monitor.types.steps import ProgressPoint

MOST_DOWN_RATIO = 0.9
JUDGED_PARTS = 40
"""The answer is found anew when the history has grown by one part in this many, or something notable happened."""


@dataclass(frozen=True)
class _Kept:
    """An answer, and what it was given for."""

    plan: Plan
    notable: int
    added: int
    step: float
    answer: Remaining

    def stretches_new(self, history: History) -> int:
        return history.added - self.added

    def carried_on(self, step: float) -> Remaining:
        total, span = self.plan.total, self.answer.seconds
        if span is None or total is None or step == self.step or total <= self.step:
            return self.answer
        share = max(0.0, (total - step) / (total - self.step))
        moved = Range(low=span.low * share, likely=span.likely * share, high=span.high * share)
        return replace(self.answer, seconds=moved)


class FinishEstimator:
    """One for each run. The same points in the same order give the same answer."""

    def __init__(self) -> None:
        self._history = History()
        self._key: tuple[str, str] | None = None
        self._clock = "watched"
        self._kept: _Kept | None = None

    @property
    def has_points(self) -> bool:
        """Whether there is anything to judge from."""
        return self._history.step is not None

    @property
    def size(self) -> int:
        """Stretches in memory: bounded."""
        return len(self._history.stretches)

    def take(self, key: str, unit: str, points: Iterable[ProgressPoint]) -> None:
        """Take the points that are new.

        Another key is a resumed run where time went on and steps did not, else another counter: all begins anew.
        """
        fresh = list(points)
        if self._key != (key, unit):
            if self._key is not None and fresh:
                self._turn(unit, fresh[0])
            self._key = (key, unit)
        for point in fresh:
            if not self._seen(point):
                self.add(point)

    def add(self, point: ProgressPoint) -> None:
        """Take the next point of the counter. A step that went back begins a new segment."""
        self._clock = point.clock
        self._history.add(point)

    def estimate(self, plan: Plan) -> Remaining:
        """The time left, counted from the last point; or why it is not known.

        While nothing new is seen, the answer before is carried on by the steps made since: a long history hardly
        changes.
        """
        history, kept = self._history, self._kept
        asked = replace(plan, limit_s=None)
        step = history.step or 0.0
        same = kept is not None and kept.plan == asked and kept.notable == history.notable
        if kept is None or not same or kept.stretches_new(history) > len(history.stretches) // JUDGED_PARTS:
            kept = self._kept = _Kept(asked, history.notable, history.added, step, self._estimate(asked))
        return _with_limit(kept.carried_on(step), plan.limit_s)

    def _seen(self, point: ProgressPoint) -> bool:
        step, last_s = self._history.step, self._history.last_s
        return step is not None and last_s is not None and point.step <= step and point.time_s <= last_s

    def _turn(self, unit: str, first: ProgressPoint) -> None:
        history = self._history
        known = self._key is not None and self._key[1] == unit
        if history.step is not None and history.last_s is not None:
            known = known and first.time_s >= history.last_s and first.step <= history.step
        if known:
            history.begin()
        else:
            self._history = History()
        self._kept = None

    def _estimate(self, plan: Plan) -> Remaining:
        over = _over(plan, self._history.step)
        if over is not None:
            return over
        history = self._history
        step, total = history.step, plan.total
        if step is None or total is None or not total <= MOST:
            return Remaining(unknown_because="the total number of steps is not known")
        steps = sum([s.steps for s in history.stretches])
        seconds = sum([s.seconds for s in history.stretches])
        early = too_early(steps, seconds, own_clock=self._clock != "watched", stretches=len(history.stretches))
        if early:
            return Remaining(unknown_because=early)
        parts = parted(history.stretches, total, history.resolution_s)
        if parts is None:
            return Remaining(unknown_because="no step rate yet")
        blended = blend(parts, total, plan.known_periods)
        if not math.isfinite(blended.likely_s) or blended.likely_s <= 0:
            return Remaining(unknown_because="no step rate yet")
        return self._answer(plan, parts, blended, total - step, seconds)

    def _answer(self, plan: Plan, parts: Parted, blended: Blend, left: float, seconds: float) -> Remaining:
        likely = blended.likely_s
        half = half_width(parts, blended, left, self._history.resolution_s)
        if self._clock == "watched" and seconds < MIN_WATCHED_S:  # no pause can have been seen yet
            half = max(half, EARLY_RATIO)
        span = Range(low=likely * (1 - min(MOST_DOWN_RATIO, half)), likely=likely, high=likely * (1 + SKEW * half))
        clock = "watching" if self._clock == "watched" else "its own clock"
        basis = f"{blended.now.steps:g} steps by {clock}, pauses apart"
        if plan.max_time_s is not None:
            own_s = plan.max_time_s - seconds
            first = self._history.starts[0] if self._history.starts else 0.0
            if 0 < own_s < span.likely and first <= 1:
                edge_s = 0.02 * own_s
                span = Range(low=own_s - edge_s, likely=own_s, high=own_s + edge_s)
                basis = "its own time limit comes before its last step"
        end = parts.stretches[-1].last + left
        return Remaining(
            seconds=span,
            basis=basis,
            at_most=plan.early_stopping,
            includes=included_words(blended.now, parts.stretches[-1].last, end),
            changed_because=change_words(parts, blended.now, tuple(self._history.starts)),
        )


def _with_limit(left: Remaining, limit_s: float | None) -> Remaining:
    if limit_s is None or left.seconds is None:
        return left
    return replace(left, within_limit_ratio=within(left.seconds, limit_s))


def _over(plan: Plan, step: float | None) -> Remaining | None:
    """The answer where nothing needs to be estimated."""
    none_left = Range(low=0.0, likely=0.0, high=0.0)
    if plan.ended == "finished":
        return Remaining(seconds=none_left, basis="finished")
    if plan.ended is not None:
        return Remaining(unknown_because="the run has ended")
    if step is None:
        return Remaining(unknown_because="no step counter has been read")
    if plan.total is None:
        return Remaining(unknown_because=plan.total_source or "the total number of steps is not known")
    if plan.total - step <= 0:
        return Remaining(seconds=none_left, basis="all steps are done")
    return None
