"""How fast one count rises by one clock: steady state and stalls apart, from a bounded history of points.

The rate is taken from counts over time: from a rate that tqdm prints never, from step times that a program prints only
when there is no clock at all (their sum stands in for one, and it is said). Old points are thinned, recent ones
stay dense, so that a run of weeks fits into the same memory as one of minutes.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate
from operator import attrgetter
from typing import NamedTuple

MAX_INTERVALS = 160
JUDGED_PARTS = 40
"""The rate is found anew when the history has grown by one part in this many, in points and (of the last
`STEADY_S`) in time."""
GOLDEN = 0.6180339887
"""Multiples of it are spread evenly between whole numbers."""
WARM_UP_STEPS = 10
"""Of these first steps, those that took `WARM_UP_RATIO` of an ordinary one are left out: they compile, fill caches."""
WARM_UP_RATIO = 1.5
LEAST_STEPS = 1e-6
"""Fractions of an epoch count as steps here; anything smaller is rounding."""
SKIP_RATIO = 0.1
"""Steps that took less than this share of an ordinary one were skipped on resume, not made."""
SKIP_STEPS = 10
JUMP_RATIO, JUMP_BEFORE = 0.5, 3
"""A first interval jumped when its steps took less than half of those in each of the next three."""
NEAR_RATIO = 1.25
"""While the mean is looked for it rarely moves by more; what is ordinary all that way needs no second look."""
STEADY_S = 600.0
"""The steady rate is that of the last ten minutes, or of the last third where that is shorter."""
STEADY_INTERVALS = 32
BACK_TEST_CUTS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
BACK_TEST_INTERVALS = 8


@dataclass(frozen=True)
class Rate:
    """What the points amount to."""

    step_seconds: float
    """An ordinary step."""
    wall_seconds_per_step: float
    """Pauses in. Halfway between the mean of all steps seen and that of the last third with each step's share of all
    pauses: the first is right when nothing changes, the second when the run became slower or faster. Neither is when it
    is not known which; measured on recorded runs the middle is nearer than either."""
    window_s: float
    steps: float
    """How long and how many steps were looked at."""
    spread_ratio: float | None
    """80 % quantile of the relative errors that the plain mean would have made on this history."""


class _Interval(NamedTuple):
    seconds: float
    steps: float
    stalled: bool
    first: float
    """The count that it begins with."""
    allowed: float
    """How many times an ordinary stretch of as many steps it may take before it is called a stall."""
    each_s: float
    """Seconds a step."""
    least_s: float
    """With an ordinary step of this or more it is no stall, however coarse the clock."""


_EACH_S = attrgetter("each_s")


class Pace:
    """Points of one count by one clock. `resolution_s` is how coarse that clock is."""

    def __init__(self, resolution_s: float) -> None:
        self.resolution_s = resolution_s
        self.longest_s = 0.0
        """The longest time between two counts."""
        self._intervals: list[_Interval] = []
        self._last: tuple[float, float] | None = None
        self._before: tuple[float, float] | None = None
        self._closed = self._stalled = self._marked = False
        self._rate: Rate | None = None
        self._judged: tuple[_Interval, ...] | None = None
        self._wait = 0
        self._from_s = 0.0
        self._due_s = -math.inf

    @property
    def last_s(self) -> float | None:
        """Time of the newest point."""
        return None if self._last is None else self._last[0]

    def add(self, time_s: float, step: float, *, stalled: bool = False) -> None:
        """Take a count that is higher than the last.

        A clock that went back has begun anew: no time is claimed for that gap. `stalled` says that an evaluation or the
        like lay in between.
        """
        before, self._closed, self._stalled = self._last, False, stalled
        if before is None or time_s < before[0]:
            self._from_s, self._due_s = time_s, -math.inf
        else:
            seconds, steps = time_s - before[0], step - before[1]
            self.longest_s = max(self.longest_s, seconds)
            if steps >= LEAST_STEPS:
                self._intervals.append(_interval(seconds, steps, stalled, before[1]))
                self._closed = True
        self._before, self._last = before, (time_s, step)
        if len(self._intervals) > MAX_INTERVALS:
            self._thin()
        self._wait -= 1
        self._marked = self._wait <= 0 and time_s >= self._due_s
        if self._marked:
            # Not at each point: a long history hardly changes. Chosen by points alone, whenever it is asked for.
            self._judged = tuple(self._intervals)
            self._wait = len(self._intervals) // JUDGED_PARTS
            # Between half of it and all, by the count: not all runs of a machine in one and the same tick.
            grown_s = min(time_s - self._from_s, STEADY_S) / JUDGED_PARTS * (1 - step * GOLDEN % 0.5)
            self._due_s = time_s + grown_s if self._wait else -math.inf

    def amend(self, time_s: float, step: float) -> None:
        """Say the newest point better: more was counted in the same look."""
        if self._closed:
            self._intervals.pop()
        self._last = self._before
        self._wait = 0 if self._marked else self._wait + 1
        self._due_s = -math.inf if self._marked else self._due_s
        self.add(time_s if self._last is None else max(time_s, self._last[0]), step, stalled=self._stalled)

    def rate(self) -> Rate | None:
        """The rate, or nothing before two points with time between them."""
        if self._judged is not None:
            self._rate = _rate(list(self._judged), self.resolution_s)
            self._judged = None
        return self._rate

    def _thin(self) -> None:
        """Join the older half by twos."""
        half = len(self._intervals) // 4 * 2
        older = self._intervals[:half]
        joined = [
            _interval(a.seconds + b.seconds, a.steps + b.steps, a.stalled or b.stalled, a.first)
            for a, b in zip(older[::2], older[1::2], strict=True)
        ]
        self._intervals = joined + self._intervals[half:]


def _interval(seconds: float, steps: float, stalled: bool, first: float) -> _Interval:
    allowed = 1 + max(0.1, 1.5 / math.sqrt(steps))
    return _Interval(seconds, steps, stalled, first, allowed, seconds / steps, seconds / (steps * allowed))


def _median_s(intervals: list[_Interval], most_steps: float) -> float:
    """The median of the seconds a step; an interval weighs what its steps are, up to a limit."""
    ordered = sorted(intervals, key=_EACH_S)
    weights = [i.steps if i.steps < most_steps else most_steps for i in ordered]
    half = sum(weights) / 2
    for interval, weight in zip(ordered, weights, strict=True):
        half -= weight
        if half <= 0:
            return interval.each_s
    return ordered[-1].each_s


def _coarse(resolution_s: float, base: float) -> float:
    """How wrong a point's time may be: by one step (counts are taken when the clock turns), or by the clock's tick."""
    return min(resolution_s, max(base, 0.1))


def _base(intervals: list[_Interval], resolution_s: float) -> float:
    """Seconds of an ordinary step: the mean over all that is neither a stall nor a skip.

    The hot spot of a tick: only those intervals are looked at one by one that might be either.
    """
    plain = [i for i in intervals if not i.stalled]
    if len(plain) < len(intervals) and sum([i.steps for i in plain]) < 0.1 * sum([i.steps for i in intervals]):
        plain = intervals  # a stall in each of them: they are the ordinary thing here
    usual = sorted([i.steps for i in plain])[(len(plain) - 1) // 2]
    # A jump over thousands of steps on resume must not outvote all others.
    base = _median_s(plain, 3 * usual)
    low = high = -1.0
    doubtful: list[_Interval] = []
    sure_s = sure_steps = 0.0
    for _ in range(5):
        if not low <= base <= high:
            low, high = base / NEAR_RATIO, base * NEAR_RATIO
            skip_s = SKIP_RATIO * high
            doubtful = [i for i in plain if i.least_s > low or i.each_s < skip_s]
            sure = [i for i in plain if i.least_s <= low and i.each_s >= skip_s] if doubtful else plain
            sure_s, sure_steps = sum([i.seconds for i in sure]), sum([i.steps for i in sure])
        more_s, more_steps = _ordinary(doubtful, base, resolution_s)
        if not sure_steps + more_steps:
            break
        mean = (sure_s + more_s) / (sure_steps + more_steps)
        if abs(mean - base) <= 1e-4 * base:
            return mean
        base = mean
    return base


def _ordinary(intervals: list[_Interval], base: float, resolution_s: float) -> tuple[float, float]:
    """Seconds and steps of all that is neither a stall nor a skip."""
    coarse_s = _coarse(resolution_s, base)
    sum_s = sum_steps = 0.0
    for seconds, steps, _, _, allowed, _, _ in intervals:
        ordinary_s = base * steps
        if seconds > ordinary_s * allowed + 2 * coarse_s:
            continue
        if steps >= SKIP_STEPS and seconds + coarse_s < SKIP_RATIO * ordinary_s:
            continue
        sum_s += seconds
        sum_steps += steps
    return sum_s, sum_steps


def _without_jump(intervals: list[_Interval]) -> list[_Interval]:
    """Leave out a first interval that is much faster than what follows: a count that begins at a checkpoint's step.

    What was skipped stands in one interval with the first steps that were made, so that it is not fast enough to be
    told by its speed alone; and of few intervals it would outweigh the others.
    """
    first, following = intervals[0], intervals[1 : 1 + JUMP_BEFORE]
    if first.steps < SKIP_STEPS or len(following) < 2:
        return intervals
    jumped = first.each_s < JUMP_RATIO * min([i.each_s for i in following])
    return intervals[1:] if jumped else intervals


def _without_start(intervals: list[_Interval], base: float, resolution_s: float) -> list[_Interval]:
    """Leave out slow first steps, and stretches that were skipped."""
    start, began = 0, intervals[0].first
    while start < len(intervals) - 1:
        i = intervals[start]
        slow = i.seconds > WARM_UP_RATIO * base * i.steps + _coarse(resolution_s, base)
        if not slow or i.first - began >= WARM_UP_STEPS:
            break
        start += 1
    coarse_s, skip_s = _coarse(resolution_s, base), SKIP_RATIO * base
    return [i for i in intervals[start:] if i.steps < SKIP_STEPS or i.seconds + coarse_s >= skip_s * i.steps]


def _recent(intervals: list[_Interval], steps: float, seconds: float) -> list[_Interval]:
    """The newest intervals: at least `STEADY_INTERVALS`, and no more than `steps` or `seconds` beyond those."""
    newest = intervals[-STEADY_INTERVALS:]
    steps -= sum([i.steps for i in newest])
    seconds -= sum([i.seconds for i in newest])
    start = len(intervals) - len(newest)
    while start > 0 and steps > 0 and seconds > 0:
        start -= 1
        steps -= intervals[start].steps
        seconds -= intervals[start].seconds
    return intervals[start:]


def _rate(intervals: list[_Interval], resolution_s: float) -> Rate | None:
    if not intervals or sum([i.seconds for i in intervals]) <= 0:
        return None
    intervals = _without_jump(intervals)
    base = _base(intervals, resolution_s)
    intervals = _without_start(intervals, base, resolution_s)
    if not intervals:
        return None
    seconds, steps = sum([i.seconds for i in intervals]), sum([i.steps for i in intervals])
    if seconds <= 0:
        return None
    stalls_s, third_s = 0.0, base
    for part in _thirds(intervals, steps):  # each with its own ordinary step: to become slower is not to stall
        third_s = _base(part, resolution_s)
        stalls_s += sum([i.seconds for i in part]) - third_s * sum([i.steps for i in part])
    steady_s = _base(_recent(intervals, steps / 3, STEADY_S), resolution_s)
    if steady_s <= 0:
        return None
    return Rate(
        step_seconds=steady_s,
        wall_seconds_per_step=max(steady_s * 0.5, (seconds / steps + third_s + stalls_s / steps) / 2),
        window_s=seconds,
        steps=steps,
        spread_ratio=_spread(intervals, steps),
    )


def _thirds(intervals: list[_Interval], steps: float) -> list[list[_Interval]]:
    """The intervals in three parts of as many steps, as far as they can be cut."""
    done = list(accumulate([i.steps for i in intervals]))
    first = bisect_left(done, steps / 3) + 1
    second = max(first, bisect_left(done, 2 * steps / 3)) + 1
    return [part for part in (intervals[:first], intervals[first:second], intervals[second:]) if part]


def _spread(intervals: list[_Interval], steps: float) -> float | None:
    """How far the mean up to a cut was from the mean after it, over several cuts."""
    if len(intervals) < BACK_TEST_INTERVALS:
        return None
    clock_s = list(accumulate([i.seconds for i in intervals]))
    done = list(accumulate([i.steps for i in intervals]))
    total_s = sum([i.seconds for i in intervals])
    errors: list[float] = []
    at = -1
    for cut in BACK_TEST_CUTS:
        at = max(at + 1, bisect_left(done, cut * steps))
        if at >= len(intervals) - 1:
            break
        if clock_s[at] > 0:
            errors.append(abs((total_s - clock_s[at]) / (steps - done[at]) * done[at] / clock_s[at] - 1))
    if not errors:
        return None
    errors.sort()
    place = 0.8 * (len(errors) - 1)
    low = int(place)
    high = min(low + 1, len(errors) - 1)
    return errors[low] + (errors[high] - errors[low]) * (place - low)
