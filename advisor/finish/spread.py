"""The 80 % range around a finish time."""

from __future__ import annotations

import math

from advisor.finish.blend import Blend
from advisor.finish.stalls import Parted
from monitor.types.record import Range

Z_80 = 1.2816
TESTED_RATIO = 0.8
MODEL_RATIO = 0.8
DISAGREEMENT_RATIO = 0.6
DRIFT_RATIO = 0.008
"""Prior for a pace that drifts: this times sqrt(steps left / steps seen), at most three times this."""
FLOOR_RATIO = 0.0015
CHANGED_RATIO = 0.06
"""A pace that changed lately may change again."""
SKEW = 1.2
"""What goes wrong costs time: the upper half of the range is wider."""


def half_width(parts: Parted, blended: Blend, left: float, resolution_s: float) -> float:
    """The relative half of the range."""
    likely = blended.likely_s
    if likely <= 0:
        return 0.5
    now = blended.now
    steps = max(1.0, now.steps)
    noise = now.base_s * parts.noise * math.sqrt(left + left * left / max(1.0, steps / 3))
    counts = sum(
        (p.spread_s**2) * p.ahead(parts.stretches[-1].last, parts.stretches[-1].last + left) for p in now.found
    )
    means = sum(
        (p.spread_s * p.ahead(parts.stretches[-1].last, parts.stretches[-1].last + left)) ** 2 / p.seen
        for p in now.found
    )
    doubtful = sum(
        (p.cost_s * p.ahead(parts.stretches[-1].last, parts.stretches[-1].last + left) * (1 - p.weight)) ** 2
        for p in now.found
    )
    cost = [s.excess_s for s in now.rest]
    each2 = sum(c * c for c in cost) / steps
    chance = each2 * (left + left * left / steps)
    model = Z_80 * math.sqrt(noise**2 + counts + means + doubtful + chance) / likely
    drift = DRIFT_RATIO * min(3.0, math.sqrt(left / steps))
    tested = _quantile(blended.errors, 0.8)
    parts_ = [MODEL_RATIO * model, DISAGREEMENT_RATIO * blended.disagreement, drift, FLOOR_RATIO, resolution_s / likely]
    if tested is not None:
        parts_.append(TESTED_RATIO * tested)
    else:
        parts_.append(0.5 / math.sqrt(max(1.0, len(parts.stretches))))
    if now.change is not None:
        parts_.append(CHANGED_RATIO * math.exp(-now.change.steps_since / max(1.0, left)))
    return min(3.0, math.hypot(*parts_))


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
