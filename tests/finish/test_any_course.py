"""Whatever a counter does, there is an answer in order or a reason."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.finish.estimator import FinishEstimator
from advisor.finish.history import MAX_STRETCHES
from advisor.finish.plan import Plan
from monitor.types.steps import Phase, ProgressPoint

_PHASES: tuple[Phase | None, ...] = (None, None, None, "evaluating", "saving", "generating")
_NUMBERS = st.one_of(
    st.integers(-3, 300).map(float),
    st.floats(-1e3, 1e12, allow_nan=False),
    st.sampled_from([0.0, 1e-9, 1e300, float("nan"), float("inf")]),
)
_POINTS = st.builds(
    ProgressPoint,
    time_s=_NUMBERS,
    step=_NUMBERS,
    clock=st.sampled_from(["text", "watched"]),
    resolution_s=st.sampled_from([0.0, 1.0, 60.0]),
    stalled=st.sampled_from(_PHASES),
)
_MOVES = st.tuples(st.floats(0, 50), st.integers(0, 20), st.sampled_from(_PHASES))


def _check(estimator: FinishEstimator, plan: Plan) -> None:
    left = estimator.estimate(plan)
    assert estimator.size <= MAX_STRETCHES
    if left.seconds is None:
        assert left.unknown_because
        return
    assert 0 <= left.seconds.low <= left.seconds.likely <= left.seconds.high
    assert math.isfinite(left.seconds.high)


@given(st.lists(_POINTS, max_size=60), _NUMBERS, st.sampled_from([None, 10.0, 0.5]))
@settings(max_examples=150, deadline=None)
def test_arbitrary_points(course: list[ProgressPoint], total: float, every: float | None) -> None:
    estimator = FinishEstimator()
    estimator.take("a", "step", course[: len(course) // 2])
    estimator.take("b", "step", course[len(course) // 2 :])
    _check(estimator, Plan(total=total, eval_every=every, limit_s=total))


@given(st.lists(_MOVES, min_size=2, max_size=200), st.integers(1, 5000))
@settings(max_examples=100, deadline=None)
def test_rising_counts(moves: list[tuple[float, int, Phase | None]], total: int) -> None:
    estimator = FinishEstimator()
    now_s, step = 0.0, 0
    for seconds, steps, phase in moves:
        now_s, step = now_s + seconds, step + steps
        estimator.add(ProgressPoint(time_s=now_s, step=step, clock="text", stalled=phase))
    _check(estimator, Plan(total=total, save_every=25))
