"""Scales of charts: round numbers at their ends, written alike, and never so narrow that a flat line looks steep."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

STEPS_WANTED = 4


@dataclass(frozen=True)
class Scale:
    """From the lowest to the highest value of a chart, with the values that are written beside it, lowest first."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    filled: bool = False
    """Whether the chart may be filled from below: only where the scale begins at zero."""


def full_scale(top: float, words: Callable[[float], str]) -> Scale:
    """From zero to a limit that is known."""
    return Scale(0.0, top, tuple((value, words(value)) for value in (0.0, top / 2, top)), filled=True)


def pace_scale(values: Sequence[float | None]) -> Scale | None:
    """For step times in seconds: at least 5 % to both sides. `None` where nothing is known."""
    found = _round_ends(values, 0.05)
    if found is None:
        return None
    factor, unit = (1000.0, " ms") if found[1] < 0.1 else (1.0, " s")
    return _scale(found, factor, unit)


def number_scale(values: Sequence[float | None]) -> Scale | None:
    """For figures without a unit, such as a loss: at least 2 % to both sides. `None` where nothing is known."""
    found = _round_ends(values, 0.02)
    return None if found is None else _scale(found, 1.0, "")


def _round_ends(values: Sequence[float | None], air_ratio: float) -> tuple[float, float, float] | None:
    """Low, high and the step between ticks."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    if not known:
        return None
    least, most = min(known), max(known)
    air = max(abs(least), abs(most)) * air_ratio or 1.0
    if (most - least) / 2 < air:
        middle = (least + most) / 2
        low, high = middle - air, middle + air
    else:
        low, high = least, most
    if least >= 0:
        low = max(0.0, low)
    step = _round_step((high - low) / STEPS_WANTED)
    return math.floor(low / step + 1e-6) * step, math.ceil(high / step - 1e-6) * step, step


def _round_step(raw: float) -> float:
    power = 10.0 ** math.floor(math.log10(raw))
    return next(factor for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= raw * (1 - 1e-9)) * power


def _scale(ends: tuple[float, float, float], factor: float, unit: str) -> Scale:
    low, high, step = ends
    digits = max(0, -math.floor(math.log10(step * factor) + 1e-6))
    count = round((high - low) / step)
    values = [low + step * number for number in range(count + 1)]
    if digits > 4 or max(abs(low), abs(high)) * factor >= 1e6:
        return Scale(low, high, tuple((value, f"{value * factor:.2g}{unit}") for value in (low, high)))
    return Scale(low, high, tuple((value, f"{value * factor:,.{digits}f}{unit}") for value in values))
