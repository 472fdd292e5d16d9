"""The rate of one counter: quick, and the same as in its plain form."""

from __future__ import annotations

from dataclasses import astuple
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.steps.pace import JUDGED_PARTS, STEADY_S, Pace
from tests.steps.plain_pace import Interval, plain_rate

_EACH = st.sampled_from((0, 1, 6, 8, 8, 8, 8, 8, 8, 9, 10, 16, 40, 2000))
"""Sixty-fourths of a second a step: sums of them have no rounding, so that no comparison is near by accident."""
_STEPS = st.sampled_from((1, 1, 1, 2, 3, 8, 10, 11, 24, 500))
_STALLED = st.integers(0, 12).map(lambda one: one == 0)
_PIECES = st.lists(st.tuples(_EACH, _STEPS, _STALLED), max_size=JUDGED_PARTS - 1)  # so few are judged at each point


@given(_PIECES, st.sampled_from((0.0, 0.001, 0.1, 1.0)))
def test_the_quick_rate_is_the_plain_one(pieces: list[tuple[int, int, bool]], resolution_s: float) -> None:
    pace = Pace(resolution_s)
    time_s, count = 0.0, 0.0
    pace.add(time_s, count)
    intervals: list[Interval] = []
    for each, steps, stalled in pieces:
        seconds = each * steps / 64
        intervals.append((seconds, steps, stalled, count))
        time_s, count = time_s + seconds, count + steps
        pace.add(time_s, count, stalled=stalled)
    rate, plain = pace.rate(), plain_rate(intervals, resolution_s)
    if rate is None or plain is None:
        assert rate is None
        assert plain is None
    else:
        assert astuple(rate) == pytest.approx(plain, rel=1e-9)


@pytest.mark.parametrize("skipped", [40, 101, 1000, 50_000])
def test_what_a_resumed_run_skipped_is_in_no_rate(skipped: int) -> None:
    pace = Pace(1.0)
    pace.add(0.0, 0)
    for second in range(1, 30):  # in its first second it skips and makes nine steps
        pace.add(float(second), skipped + 9 * second)
        rate = pace.rate()
        if second >= 3:
            assert rate is not None
            assert rate.step_seconds == pytest.approx(1 / 9, rel=1e-6)
            assert rate.steps == pytest.approx(9 * (second - 1))


def test_a_long_history_is_judged_at_last_after_a_fortieth_of_the_steady_window() -> None:
    pace = Pace(0.1)
    judged_s: list[float] = []
    for second in range(4000):
        before = pace.rate()
        pace.add(float(second), 2 * second)
        if pace.rate() is not before:
            judged_s.append(float(second))
    gaps = [later - earlier for earlier, later in pairwise(judged_s)]
    assert judged_s[:9] == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert STEADY_S / JUDGED_PARTS - 1 <= max(gaps) <= STEADY_S / JUDGED_PARTS


def test_runs_that_were_seen_together_are_not_all_judged_together() -> None:
    paces = [Pace(0.1) for _ in range(30)]
    judged = [0] * 2000
    for second in range(2000):
        for each, pace in enumerate(paces):
            before = pace.rate()
            pace.add(float(second), (50 + each) * second)
            judged[second] += pace.rate() is not before
    assert max(judged[-600:]) <= 10


def test_a_clock_that_begins_anew_is_judged_after_a_few_points() -> None:
    pace = Pace(0.1)
    for second in range(1000):
        pace.add(float(second), second)
    before = pace.rate()
    for second in range(5):  # much less than a fortieth of the steady window
        pace.add(float(second), 1000 + second)
    assert pace.rate() is not before
