"""Whether ordinary steps became slower or faster: at once (a change point) or little by little (a trend)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from advisor.finish.history import Stretch

MAX_BLOCKS = 48
LEAST_BLOCK_STEPS = 1.0
CHANGE_RATIO = 0.04
CHANGE_Z = 5.0
SAME_RATIO = 0.06
SLOWER_RATIO = 1.12
"""A stretch slower by this factor is over when the pace is within `SAME_RATIO` of that before it."""
PLANNED_RATIO = 1.6
"""A change by this factor is one of the work (batch, sequence), not of the machine: it stays."""
TREND_T = 4.5
TREND_RATIO = 0.02
TREND_DAMPING = 0.95
LEAST_TREND_BLOCKS = 10
LINE_BETTER = 1.1
HALF_SLOPE = 0.4
MOST_TREND = 1.18
"""Nothing drifts further than this: machines warm up, caches fill, and then it is over."""


class Block(NamedTuple):
    """Some ordinary steps in a row."""

    seconds: float
    steps: float
    middle: float
    """The count at its middle."""

    @property
    def each_s(self) -> float:
        """Seconds a step."""
        return self.seconds / self.steps


@dataclass(frozen=True)
class Change:
    """The newest change of the cost of an ordinary step."""

    at_step: float
    before_s: float
    after_s: float
    steps_since: float
    first_s: float = 0.0
    """The pace of the first regime."""

    @property
    def passed(self) -> bool:
        """Whether a slower stretch is over and the pace is again what it was at first."""
        return self.before_s > SLOWER_RATIO * self.after_s and abs(self.after_s / self.first_s - 1) < SAME_RATIO

    @property
    def planned(self) -> bool:
        """Whether the work changed (batch, sequence), not only the machine's pace."""
        factor = self.after_s / self.before_s if self.before_s > 0 else 1.0
        return factor > PLANNED_RATIO or factor < 1 / PLANNED_RATIO


def blocks_of(stretches: list[Stretch], plain_s: list[float]) -> list[Block]:
    """At most `MAX_BLOCKS` blocks of about as many stretches."""
    size = max(1, math.ceil(len(stretches) / MAX_BLOCKS))
    out = []
    for start in range(0, len(stretches) - size + 1, size):
        part = stretches[start : start + size]
        steps = sum([s.steps for s in part])
        out.append(Block(sum(plain_s[start : start + size]), steps, (part[0].first + part[-1].last) / 2))
    rest = len(out) * size
    if rest < len(stretches) and out:
        steps = sum([s.steps for s in stretches[rest:]])
        seconds = sum(plain_s[rest:])
        old = out[-1]
        out[-1] = Block(old.seconds + seconds, old.steps + steps, old.middle)
    return out


def newest_change(blocks: list[Block]) -> tuple[Change | None, int]:
    """The newest change point, and the block that the present regime begins with."""
    start, change, first_s = 0, None, 0.0
    for _ in range(4):
        split = _split(blocks[start:])
        if split is None:
            break
        at = start + split
        before, after = _mean(blocks[start:at]), _mean(blocks[at:])
        since = sum(b.steps for b in blocks[at:])
        first = blocks[at]
        first_s = first_s or before
        change, start = Change(first.middle - first.steps / 2, before, after, since, first_s), at
    return change, start


def _mean(blocks: list[Block]) -> float:
    return sum(b.seconds for b in blocks) / sum(b.steps for b in blocks)


def _split(blocks: list[Block]) -> int | None:
    """Where two means fit much better than one."""
    n = len(blocks)
    if n < 6:
        return None
    each = [b.each_s for b in blocks]
    whole, squares = sum(each), sum(x * x for x in each)
    best, at, left = 0.0, 0, 0.0
    for i in range(1, n):
        left += each[i - 1]
        if i < 2 or n - i < 2:
            continue
        gain = left * left / i + (whole - left) ** 2 / (n - i) - whole * whole / n
        if gain > best:
            best, at = gain, i
    if not at:
        return None
    within = max(0.0, squares - whole * whole / n - best) / max(1, n - 2)
    first = sum(each[:at]) / at
    second = (whole - sum(each[:at])) / (n - at)
    if first <= 0 or abs(second / first - 1) < CHANGE_RATIO:
        return None
    error = math.sqrt(within * (1 / at + 1 / (n - at)))
    return at if abs(second - first) > CHANGE_Z * error else None


def trend_s(blocks: list[Block], at: float) -> float | None:
    """Seconds of an ordinary step around count `at`, where steps change little by little; nothing where they do not.

    A line must fit better than two means, and the newer half must go on as the whole does: what levels off is no trend.
    """
    n = len(blocks)
    if n < LEAST_TREND_BLOCKS:
        return None
    slope, error, rest, middle, mean = _line(blocks)
    if mean <= 0 or abs(slope) < TREND_T * error:
        return None
    first, last = blocks[0].middle, blocks[-1].middle
    if abs(slope) * (last - first) < TREND_RATIO * mean:
        return None
    if _least_two_means([b.each_s for b in blocks]) < LINE_BETTER * rest:
        return None
    newer, newer_error, _, _, _ = _line(blocks[n // 2 :])
    if newer * slope <= 0 or abs(newer) < max(HALF_SLOPE * abs(slope), 2 * newer_error):
        return None
    slope = math.copysign(min(abs(slope), abs(newer)), slope) if abs(newer) < 0.8 * abs(slope) else slope
    now_s = mean + slope * (last - middle)
    ahead = now_s + TREND_DAMPING * slope * (at - last)
    return min(max(ahead, now_s / MOST_TREND), now_s * MOST_TREND)


def _line(blocks: list[Block]) -> tuple[float, float, float, float, float]:
    """Slope, its error, the squares left, and the middle that the line goes through."""
    n = len(blocks)
    xs = [b.middle for b in blocks]
    ys = [b.each_s for b in blocks]
    mx, my = sum(xs) / n, sum(ys) / n
    sxx = sum([(x - mx) ** 2 for x in xs])
    if sxx <= 0:
        return 0.0, 1.0, 0.0, mx, my
    slope = sum([(x - mx) * (y - my) for x, y in zip(xs, ys, strict=True)]) / sxx
    rest = sum([(y - my - slope * (x - mx)) ** 2 for x, y in zip(xs, ys, strict=True)])
    error = math.sqrt(max(rest, 1e-12 * my * my) / max(1, n - 2) / sxx)
    return slope, error, rest, mx, my


def _least_two_means(ys: list[float]) -> float:
    n, whole, squares = len(ys), sum(ys), sum(y * y for y in ys)
    best, left = math.inf, 0.0
    for i in range(1, n):
        left += ys[i - 1]
        best = min(best, squares - left * left / i - (whole - left) ** 2 / (n - i))
    return best
