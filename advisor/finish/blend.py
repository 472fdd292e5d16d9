"""The experts weighed by how they would have done on the run's own past, and a range from how wrong they were."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate

from advisor.finish.experts import View, view
from advisor.finish.stalls import Parted

BACK_TEST_CUTS = (0.3, 0.45, 0.6, 0.75, 0.88)
LEAST_BACK_TEST = 12
"""With fewer stretches nothing is tested."""
PRIORS = {"structured": 1.0, "mean": 1.0, "recent": 0.2, "trend": 5.0}
OUTDATED_PRIOR = 0.05
"""Of the mean, where the work itself has changed."""
SHARPNESS = 2.0
ERROR_FLOOR = 0.004
"""Errors below this are one as good as the other."""


@dataclass(frozen=True)
class Blend:
    """One figure from all experts."""

    likely_s: float
    errors: tuple[float, ...]
    """|truth / figure - 1| of the blend in the back-tests, each scaled to the share that is left now."""
    disagreement: float
    """Relative, weighted."""
    weights: dict[str, float]
    now: View


def blend(parts: Parted, total: float, known: tuple[tuple[float, str], ...]) -> Blend:
    """What all experts together say of the time from the last step to `total`."""
    count = len(parts.stretches)
    now = view(parts, count, total, total, known)
    tests = _back_tests(parts, total, known)
    weights = _weights(now.said, tests, planned=now.change is not None and (now.change.planned or now.change.passed))
    likely = sum(weights[name] * said for name, said in now.said.items())
    spread = (
        math.sqrt(sum(w * (now.said[name] / likely - 1) ** 2 for name, w in weights.items())) if likely > 0 else 0.0
    )
    errors = []
    for said, truth in tests:
        shared = {name: weights[name] for name in said if name in weights}
        weight = sum(shared.values())
        if weight > 0:
            guess = sum(w * said[name] for name, w in shared.items()) / weight
            if guess > 0:
                errors.append(abs(truth / guess - 1))
    return Blend(likely, tuple(sorted(errors)), spread, weights, now)


def _back_tests(
    parts: Parted, total: float, known: tuple[tuple[float, str], ...]
) -> list[tuple[dict[str, float], float]]:
    """What each expert would have said at some counts so far, and how long it really took from there to now."""
    stretches = parts.stretches
    count = len(stretches)
    if count < LEAST_BACK_TEST:
        return []
    extra = [0.0] * count
    for stall in parts.stalls:
        extra[stall.place] += stall.excess_s
    clock = list(accumulate(p + e for p, e in zip(parts.plain_s, extra, strict=True)))
    done = list(accumulate(s.steps for s in stretches))
    end = stretches[-1].last
    out = []
    for cut in BACK_TEST_CUTS:
        upto = bisect_left(done, cut * done[-1]) + 1
        if not 3 <= upto < count - 1 or stretches[upto - 1].last >= end:
            continue
        said = view(parts, upto, end, total, known).said
        out.append((said, clock[-1] - clock[upto - 1]))
    return out


def _weights(said: dict[str, float], tests: list[tuple[dict[str, float], float]], *, planned: bool) -> dict[str, float]:
    errors: dict[str, float] = {}
    for name in said:
        mine = [s.get(name, s["structured"]) / truth - 1 for s, truth in tests if truth > 0]
        if mine:
            errors[name] = math.hypot(math.sqrt(sum(e * e for e in mine) / len(mine)), ERROR_FLOOR)
    least = min(errors.values(), default=1.0)
    priors = {**PRIORS, "mean": OUTDATED_PRIOR} if planned else PRIORS
    raw = {n: priors[n] * math.exp(-SHARPNESS * min(20.0, errors.get(n, least) / least - 1)) for n in said}
    whole = sum(raw.values())
    return {n: w / whole for n, w in raw.items()}
