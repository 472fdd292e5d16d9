"""The rate of `monitor.steps.pace` in its plainest form, slow and easy to check: what the quick one is held to."""

from __future__ import annotations

import math

from monitor.steps.pace import (
    BACK_TEST_CUTS,
    BACK_TEST_INTERVALS,
    JUMP_BEFORE,
    JUMP_RATIO,
    SKIP_RATIO,
    SKIP_STEPS,
    STEADY_INTERVALS,
    STEADY_S,
    WARM_UP_RATIO,
    WARM_UP_STEPS,
)

Interval = tuple[float, float, bool, float]
"""Seconds, steps, whether something else ran in between, and the count that it begins with."""
Figures = tuple[float, float, float, float, float | None]
"""Seconds of an ordinary step, of one with pauses, seconds and steps looked at, spread."""


def plain_rate(intervals: list[Interval], resolution_s: float) -> Figures | None:
    """The figures of `Rate`, in its order."""
    if not intervals or _seconds(intervals) <= 0:
        return None
    following = intervals[1 : 1 + JUMP_BEFORE]
    if intervals[0][1] >= SKIP_STEPS and len(following) >= 2:
        first, slower = intervals[0], min(seconds / steps for seconds, steps, _, _ in following)
        if first[0] / first[1] < JUMP_RATIO * slower:
            intervals = intervals[1:]
    base = _base(intervals, resolution_s)
    coarse_s = min(resolution_s, max(base, 0.1))
    began = intervals[0][3]
    while len(intervals) > 1:
        seconds, steps, _, at = intervals[0]
        if seconds <= WARM_UP_RATIO * base * steps + coarse_s or at - began >= WARM_UP_STEPS:
            break
        intervals = intervals[1:]
    intervals = [one for one in intervals if not _skipped(one, base, coarse_s)]
    if not intervals or _seconds(intervals) <= 0:
        return None
    seconds, steps = _seconds(intervals), _steps(intervals)
    parts: list[list[Interval]] = [[]]
    done = 0.0
    for one in intervals:
        if done >= len(parts) * steps / 3 and parts[-1] and len(parts) < 3:
            parts.append([])
        parts[-1].append(one)
        done += one[1]
    stalls_s, third_s = 0.0, base
    for part in parts:
        third_s = _base(part, resolution_s)
        stalls_s += _seconds(part) - third_s * _steps(part)
    recent: list[Interval] = []
    for one in reversed(intervals):
        if len(recent) >= STEADY_INTERVALS and (_steps(recent) >= steps / 3 or _seconds(recent) >= STEADY_S):
            break
        recent.insert(0, one)
    steady_s = _base(recent, resolution_s)
    if steady_s <= 0:
        return None
    wall_s = max(steady_s * 0.5, (seconds / steps + third_s + stalls_s / steps) / 2)
    return steady_s, wall_s, seconds, steps, _spread(intervals)


def _seconds(intervals: list[Interval]) -> float:
    return sum(one[0] for one in intervals)


def _steps(intervals: list[Interval]) -> float:
    return sum(one[1] for one in intervals)


def _skipped(one: Interval, base: float, coarse_s: float) -> bool:
    return one[1] >= SKIP_STEPS and one[0] + coarse_s < SKIP_RATIO * base * one[1]


def _median(values: list[tuple[float, float]]) -> float:
    half = sum(weight for _, weight in values) / 2
    for value, weight in sorted(values):
        half -= weight
        if half <= 0:
            return value
    raise AssertionError("weights are above nought")


def _base(intervals: list[Interval], resolution_s: float) -> float:
    plain = [one for one in intervals if not one[2]]
    if _steps(plain) < 0.1 * _steps(intervals):
        plain = intervals
    usual = _median([(steps, 1.0) for _, steps, _, _ in plain])
    base = _median([(seconds / steps, min(steps, 3 * usual)) for seconds, steps, _, _ in plain])
    for _ in range(5):
        coarse_s = min(resolution_s, max(base, 0.1))
        ordinary = [
            one
            for one in plain
            if one[0] <= base * one[1] * (1 + max(0.1, 1.5 / math.sqrt(one[1]))) + 2 * coarse_s
            and not _skipped(one, base, coarse_s)
        ]
        if not ordinary:
            break
        mean = _seconds(ordinary) / _steps(ordinary)
        if abs(mean - base) <= 1e-4 * base:
            return mean
        base = mean
    return base


def _spread(intervals: list[Interval]) -> float | None:
    if len(intervals) < BACK_TEST_INTERVALS:
        return None
    total_s, steps = _seconds(intervals), _steps(intervals)
    errors: list[float] = []
    at = 0
    for cut in BACK_TEST_CUTS:
        at += 1
        while at < len(intervals) and _steps(intervals[:at]) < cut * steps:
            at += 1
        if at >= len(intervals):
            break
        before_s, before = _seconds(intervals[:at]), _steps(intervals[:at])
        if before_s > 0:
            errors.append(abs((total_s - before_s) / (steps - before) * before / before_s - 1))
    if not errors:
        return None
    errors.sort()
    place = 0.8 * (len(errors) - 1)
    low = int(place)
    high = min(low + 1, len(errors) - 1)
    return errors[low] + (errors[high] - errors[low]) * (place - low)
