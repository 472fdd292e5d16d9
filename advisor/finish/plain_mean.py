"""The time left by the plain mean: the steps left times the wall time of a step, stalls included, with an 80 % range.

A printed estimate leaves stalls out; elapsed time over steps is spoiled by first steps and by everything before a
resume. So the mean is taken over what was really seen since then, and its range from how wrong the same mean would have
been earlier in the same run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from monitor.types.record import Range

MIN_WATCHED_STEPS = 8
MIN_WATCHED_S = 20.0
"""A rate that we watched is used from here on. One by a source's own clock has a history and is used at once."""
SLOW_WATCHED_STEPS = 3
SLOW_WATCHED_S = 300.0
"""Steps of minutes: three of them say more than waiting for eight."""
FAST_WATCHED_STEPS = 40
FAST_WATCHED_S = 2.0
"""Steps of milliseconds: forty are a mean, but no pause has been seen, so the range is wide until `MIN_WATCHED_S`."""
EARLY_RATIO = 0.3
"""The least half of the range until then."""
MIN_SOURCE_STEPS = 2
FLOOR_RATIO = 0.01
DRIFT_RATIO = 0.02
"""Prior for a rate that drifts: this times sqrt(steps left / steps seen), at most three times this."""
UNTESTED_RATIO = 1.0
"""Without back-tests: this over sqrt(steps seen), at most one half."""
SKEW = 1.2
"""What goes wrong costs time: the upper half of the range is wider."""


@dataclass(frozen=True)
class Pace:
    """What is known of a run's steps; field names and units as in `monitor.types.run.Run`."""

    step: float | None = None
    total: float | None = None
    total_source: str = ""
    step_seconds: float | None = None
    wall_seconds_per_step: float | None = None
    rate_clock: str | None = None
    rate_window_s: float | None = None
    rate_steps: float | None = None
    rate_spread_ratio: float | None = None
    ended: str | None = None
    """How the run ended, if it has."""


@dataclass(frozen=True)
class Remaining:
    """Seconds left, counted from the last step; or why they are not known."""

    seconds: Range | None = None
    unknown_because: str = ""
    basis: str = ""
    at_most: bool = False
    includes: tuple[str, ...] = ()
    changed_because: str = ""
    within_limit_ratio: float | None = None


def remaining(pace: Pace) -> Remaining:
    """The time left by the plain mean."""
    if pace.ended == "finished":
        return Remaining(seconds=Range(low=0.0, likely=0.0, high=0.0), basis="finished")
    if pace.ended is not None:
        return Remaining(unknown_because="the run has ended")
    if pace.step is None:
        return Remaining(unknown_because="no step counter has been read")
    if pace.total is None:
        return Remaining(unknown_because=pace.total_source or "the total number of steps is not known")
    left = pace.total - pace.step
    if left <= 0:
        return Remaining(seconds=Range(low=0.0, likely=0.0, high=0.0), basis="all steps are done")
    each_s = pace.wall_seconds_per_step if pace.wall_seconds_per_step is not None else pace.step_seconds
    if each_s is None or each_s <= 0:
        return Remaining(unknown_because="no step rate yet")
    too_early = _too_early(pace)
    if too_early:
        return Remaining(unknown_because=too_early)
    likely = left * each_s
    half = _half_width(pace, left)
    seen = max(1.0, pace.rate_steps or 1.0)
    clock = "its own clock" if pace.rate_clock == "source" else "watching"
    return Remaining(
        seconds=Range(low=likely * (1 - min(0.9, half)), likely=likely, high=likely * (1 + SKEW * half)),
        basis=f"mean of {seen:g} steps by {clock}, pauses included",
    )


def _too_early(pace: Pace) -> str:
    steps, window_s = pace.rate_steps or 0.0, pace.rate_window_s or 0.0
    return too_early(steps, window_s, own_clock=pace.rate_clock == "source")


def too_early(steps: float, window_s: float, *, own_clock: bool, stretches: int = MIN_SOURCE_STEPS) -> str:
    """Why so many steps in so many seconds are too few to judge by; empty where they are enough."""
    if own_clock:
        enough = steps >= MIN_SOURCE_STEPS and stretches >= MIN_SOURCE_STEPS
        return "" if enough else "too few steps with a time so far"
    if steps >= MIN_WATCHED_STEPS and window_s >= MIN_WATCHED_S:
        return ""
    if steps >= SLOW_WATCHED_STEPS and window_s >= SLOW_WATCHED_S:
        return ""
    if steps >= FAST_WATCHED_STEPS and window_s >= FAST_WATCHED_S:
        return ""
    return f"watched {steps:.0f} steps in {window_s:.0f} s so far; needs {MIN_WATCHED_STEPS} and {MIN_WATCHED_S:.0f} s"


def _half_width(pace: Pace, left: float) -> float:
    """The relative lower half of the range."""
    seen = max(1.0, pace.rate_steps or 1.0)
    tested = pace.rate_spread_ratio
    spread = min(0.5, UNTESTED_RATIO / math.sqrt(seen)) if tested is None else tested
    drift = DRIFT_RATIO * min(3.0, math.sqrt(left / seen))
    window_s = pace.rate_window_s
    coarse = 0.5 / window_s if window_s else 0.0
    early = EARLY_RATIO if pace.rate_clock != "source" and (window_s or 0.0) < MIN_WATCHED_S else 0.0
    return max(early, math.hypot(spread, drift, FLOOR_RATIO, coarse))
