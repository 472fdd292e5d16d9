from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.agent.schedule import Schedule


def test_due_times_do_not_drift_when_each_tick_is_a_little_late() -> None:
    schedule = Schedule(100.0, 1.0)
    lateness = [schedule.take(100.0 + tick + 0.01) for tick in range(1000)]
    assert schedule.due_s == pytest.approx(1100.0)
    assert max(lateness) == pytest.approx(0.01)
    assert schedule.dropped == 0


def test_ticks_missed_during_a_long_one_are_dropped_and_the_lateness_is_told() -> None:
    schedule = Schedule(0.0, 1.0)
    schedule.take(0.0)
    assert schedule.take(4.3) == pytest.approx(3.3)
    assert schedule.due_s == 5.0
    assert schedule.dropped == 3


def test_a_stride_sits_ticks_out_without_counting_them_as_dropped() -> None:
    schedule = Schedule(0.0, 1.0)
    schedule.take(0.0, stride=3)
    assert schedule.due_s == 3.0
    assert schedule.dropped == 0


@pytest.mark.parametrize("interval_s", [0.0, -1.0, math.nan, math.inf])
def test_an_interval_that_is_none_is_refused(interval_s: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        Schedule(0.0, interval_s)


@given(
    st.floats(0, 1e6),
    st.floats(0.1, 100),
    st.lists(st.floats(0, 500), min_size=1, max_size=30),
)
def test_the_next_tick_is_always_ahead_and_on_the_grid(start_s: float, interval_s: float, gaps: list[float]) -> None:
    schedule = Schedule(start_s, interval_s)
    now_s = start_s
    for gap_s in gaps:
        now_s = max(now_s + gap_s, schedule.due_s)
        assert schedule.take(now_s) >= 0
        assert schedule.due_s > now_s - 1e-6
        index = (schedule.due_s - start_s) / interval_s
        assert index == pytest.approx(round(index), abs=1e-3)
