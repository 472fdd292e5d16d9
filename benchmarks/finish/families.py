"""Invented runs by family and seed: seconds of each step, and where a run went back."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field

LINES = 400


@dataclass
class Course:
    """One invented run."""

    steps: list[float]
    """Seconds of each."""
    back: dict[int, tuple[int, float]] = field(default_factory=dict)
    """Before step k it went back to another, after so many seconds."""


def course(family: str, seed: int) -> list[tuple[float, int]]:
    """(seconds, step) of the lines of one run, from its first step to its last."""
    rng = random.Random(f"{family}/{seed}")
    run = FAMILIES[family](rng)
    back = dict(run.back)
    every = max(1, len(run.steps) // LINES)
    now_s, step = 0.0, 0
    out: list[tuple[float, int]] = []
    while step < len(run.steps):
        if step in back:
            step, pause_s = back.pop(step)
            now_s += pause_s
        now_s += run.steps[step]
        step += 1
        if step == 1 or step % every == 0 or step == len(run.steps):
            out.append((now_s, step))
    return out


def _ordinary(rng: random.Random, spread: float = 0.04) -> list[float]:
    count = rng.randrange(1200, 4200, 100)
    each_s = 10 ** rng.uniform(-0.7, 0.6)
    return [each_s * rng.lognormvariate(0, spread) for _ in range(count)]


def _each(steps: list[float]) -> float:
    return sorted(steps)[len(steps) // 2]


def _steady(rng: random.Random) -> Course:
    return Course(_ordinary(rng))


def _paused(rng: random.Random) -> Course:
    steps = _ordinary(rng)
    for every, low, high in ((rng.choice((100, 150, 250, 300)), 10, 50), (rng.choice((400, 500, 900)), 10, 40)):
        cost = rng.uniform(low, high) * _each(steps)
        for place in range(every - 1, len(steps), every):
            steps[place] += cost * rng.lognormvariate(0, 0.08)
    return Course(steps)


def _compiled(rng: random.Random) -> Course:
    steps = _ordinary(rng)
    steps[0] += rng.uniform(30, 250) * _each(steps)
    steps[1] += rng.uniform(0, 20) * _each(steps)
    return Course(steps)


def _lengths(rng: random.Random) -> Course:
    return Course(_ordinary(rng, spread=0.4))


def _hiccups(rng: random.Random) -> Course:
    steps = _ordinary(rng)
    each_s = _each(steps)
    return Course([s + (rng.expovariate(1 / 10) * each_s if rng.random() < 0.012 else 0.0) for s in steps])


def _slowing(rng: random.Random) -> Course:
    steps = _ordinary(rng)
    by = rng.uniform(0.1, 0.4)
    return Course([s * (1 + by * i / len(steps)) for i, s in enumerate(steps)])


def _epochs(rng: random.Random) -> Course:
    steps = _ordinary(rng)
    epochs = rng.choice((6, 10, 15))
    cost = rng.uniform(50, 200) * _each(steps)
    for epoch in range(1, epochs + 1):
        steps[epoch * len(steps) // epochs - 1] += cost * rng.lognormvariate(0, 0.05)
    return Course(steps)


def _slept(rng: random.Random) -> Course:
    steps = _ordinary(rng)
    steps[int(len(steps) * rng.uniform(0.15, 0.7))] += rng.uniform(0.3, 1.2) * sum(steps)
    return Course(steps)


def _crashed(rng: random.Random) -> Course:
    steps = _ordinary(rng)
    at = int(len(steps) * rng.uniform(0.15, 0.7))
    return Course(steps, {at: (at // 150 * 150, rng.uniform(60, 400) * _each(steps))})


def _grown(rng: random.Random) -> Course:
    steps = _ordinary(rng)
    at = int(len(steps) * rng.uniform(0.1, 0.6))
    return Course([s * (1 if i < at else 2) for i, s in enumerate(steps)])


def _throttled(rng: random.Random) -> Course:
    steps = _ordinary(rng)
    first = int(len(steps) * rng.uniform(0.25, 0.6))
    last = first + int(len(steps) * rng.uniform(0.1, 0.4))
    by = 1 + math.exp(rng.uniform(-2, -0.7))
    return Course([s * (by if first <= i < last else 1) for i, s in enumerate(steps)])


FAMILIES: dict[str, Callable[[random.Random], Course]] = {
    "steady": _steady,
    "paused": _paused,
    "compiled": _compiled,
    "lengths": _lengths,
    "hiccups": _hiccups,
    "slowing": _slowing,
    "epochs": _epochs,
    "slept": _slept,
    "crashed": _crashed,
    "grown": _grown,
    "throttled": _throttled,
}
UNFORESEEN = ("slept", "crashed", "grown", "throttled")
"""What lies ahead of a cut cannot be told from what lies before it."""
