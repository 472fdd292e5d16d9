"""Ordinary steps and stalls apart: evaluations, saves, hiccups, holes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from advisor.finish.history import LEAST_STEPS, Stretch

BLOCK = 24
"""Stretches that share one idea of an ordinary step."""
LEAST_EXCESS_STEPS = 1.5
"""A stall costs more than this many ordinary steps."""
NOISE_LIMIT = 5.0
"""And more than this many times what chance does to a stretch."""
NOISE_FLOOR = 0.01
HOLE_RATIO = 0.16
"""One pause of this share of the whole run, or more, is a hole: a suspended machine, a night. It need not recur."""
HOLE_STRETCHES = 20
WARM_UP_STEPS = 10
WARM_UP_RATIO = 1.5
SKIP_RATIO = 0.1
"""Steps that took less than this share of an ordinary one were skipped on resume, not made."""
SKIP_STEPS = 10


TICKS = 4
"""A stretch lasts so many ticks of its clock, or it tells nothing."""
STANDING_RATIO = 0.1
"""Where more stretches than this take no time at all, the clock's tick is its smallest step."""


class Stall(NamedTuple):
    """Time beyond that of ordinary steps, somewhere between two counts."""

    after: float
    until: float
    excess_s: float
    label: str
    place: int
    """Index of its stretch."""


@dataclass(frozen=True)
class Parted:
    """A history with its stalls told from its steps."""

    stretches: list[Stretch]
    """Warm-up, skipped steps and holes are left out."""
    plain_s: list[float]
    """Of each stretch, the seconds without its stall."""
    stalls: list[Stall]
    holes: list[Stall]
    noise: float
    """Relative spread of a single step."""
    base_s: float


def parted(stretches: list[Stretch], total: float, resolution_s: float) -> Parted | None:
    """Tell stalls from steps; nothing where there is no time at all."""
    if not stretches or sum(s.seconds for s in stretches) <= 0:
        return None
    stretches = _without_start(coarser(stretches, resolution_s))
    blocks = _block_medians(stretches)
    usual_s = median(s.seconds for s in stretches)
    noise, base_s = _noise(stretches, blocks)
    kept: list[Stretch] = []
    plain: list[float] = []
    stalls: list[Stall] = []
    holes: list[Stall] = []
    for place, one in enumerate(stretches):
        block = place // BLOCK
        near = blocks[max(0, block - 1) : block + 2]
        here_s, most_s = blocks[block], max(near)
        if one.steps >= SKIP_STEPS and one.seconds + resolution_s < SKIP_RATIO * min(near) * one.steps:
            continue
        excess = one.seconds - here_s * one.steps
        limit = NOISE_LIMIT * hypot_steps(noise, one.steps) * most_s + most_s * LEAST_EXCESS_STEPS + 2 * resolution_s
        if one.label:
            limit = 0.0
        if excess <= limit or one.seconds - most_s * one.steps <= limit:
            kept.append(one)
            plain.append(one.seconds)
            continue
        stall = Stall(one.first, one.last, excess, one.label, len(kept))
        if excess > HOLE_RATIO * total * base_s and one.seconds > HOLE_STRETCHES * usual_s:
            holes.append(stall)
            continue
        kept.append(one)
        plain.append(one.seconds - excess)
        stalls.append(stall)
    return Parted(kept, plain, stalls, holes, noise, base_s) if kept else None


def coarser(stretches: list[Stretch], resolution_s: float) -> list[Stretch]:
    """Stretches joined until each is longer than some ticks of the clock."""
    tick_s = resolution_s
    if sum([s.seconds <= 0 for s in stretches]) > STANDING_RATIO * len(stretches):
        tick_s = max(tick_s, min(s.seconds for s in stretches if s.seconds > 0))
    if tick_s <= 0 or sum(s.seconds for s in stretches) >= 2 * TICKS * tick_s * len(stretches):
        return stretches
    out: list[Stretch] = []
    for one in stretches:
        before = out[-1] if out else None
        if before is None or before.seconds >= TICKS * tick_s or abs(before.last - one.first) > LEAST_STEPS:
            out.append(one)
        else:
            label = before.label or one.label
            out[-1] = Stretch(before.seconds + one.seconds, before.first, before.steps + one.steps, label)
    return out


def hypot_steps(noise: float, steps: float) -> float:
    """What chance does to this many steps, in ordinary steps."""
    return math.hypot(noise * math.sqrt(steps), NOISE_FLOOR * steps)


def _each_s(one: Stretch) -> float:
    return one.seconds / one.steps


def _block_medians(stretches: list[Stretch]) -> list[float]:
    out = []
    for start in range(0, len(stretches), BLOCK):
        part = stretches[start : start + BLOCK]
        if len(part) < BLOCK // 2 and start:
            part = stretches[-BLOCK:]
        calm = [s for s in part if not s.label] or part
        out.append(median(_each_s(s) for s in calm))
    return out


def _noise(stretches: list[Stretch], blocks: list[float]) -> tuple[float, float]:
    off = [
        abs(s.seconds / s.steps / blocks[i // BLOCK] - 1) * math.sqrt(s.steps)
        for i, s in enumerate(stretches)
        if blocks[i // BLOCK] > 0
    ]
    return (1.4826 * median(off) if off else 0.0), median(blocks)


def _without_start(stretches: list[Stretch]) -> list[Stretch]:
    """Leave out slow first steps, of each segment: they compile and fill caches."""
    starts = [i for i, one in enumerate(stretches) if i == 0 or abs(one.first - stretches[i - 1].last) > LEAST_STEPS]
    slow: set[int] = set()
    for start in starts:
        usual = median(_each_s(s) for s in stretches[start : start + 60])
        for place in range(start, min(len(stretches) - 1, start + WARM_UP_STEPS)):
            one = stretches[place]
            late = one.first - stretches[start].first >= WARM_UP_STEPS
            if late or one.label or _each_s(one) <= WARM_UP_RATIO * usual:
                break
            slow.add(place)
    if len(slow) == len(stretches):
        return stretches
    return [one for place, one in enumerate(stretches) if place not in slow] if slow else stretches
