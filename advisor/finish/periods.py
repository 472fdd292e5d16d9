"""Stalls that come again after as many steps: evaluations, saves, ends of epochs."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from statistics import median

from advisor.finish.stalls import Stall

MAX_STALLS = 64
NEIGHBOURS = 8
FIRST = 16
MOST_CANDIDATES = 40
MAX_PERIODS = 3
PRESENT_RATIO = 0.8
"""Of the expected stalls of a period, so many have been seen."""
ALIKE_RATIO = 2.5
"""Two stalls alone are one kind where neither costs more than this many times the other."""
ONCE_WEIGHT = 0.9
"""How far a single stall at a round step is believed to come again."""


@dataclass(frozen=True)
class Period:
    """Stalls at `phase` + k x `every`."""

    every: float
    phase: float
    cost_s: float
    spread_s: float
    seen: int
    weight: float
    label: str

    def ahead(self, step: float, end: float) -> float:
        """How many lie after `step`, up to and with `end`."""
        near = min(0.02, 0.4 / self.every)
        reach = math.floor((end - self.phase) / self.every + near)
        return max(0.0, reach - math.floor((step - self.phase) / self.every + near))


def periods(
    stalls: list[Stall], first: float, step: float, total: float, known: tuple[tuple[float, str], ...] = ()
) -> tuple[list[Period], list[Stall]]:
    """The periods that explain most, and the stalls that none of them explains."""
    stalls = _of_one_pass(stalls)
    left = stalls[-MAX_STALLS:]
    older = stalls[:-MAX_STALLS]
    found: list[Period] = []
    while left and len(found) < MAX_PERIODS:
        best = _best(left, first, step, total, known)
        if best is None:
            break
        period, hits = best
        found.append(period)
        rest = []
        for stall in left:
            if stall.place in hits:
                over_s = stall.excess_s - period.cost_s
                if over_s > max(2 * period.spread_s, 0.6 * period.cost_s):
                    rest.append(stall._replace(excess_s=over_s))
            else:
                rest.append(stall)
        left = rest
    return found, older + left


def _of_one_pass(stalls: list[Stall]) -> list[Stall]:
    """Without those that a resumed run came by a second time."""
    out: list[Stall] = []
    for stall in reversed(stalls):
        if not out or stall.after < out[-1].after:
            out.append(stall)
    return out[::-1]


def _best(
    stalls: list[Stall], first: float, step: float, total: float, known: tuple[tuple[float, str], ...]
) -> tuple[Period, set[int]] | None:
    best: tuple[float, Period, set[int]] | None = None
    ends = [s.until for s in stalls]
    from_step = first if len(stalls) < MAX_STALLS else stalls[0].after
    for every, label in _candidates(stalls, total, known):
        if PRESENT_RATIO * ((step - from_step) / every - 1) > len(stalls):
            continue
        for phase in _phases(stalls, every):
            hits, expected = _hits(stalls, ends, every, phase, from_step, step, len(stalls))
            if not hits or len(hits) < PRESENT_RATIO * expected:
                continue
            costs = sorted(stalls[i].excess_s for i in hits)
            if len(costs) == 1 and not label and not _once(stalls[hits[0]], every, phase, total):
                continue
            if len(costs) == 2 and not label and costs[1] > ALIKE_RATIO * costs[0]:
                continue
            if len(costs) == 2 and not label and not _plain(phase, every) and every > 0.4 * (step - first):
                continue
            worth = sum(costs) * (1.0 if _plain(phase, every) or label else 0.9) * len(hits) / expected
            if best is None or worth > 1.02 * best[0]:
                period = _period(stalls, hits, costs, every, phase, label)
                best = (worth, period, {stalls[i].place for i in hits})
    return None if best is None else (best[1], best[2])


def _period(stalls: list[Stall], hits: list[int], costs: list[float], every: float, phase: float, label: str) -> Period:
    middle = median(costs)
    calm = [c for c in costs if c <= 2.5 * middle]
    mean = sum(calm) / len(calm)
    spread = math.sqrt(sum((c - mean) ** 2 for c in calm) / (len(calm) - 1)) if len(calm) > 1 else 0.3 * mean
    labels = [stalls[i].label for i in hits if stalls[i].label]
    named = max(labels, key=labels.count) if 2 * len(labels) >= len(hits) else label
    return Period(every, phase, mean, spread, len(hits), 1.0 if len(hits) > 1 or label else ONCE_WEIGHT, named)


def _once(stall: Stall, every: float, phase: float, total: float) -> bool:
    """Whether one stall alone may be the first of many: its step is round, or a whole part of the run."""
    if not _plain(phase, every) or not stall.after - 1 <= every <= stall.until + 1 or total < 2 * every:
        return False
    return _round(every) or abs(total / every - round(total / every)) < 1e-9


def _plain(phase: float, every: float) -> bool:
    """At whole multiples, counted from 0 or from 1, before or after the step."""
    return phase <= 1 or phase == every - 1


def _round(value: float) -> bool:
    if value < 20 or value != int(value):
        return False
    scale = 10 ** (len(str(int(value))) - 1)
    return bool(value % (scale / 2) == 0)


def _candidates(stalls: list[Stall], total: float, known: tuple[tuple[float, str], ...]) -> list[tuple[float, str]]:
    out: dict[float, str] = {}
    for every, label in known:
        if every > 0:
            out.setdefault(every, label)
    for one in stalls[:6]:
        nice = _nicest(one.after - 1, one.until + 1, total)
        if nice > 0:
            out.setdefault(nice, "")
    for gap in range(1, NEIGHBOURS + 1):
        for one, other in zip(stalls[:FIRST], stalls[gap:], strict=False):
            nice = _nicest(other.after - one.until, other.until - one.after, total)
            for every in (nice, other.until - one.until):
                if every > 0:
                    out.setdefault(every, "")
        if len(out) > MOST_CANDIDATES:
            break
    return list(out.items())


def _nicest(low: float, high: float, total: float) -> float:
    """The roundest number above `low`, up to `high`; a whole part of the total is as good as a multiple of ten."""
    for scale in (1000.0, 500.0, 250.0, 100.0, 50.0, 25.0):
        value = math.ceil((low + 1e-9) / scale) * scale
        if 0 < value <= high:
            return value
    if total > 0 and high > 0:
        parts = math.floor(total / max(low, 1e-9)) if low > 0 else 0
        if parts >= 1 and low < total / parts <= high and (total / parts) == int(total / parts):
            return total / parts
    value = math.ceil((low + 1e-9) / 10) * 10
    return value if 0 < value <= high else 0.0


def _phases(stalls: list[Stall], every: float) -> list[float]:
    middle = stalls[len(stalls) // 2]
    out = [0.0, 1.0, every - 1.0, middle.until % every]
    return [p for i, p in enumerate(out) if p < every and p not in out[:i]]


def _hits(
    stalls: list[Stall], ends: list[float], every: float, phase: float, first: float, step: float, most: int
) -> tuple[list[int], int]:
    """Which stalls lie where the period expects one, and how many it expects."""
    k = math.floor((first - phase) / every + 1e-9) + 1
    last = math.floor((step - phase) / every + 1e-9)
    expected = last - k + 1
    if expected < 1 or PRESENT_RATIO * expected > most:
        return [], max(1, expected)
    hits: list[int] = []
    may_miss = (1 - PRESENT_RATIO) * expected + 1e-9
    for j in range(k, last + 1):
        at = phase + j * every
        i = bisect_left(ends, at)
        if i < len(stalls) and stalls[i].after < at:
            hits.append(i)
        else:
            may_miss -= 1
            if may_miss < 0:
                return [], expected
    return sorted(set(hits)), expected
