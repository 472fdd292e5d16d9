"""Several ways to say how long the steps ahead take, each from the same history up to one count."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, field

from advisor.finish.history import Stretch
from advisor.finish.periods import Period, periods
from advisor.finish.regime import Block, Change, blocks_of, newest_change, trend_s
from advisor.finish.stalls import Parted, Stall

HEDGE_RATIO = 1.0
"""A new pace is believed by 1 - exp(-steps since / (this x steps left))."""
RECENT_RATIO = 1 / 3
PASSED_TRUST = 0.8
"""Of the present pace, where it is the first one again after a slower stretch."""
MOST_TRUST = 0.7
"""What made a machine slower may pass: its former pace is never quite forgotten."""


@dataclass(frozen=True)
class View:
    """What each expert says, in seconds, and what the structured one sees."""

    said: dict[str, float]
    base_s: float
    change: Change | None
    found: list[Period]
    rest: list[Stall]
    rest_s: float
    """Of `structured`, what stalls without a period cost."""
    blocks: list[Block] = field(default_factory=list)
    steps: float = 0.0


def view(parts: Parted, upto: int, end: float, total: float, known: tuple[tuple[float, str], ...]) -> View:
    """What the first `upto` stretches say of the way from there to the count `end`."""
    stretches = parts.stretches[:upto]
    plain = parts.plain_s[:upto]
    stalls = [s for s in parts.stalls if s.place < upto]
    now = stretches[-1].last
    left = max(0.0, end - now)
    steps = sum([s.steps for s in stretches])
    seconds = sum(plain) + sum([s.excess_s for s in stalls])
    blocks = blocks_of(stretches, plain)
    change, start = newest_change(blocks)
    base = _base(blocks, change, start, left)
    found, rest = periods(stalls, stretches[0].first, now, total, known)
    stalls_s = sum([p.ahead(now, end) * p.cost_s * p.weight for p in found])
    rest_s = _chance(rest, steps) * left
    said = {
        "structured": base * left + stalls_s + rest_s,
        "mean": seconds / steps * left,
        "recent": _recent(stretches, plain, stalls) * left,
    }
    drifting = trend_s(blocks, now + left / 2)
    if drifting is not None:
        said["trend"] = drifting * left + stalls_s + rest_s
    return View(said, base, change, found, rest, rest_s, blocks, steps)


def _base(blocks: list[Block], change: Change | None, start: int, left: float) -> float:
    everything = sum([b.seconds for b in blocks]) / sum([b.steps for b in blocks])
    if change is None:
        return everything
    present = sum([b.seconds for b in blocks[start:]]) / sum([b.steps for b in blocks[start:]])
    if change.planned:
        return present
    trust = MOST_TRUST * (1 - math.exp(-change.steps_since / (HEDGE_RATIO * left))) if left > 0 else 1.0
    if change.passed:
        trust = max(trust, PASSED_TRUST)
    return trust * present + (1 - trust) * everything


def _chance(stalls: list[Stall], steps: float) -> float:
    """Seconds a step that stalls without a period cost."""
    if not stalls or steps <= 0:
        return 0.0
    count = len(stalls)
    cost = sum([s.excess_s for s in stalls])
    if count == 1:
        return 0.25 * cost / steps
    return cost / steps * count / (count + 1)


def _recent(stretches: list[Stretch], plain: list[float], stalls: list[Stall]) -> float:
    """Mean of the last third, pauses in."""
    want = sum([s.steps for s in stretches]) * RECENT_RATIO
    start, steps, seconds = len(stretches), 0.0, 0.0
    while start > 0 and steps < want:
        start -= 1
        steps += stretches[start].steps
        seconds += plain[start]
    first = bisect_left([s.place for s in stalls], start)
    return (seconds + sum([s.excess_s for s in stalls[first:]])) / steps
