"""Invented runs: seconds of each step, and the points that a counter of them gives."""

from __future__ import annotations

import random
from collections.abc import Iterable

from advisor.finish.estimator import FinishEstimator
from advisor.finish.plain_mean import Remaining
from advisor.finish.plan import Plan
from monitor.types.record import Range
from monitor.types.steps import ProgressPoint


def points(seconds: Iterable[float], first: int = 0, start_s: float = 1000.0, every: int = 1) -> list[ProgressPoint]:
    """One point before the first step and one after each `every` steps."""
    out = [ProgressPoint(time_s=start_s, step=first, clock="text")]
    now_s, step = start_s, first
    for each_s in seconds:
        now_s += each_s
        step += 1
        if (step - first) % every == 0:
            out.append(ProgressPoint(time_s=now_s, step=step, clock="text"))
    return out


def noisy(count: int, each_s: float = 1.0, ratio: float = 0.03, seed: int = 1) -> list[float]:
    """Steps that differ a little."""
    rng = random.Random(seed)
    return [each_s * (1 + ratio * rng.gauss(0, 1)) for _ in range(count)]


def judged(course: Iterable[ProgressPoint], plan: Plan) -> Remaining:
    """What the estimator says after these points."""
    estimator = FinishEstimator()
    for point in course:
        estimator.add(point)
    return estimator.estimate(plan)


def seconds_of(left: Remaining) -> Range:
    """The range, which must be there."""
    assert left.seconds is not None, left.unknown_because
    return left.seconds
