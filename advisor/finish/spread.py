"""The 80 % range around a finish time."""

from __future__ import annotations

import math

from advisor.finish.blend import Blend
from advisor.finish.stalls import Parted
from monitor.types.record import Range

Z_80 = 1.2816
MODEL_RATIO = 0.7
TESTED_RATIO = 0.55
"""Of the errors in the back-tests: they reach less far back than the forecast does, and hold the same noise twice."""
UNTESTED_RATIO = 0.5
"""Without back-tests: this over sqrt(stretches)."""
FEW_RATIO = 0.1
"""Few stretches tell little of how different they can be."""
DISAGREEMENT_RATIO = 0.7
DRIFT_RATIO = 0.004
"""Prior for a pace that drifts: this times sqrt(steps left / steps seen), at most three times this."""
FLOOR_RATIO = 0.0015
CHANGED_RATIO = 0.02
GAP_RATIO = 0.6
"""A pace that changed lately may change back: so much of the change is within the range."""
TREND_RATIO = 0.25
"""Of what a trend adds: it may level off or go on for longer."""
NEWS_RATIO = 1.5
"""A change is news until this times the steps left have been made."""
MOST_RATIO = 3.0
SKEW = 1.5
"""What goes wrong costs time: the upper half of the range is wider."""


def half_width(parts: Parted, blended: Blend, left: float, resolution_s: float) -> float:
    """The relative half of the range."""
    likely = blended.likely_s
    if likely <= 0:
        return 0.5
    now = blended.now
    steps = max(1.0, now.steps)
    widths = [
        MODEL_RATIO * Z_80 * math.sqrt(_variance(parts, blended, left)) / likely,
        DISAGREEMENT_RATIO * blended.disagreement,
        DRIFT_RATIO * min(3.0, math.sqrt(left / steps)),
        FLOOR_RATIO,
        FEW_RATIO / len(parts.stretches),
        resolution_s / likely,
    ]
    if "trend" in now.said:
        widths.append(TREND_RATIO * abs(now.said["trend"] / now.said["structured"] - 1))
    tested = _quantile(blended.errors, 0.8)
    if tested is None:
        widths.append(UNTESTED_RATIO / math.sqrt(max(1.0, len(parts.stretches))))
    else:
        widths.append(TESTED_RATIO * tested)
    if now.change is not None:
        factor = now.change.after_s / now.change.before_s
        news = CHANGED_RATIO + GAP_RATIO * min(0.5, abs(factor - 1))
        widths.append(news * math.exp(-now.change.steps_since / max(1.0, NEWS_RATIO * left)))
    return min(MOST_RATIO, math.hypot(*widths))


def _variance(parts: Parted, blended: Blend, left: float) -> float:
    """Of the time left, in square seconds: noise of steps and of their mean, of stalls, and of how many there are."""
    now = blended.now
    steps = max(1.0, now.steps)
    step = parts.stretches[-1].last
    out = (now.base_s * parts.noise) ** 2 * (left + left * left / max(1.0, steps / 3))
    for period in now.found:
        count = period.ahead(step, step + left)
        out += period.spread_s**2 * (count + count * count / period.seen)
        out += (period.cost_s * count * (1 - period.weight)) ** 2
    squares = sum([s.excess_s**2 for s in now.rest]) / steps
    return out + squares * (left + left * left / steps)


def within(span: Range, limit_s: float) -> float:
    """The chance that the time left is no more than this."""
    if limit_s <= 0:
        return 0.0
    half = span.likely - span.low if limit_s < span.likely else span.high - span.likely
    if half <= 0:
        return 1.0 if limit_s >= span.likely else 0.0
    return 0.5 * (1 + math.erf((limit_s - span.likely) / half * Z_80 / math.sqrt(2)))


def _quantile(ordered: tuple[float, ...], ratio: float) -> float | None:
    if len(ordered) < 2:
        return None
    place = ratio * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
