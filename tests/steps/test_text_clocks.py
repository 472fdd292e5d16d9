"""Stamps, clocks of a text, durations and announced settings. Every sample is invented."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.steps.formats.announced import Announced, AnnouncedFormat
from monitor.steps.formats.line_format import FileText, Origin
from monitor.steps.formats.numbers import duration_s
from monitor.steps.formats.run_clock import CoarseClock, LeftTotal, RunClock
from monitor.steps.formats.stamps import AHEAD_S, LineClock, line_time_s
from monitor.steps.lines import Line


def _local_s(*when: int) -> float:
    return datetime(*when).timestamp()  # type: ignore[arg-type]  # noqa: DTZ001


WHEN_S = _local_s(2026, 2, 3, 4, 5, 6)
NEAR_S = _local_s(2026, 3, 1, 0, 0, 0)


@pytest.mark.parametrize(
    "text",
    [
        "2026-02-03_04:05:06 step 3",
        "[2026/02/03 04:05:06] step 3",
        "02/03/2026 04:05:06 - INFO - step 3",
        "Tue Feb  3 04:05:06 2026 step 3",
        "03 Feb 2026 04:05:06 step 3",
    ],
)
def test_stamps_with_a_year(text: str) -> None:
    assert line_time_s(text) == WHEN_S


def test_the_day_stands_first_where_it_can_be_no_month() -> None:
    assert line_time_s("25/02/2026 04:05:06 x") == _local_s(2026, 2, 25, 4, 5, 6)


@pytest.mark.parametrize(
    "text", ["[02/03 04:05:06] x", "I0203 04:05:06.000000 12 a.cc:1] x", "Feb  3 04:05:06 x", "02-03 04:05:06 | x"]
)
def test_stamps_without_a_year_are_the_latest_such_day(text: str) -> None:
    assert line_time_s(text) is None
    assert line_time_s(text, NEAR_S) == WHEN_S
    assert LineClock().read(text, NEAR_S) == (None, WHEN_S), "a clock for differences: the year is a guess"


def test_new_year_passes_in_a_log_without_years() -> None:
    near_s = _local_s(2026, 1, 1, 0, 10, 0)
    before, after = (line_time_s(text, near_s) for text in ("[12/31 23:59:50] x", "[01/01 00:00:10] x"))
    assert before is not None
    assert after is not None
    assert after - before == 20


@pytest.mark.parametrize(
    "text", ["[31/31 04:05:06] x", "[02/30 04:05:06] x", "99/99/2026 04:05:06", "[02/03 25:05:06]"]
)
def test_impossible_stamps(text: str) -> None:
    assert line_time_s(text, NEAR_S) is None


def test_times_of_day_count_on_over_midnight() -> None:
    clock = LineClock()
    times = [clock.read(f"{text} | x", NEAR_S)[1] for text in ("23:59:50", "00:00:10", "12:00:00", "00:00:10")]
    assert [t - times[0] for t in times if t is not None and times[0] is not None] == [0, 20, 43210, 86420]


@pytest.mark.parametrize("text", ["12/09/24 13:56:50 x", "[12/09/24 13:56:50] x"])
def test_dates_that_may_be_two_days_are_times_of_day(text: str) -> None:
    assert LineClock().read(text, NEAR_S) == (None, 13 * 3600 + 56 * 60 + 50)


@pytest.mark.parametrize("text", ["00:42 x", "3:02:51 left", "eta 03:02:51 x", "00:00:42<00:01:00, 1it/s"])
def test_durations_are_no_times_of_day(text: str) -> None:
    assert LineClock().read(text, NEAR_S) == (None, None)


@given(st.text(max_size=80), st.floats(allow_nan=False, allow_infinity=False, min_value=0, max_value=4e9))
def test_any_text_has_a_sane_time_or_none(text: str, near_s: float) -> None:
    stamp, own = LineClock().read(text, near_s)
    assert stamp is None or 0 < stamp < 5e9
    assert own is None or own <= max(near_s + AHEAD_S, 2 * 86400)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1m 32s", 92), ("526ms", 0.526), ("0us", 0), ("281.80h", 1014480), ("2 days, 0:00:10", 172810),
        ("22 m, 29 s", 1349),
        ("3 hours, 12 minutes and 7.41 seconds", 11527.41), ("1 day, 4:14:33", 101673), ("12", None), ("soon", None),
        ("", None), ("5 parsecs", None), ("1e9s", None),
    ],
)  # fmt: skip
def test_durations(text: str, seconds: float | None) -> None:
    assert duration_s(text) == (None if seconds is None else pytest.approx(seconds))


@given(st.text(alphabet="0123456789dhmsu .,:andyuri", max_size=80))
def test_any_duration_is_a_number_or_none(text: str) -> None:
    seconds = duration_s(text)
    assert seconds is None or seconds >= 0


def test_parts_add_up() -> None:
    clock = RunClock()
    assert [clock.at(1, 5), clock.at(1, 10), clock.at(1, 9.9), clock.at(2, 3), clock.at(2, 1), clock.add(4)] == [
        5,
        10,
        10,
        13,
        14,
        18,
    ]


def test_whole_seconds_are_passed_on_rarely() -> None:
    clock = CoarseClock()
    assert [s for n in range(60) if (s := clock.take(float(n), 1.0)) is not None] == [0, 20, 40]
    assert clock.take(3.0, 1.0) == 3.0, "begun anew"


def test_bounds_of_a_total_meet() -> None:
    left = LeftTotal()
    assert left.take(1, (0.1, 0.1), (50, 1)) is None
    assert left.take(100, (10.0, 0.1), (89.7, 0.1)) == 1000
    assert left.take(200, (20.0, 0.1), (79.7, 0.1)) in (995, 996, 997, 1000)


@pytest.mark.parametrize(
    ("line", "key", "total"),
    [
        ("  MAX_ITER: 111000", "max_iter", 111000),
        ("Namespace(epochs=90, lr=0.1)", "epochs", 90),
        ("{'max_update': 50000}", "max_update", 50000),
        ("train_cfg = dict(max_epochs=12)", "max_epochs", 12),
        ("INFO - workflow: [('train', 1)], max: 24 epochs", "max_epochs", 24),
        ("Starting training for 300 epochs...", "epochs", 300),
        ("num_train_epochs: 3", "num_train_epochs", 3),
        ("after-batches: 80,000", "after_batches", 80000),
    ],
)
def test_announced(line: str, key: str, total: float) -> None:
    text = FileText()
    AnnouncedFormat().read(Line(line, 0), text, Origin())
    assert text.announced.total((key,))[0] == total


@pytest.mark.parametrize(
    "line",
    ["warmup_epochs: 5", "Epochs: 3/10", "epochs: 3.5", "epochs: 10%", "save_epochs=0", "max_iter: 0", "epochs=5e3"],
)
def test_not_announced(line: str) -> None:
    text = FileText()
    AnnouncedFormat().read(Line(line, 0), text, Origin())
    assert text.announced.total(("epochs", "max_iter")) == (None, "")


def test_an_announced_total_below_the_count_is_none() -> None:
    announced = Announced()
    announced.note("epochs", 5)
    assert announced.total(("epochs",), least=6) == (None, "")
