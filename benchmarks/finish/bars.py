"""What progress bars and simple rules say of the time left, by the formulas of their documentation.

Each takes (seconds, step) pairs and the total.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

Pairs = Sequence[tuple[float, float]]
SMOOTHING = 0.3
"""tqdm's default."""
RICH_PERIOD_S, RICH_SAMPLES = 30.0, 1000


def tqdm_left(pairs: Pairs, total: float) -> float | None:
    """tqdm: two exponential means, of steps and of seconds."""
    steps = seconds = 0.0
    for (s0, n0), (s1, n1) in pairwise(pairs):
        steps = SMOOTHING * (n1 - n0) + (1 - SMOOTHING) * steps
        seconds = SMOOTHING * (s1 - s0) + (1 - SMOOTHING) * seconds
    return (total - pairs[-1][1]) * seconds / steps if steps > 0 else None


def mean_left(pairs: Pairs, total: float) -> float | None:
    """Time so far over steps so far: tqdm with smoothing=0."""
    steps = pairs[-1][1] - pairs[0][1]
    return (total - pairs[-1][1]) * (pairs[-1][0] - pairs[0][0]) / steps if steps > 0 else None


def rich_left(pairs: Pairs, total: float) -> float | None:
    """rich: the samples of the last 30 s; with fewer than two it shows no time."""
    now_s, step = pairs[-1]
    recent = [pair for pair in pairs[-RICH_SAMPLES:] if pair[0] >= now_s - RICH_PERIOD_S]
    seconds, steps = now_s - recent[0][0], step - recent[0][1]
    return (total - step) * seconds / steps if steps > 0 and seconds > 0 else None


def mean_range(pairs: Pairs, total: float) -> tuple[float, float] | None:
    """The mean with the 80 % quantile of its own errors in nine back-tests around it."""
    (_, first), (now_s, step) = pairs[0], pairs[-1]
    errors = []
    for tenth in range(1, 10):
        at = next(i for i, pair in enumerate(pairs) if pair[1] >= first + (step - first) * tenth / 10)
        guess = mean_left(pairs[: at + 1], step) if first < pairs[at][1] < step else None
        if guess:
            errors.append(abs((now_s - pairs[at][0]) / guess - 1))
    likely = mean_left(pairs, total)
    if likely is None or not errors:
        return None
    off = quantile(errors, 0.8)
    return max(0.0, likely * (1 - off)), likely * (1 + off)


def quantile(values: Sequence[float], ratio: float) -> float:
    """Between the two nearest values, linear."""
    ordered = sorted(values)
    place = ratio * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


BARS: dict[str, Callable[[Pairs, float], float | None]] = {"mean": mean_left, "tqdm": tqdm_left, "rich": rich_left}
