"""How fast one count rises by one clock: steady state and stalls apart, from a bounded history of points.

The rate is taken from counts over time: from a rate that tqdm prints never, from step times that a program prints only
when there is no clock at all (their sum stands in for one, and it is said). Old points are thinned, recent ones
stay dense, so that a run of weeks fits into the same memory as one of minutes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

MAX_POINTS = 256
WARM_UP_STEPS = 10
"""Of these first steps, those that took `WARM_UP_RATIO` of an ordinary one are left out: they compile, fill caches."""
WARM_UP_RATIO = 1.5
LEAST_STEPS = 1e-6
"""Fractions of an epoch count as steps here; anything smaller is rounding."""
SKIP_RATIO = 0.1
"""Steps that took less than this share of an ordinary one were skipped on resume, not made."""
SKIP_STEPS = 10
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
    longest_s: float
    """The longest time between two counts."""


@dataclass(frozen=True)
class _Interval:
    seconds: float
    steps: float
    stalled: bool
    first: float
    """The count that it begins with."""


class Pace:
    """Points of one count by one clock. `resolution_s` is how coarse that clock is."""

    def __init__(self, resolution_s: float) -> None:
        self.resolution_s = resolution_s
        self._points: list[tuple[float, float, bool, bool]] = []
        self._rate: Rate | None = None
        self._stale = False

    @property
    def last_s(self) -> float | None:
        """Time of the newest point."""
        return self._points[-1][0] if self._points else None

    def add(self, time_s: float, step: float, *, stalled: bool = False) -> None:
        """Take a count that is higher than the last.

        A clock that went back has begun anew: no time is claimed for that gap. `stalled` says that an evaluation or the
        like lay in between.
        """
        linked = bool(self._points) and time_s >= self._points[-1][0]
        self._points.append((time_s, step, linked, stalled))
        self._stale = True
        if len(self._points) > MAX_POINTS:
            self._thin()

    def amend(self, time_s: float, step: float) -> None:
        """Say the newest point better: more was counted in the same look."""
        _, _, linked, stalled = self._points.pop()
        if linked:
            time_s = max(time_s, self._points[-1][0])
        self._points.append((time_s, step, linked, stalled))
        self._stale = True

    def rate(self) -> Rate | None:
        """The rate, or nothing before two points with time between them."""
        if self._stale:
            self._rate = _rate(self._intervals(), self.resolution_s)
            self._stale = False
        return self._rate

    def _intervals(self) -> list[_Interval]:
        points = self._points
        return [
            _Interval(points[i][0] - points[i - 1][0], points[i][1] - points[i - 1][1], points[i][3], points[i - 1][1])
            for i in range(1, len(points))
            if points[i][2] and points[i][1] - points[i - 1][1] >= LEAST_STEPS
        ]

    def _thin(self) -> None:
        """Leave out every second point of the older half, but none beside a gap in time."""
        kept = [self._points[0]]
        half = len(self._points) // 2
        i = 1
        while i < half - 1:
            here, following = self._points[i], self._points[i + 1]
            if here[2] and following[2]:
                kept.append((following[0], following[1], True, here[3] or following[3]))
                i += 2
            else:
                kept.append(here)
                i += 1
        self._points = kept + self._points[i:]
        if len(self._points) > MAX_POINTS:  # nothing but gaps: the oldest are let go
            del self._points[: len(self._points) - MAX_POINTS]


def _median(values: list[tuple[float, float]]) -> float:
    """The median of (value, weight)."""
    ordered = sorted(values)
    half = sum(weight for _, weight in ordered) / 2
    for value, weight in ordered:
        half -= weight
        if half <= 0:
            return value
    return ordered[-1][0]


def _coarse(resolution_s: float, base: float) -> float:
    """How wrong a point's time may be: by one step (counts are taken when the clock turns), or by the clock's tick."""
    return min(resolution_s, max(base, 0.1))


def _is_stall(interval: _Interval, base: float, resolution_s: float) -> bool:
    ordinary = base * interval.steps
    allowed = max(0.1, 1.5 / math.sqrt(interval.steps))
    return interval.seconds > ordinary * (1 + allowed) + 2 * _coarse(resolution_s, base)


def _is_skip(interval: _Interval, base: float, resolution_s: float) -> bool:
    late_s = interval.seconds + _coarse(resolution_s, base)
    return interval.steps >= SKIP_STEPS and late_s < SKIP_RATIO * base * interval.steps


def _base(intervals: list[_Interval], resolution_s: float) -> float:
    """Seconds of an ordinary step: the mean over all that is no stall."""
    plain = [i for i in intervals if not i.stalled]
    if sum(i.steps for i in plain) < 0.1 * sum(i.steps for i in intervals):
        plain = intervals  # a stall in each of them: they are the ordinary thing here
    usual = _median([(i.steps, 1.0) for i in plain])
    # A jump over thousands of steps on resume must not outvote all others.
    base = _median([(i.seconds / i.steps, min(i.steps, 3 * usual)) for i in plain])
    for _ in range(5):
        kept = [i for i in plain if not _is_stall(i, base, resolution_s) and not _is_skip(i, base, resolution_s)]
        steps = sum(i.steps for i in kept)
        if not steps:
            break
        mean = sum(i.seconds for i in kept) / steps
        if abs(mean - base) <= 1e-6 * base:
            break
        base = mean
    return base


def _without_start(intervals: list[_Interval], base: float, resolution_s: float) -> list[_Interval]:
    """Leave out slow first steps, and stretches that were skipped."""
    start, began = 0, intervals[0].first
    while start < len(intervals) - 1:
        i = intervals[start]
        slow = i.seconds > WARM_UP_RATIO * base * i.steps + _coarse(resolution_s, base)
        if not slow or i.first - began >= WARM_UP_STEPS:
            break
        start += 1
    return [i for i in intervals[start:] if not _is_skip(i, base, resolution_s)]


def _recent(intervals: list[_Interval], steps: float, seconds: float) -> list[_Interval]:
    """The newest intervals: at least `STEADY_INTERVALS`, and no more than `steps` or `seconds` beyond those."""
    chosen: list[_Interval] = []
    for interval in reversed(intervals):
        if len(chosen) >= STEADY_INTERVALS and (steps <= 0 or seconds <= 0):
            break
        chosen.append(interval)
        steps -= interval.steps
        seconds -= interval.seconds
    return chosen


def _rate(intervals: list[_Interval], resolution_s: float) -> Rate | None:
    if not intervals or sum(i.seconds for i in intervals) <= 0:
        return None
    longest = max(i.seconds for i in intervals)
    base = _base(intervals, resolution_s)
    intervals = _without_start(intervals, base, resolution_s)
    if not intervals:
        return None
    seconds, steps = sum(i.seconds for i in intervals), sum(i.steps for i in intervals)
    if seconds <= 0:
        return None
    stalls_s, third_s = 0.0, base
    for part in _thirds(intervals, steps):  # each with its own ordinary step: to become slower is not to stall
        third_s = _base(part, resolution_s)
        stalls_s += sum(i.seconds for i in part) - third_s * sum(i.steps for i in part)
    steady_s = _base(_recent(intervals, steps / 3, STEADY_S), resolution_s)
    if steady_s <= 0:
        return None
    return Rate(
        step_seconds=steady_s,
        wall_seconds_per_step=max(steady_s * 0.5, (seconds / steps + third_s + stalls_s / steps) / 2),
        window_s=seconds,
        steps=steps,
        spread_ratio=_spread(intervals, steps),
        longest_s=longest,
    )


def _thirds(intervals: list[_Interval], steps: float) -> list[list[_Interval]]:
    """The intervals in three parts of as many steps, as far as they can be cut."""
    parts: list[list[_Interval]] = [[]]
    done = 0.0
    for interval in intervals:
        if done >= len(parts) * steps / 3 and parts[-1] and len(parts) < 3:
            parts.append([])
        parts[-1].append(interval)
        done += interval.steps
    return parts


def _spread(intervals: list[_Interval], steps: float) -> float | None:
    """How far the mean up to a cut was from the mean after it, over several cuts."""
    if len(intervals) < BACK_TEST_INTERVALS:
        return None
    total_s = sum(i.seconds for i in intervals)
    errors: list[float] = []
    cuts = iter(BACK_TEST_CUTS)
    cut = next(cuts)
    done_s = done = 0.0
    for interval in intervals[:-1]:
        done_s += interval.seconds
        done += interval.steps
        if done < cut * steps:
            continue
        if done_s > 0:
            errors.append(abs((total_s - done_s) / (steps - done) * done / done_s - 1))
        following = next(cuts, None)
        if following is None:
            break
        cut = following
    if not errors:
        return None
    errors.sort()
    at = 0.8 * (len(errors) - 1)
    low = int(at)
    high = min(low + 1, len(errors) - 1)
    return errors[low] + (errors[high] - errors[low]) * (at - low)
