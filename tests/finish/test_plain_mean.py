"""The time left by the plain mean. All figures are invented."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.finish.plain_mean import Pace, remaining

KNOWN = Pace(
    step=400,
    total=1000,
    step_seconds=1.0,
    wall_seconds_per_step=1.2,
    rate_clock="watched",
    rate_window_s=480,
    rate_steps=400,
    rate_spread_ratio=0.03,
)


def test_steps_left_times_wall_time_with_a_range_around_it() -> None:
    left = remaining(KNOWN).seconds
    assert left is not None
    assert left.likely == pytest.approx(720)
    assert 0.9 * 720 < left.low < 720 < left.high < 1.1 * 720
    assert left.high - left.likely > left.likely - left.low


def test_only_time_since_the_resume_counts() -> None:
    """Ten steps in a minute, 900 of 1000 done before: ten minutes, not what elapsed time over all steps would say."""
    resumed = replace(KNOWN, step=910, wall_seconds_per_step=6.0, rate_steps=10, rate_window_s=60)
    left = remaining(resumed).seconds
    assert left is not None
    assert left.likely == pytest.approx(540)


def test_without_pauses_known_the_step_time_stands_in() -> None:
    left = remaining(replace(KNOWN, wall_seconds_per_step=None)).seconds
    assert left is not None
    assert left.likely == pytest.approx(600)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"step": None}, "no step counter"),
        ({"total": None}, "total number of steps"),
        ({"total": None, "total_source": "one bar an epoch"}, "one bar an epoch"),
        ({"step_seconds": None, "wall_seconds_per_step": None}, "no step rate"),
        ({"rate_steps": 5.0, "rate_window_s": 30.0}, "watched 5 steps"),
        ({"rate_steps": 50.0, "rate_window_s": 1.0}, "watched 50 steps in 1 s"),
        ({"rate_steps": 20.0, "rate_window_s": 5.0}, "watched 20 steps in 5 s"),
        ({"ended": "killed"}, "ended"),
        ({"rate_clock": "source", "rate_steps": 1.0}, "too few"),
    ],
)
def test_unknown_says_why(change: dict[str, object], why: str) -> None:
    left = remaining(replace(KNOWN, **change))  # type: ignore[arg-type]
    assert left.seconds is None
    assert why in left.unknown_because


@pytest.mark.parametrize("change", [{"ended": "finished"}, {"step": 1000.0}, {"step": 1010.0}])
def test_done_is_zero(change: dict[str, object]) -> None:
    left = remaining(replace(KNOWN, **change)).seconds  # type: ignore[arg-type]
    assert left is not None
    assert (left.low, left.likely, left.high) == (0, 0, 0)


@pytest.mark.parametrize(
    "change",
    [{"rate_clock": "source", "rate_steps": 3.0, "rate_window_s": 9.0}, {"rate_steps": 3.0, "rate_window_s": 400.0}],
)
def test_a_clock_of_its_own_or_slow_steps_answer_early_but_widely(change: dict[str, object]) -> None:
    left = remaining(replace(KNOWN, rate_spread_ratio=None, **change)).seconds  # type: ignore[arg-type]
    assert left is not None
    assert left.low <= 0.6 * left.likely


def test_many_fast_steps_answer_within_seconds_but_widely() -> None:
    early = remaining(replace(KNOWN, rate_spread_ratio=0.01, rate_steps=60.0, rate_window_s=2.5)).seconds
    later = remaining(replace(KNOWN, rate_spread_ratio=0.01, rate_steps=600.0, rate_window_s=25.0)).seconds
    assert early is not None
    assert later is not None
    assert early.low <= 0.7 * early.likely
    assert later.low >= 0.9 * later.likely


def test_a_wild_history_gives_a_wide_range() -> None:
    calm, wild = remaining(KNOWN).seconds, remaining(replace(KNOWN, rate_spread_ratio=0.4)).seconds
    assert calm is not None
    assert wild is not None
    assert wild.high - wild.low > 5 * (calm.high - calm.low)


@given(
    st.floats(0, 1e9),
    st.floats(1, 1e9),
    st.floats(1e-6, 1e6),
    st.floats(0, 1e9),
    st.floats(0, 1e9),
    st.none() | st.floats(0, 1e3),
)
def test_the_range_is_in_order_and_not_negative(
    step: float, total: float, each_s: float, steps: float, window_s: float, spread: float | None
) -> None:
    left = remaining(
        Pace(
            step=step,
            total=total,
            wall_seconds_per_step=each_s,
            rate_clock="watched",
            rate_steps=steps,
            rate_window_s=window_s,
            rate_spread_ratio=spread,
        )
    )
    assert (left.seconds is None) == (left.unknown_because != "")
    if left.seconds is not None:
        assert 0 <= left.seconds.low <= left.seconds.likely <= left.seconds.high
