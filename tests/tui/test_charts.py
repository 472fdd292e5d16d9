from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from monitor.history.series import Series, SeriesKey
from tests.tui import scenes
from tests.tui.test_gpu_panel import board_of
from tui.widgets.charts import Plot, gib_words, paint_plots, run_plots, time_axis, time_chart
from tui.widgets.looking import Looking
from tui.widgets.scale import full_scale, number_scale, pace_scale

NOON_S = 1_770_000_000.0 - 1_770_000_000.0 % 86_400 + 12 * 3600
VALUES = st.lists(st.one_of(st.none(), st.floats(-1e6, 1e6)), min_size=1, max_size=60)


def words_of(values: list[float | None]) -> list[str]:
    scale = pace_scale(values)
    assert scale is not None
    return [words for _, words in scale.ticks]


def test_step_times_get_round_figures_in_one_unit() -> None:
    assert words_of([1.81, 1.84, 1.88]) == ["1.75 s", "1.80 s", "1.85 s", "1.90 s", "1.95 s"]
    assert words_of([0.0412, 0.039]) == ["38 ms", "40 ms", "42 ms", "44 ms"]
    assert words_of([0.5, 64.0]) == ["0 s", "20 s", "40 s", "60 s", "80 s"]


def test_a_flat_line_does_not_look_like_a_cliff() -> None:
    scale = pace_scale([1.840, 1.841])
    assert scale is not None
    assert scale.high - scale.low >= 0.1 * 1.84 * 0.99


@given(VALUES)
def test_scales_hold_all_values_and_begin_and_end_on_ticks(values: list[float | None]) -> None:
    known = [value for value in values if value is not None]
    for scaler in (pace_scale, number_scale):
        scale = scaler(values)
        if not known:
            assert scale is None
            continue
        assert scale is not None
        room = (scale.high - scale.low) * 1e-5
        assert scale.low <= min(known) + room
        assert scale.high >= max(known) - room
        assert scale.ticks[0][0] == scale.low
        assert scale.ticks[-1][0] == pytest.approx(scale.high)
        assert len(scale.ticks) <= 7
        assert min(known) < 0 or scale.low >= 0


def test_scales_leave_out_what_is_not_finite() -> None:
    assert number_scale([math.nan, math.inf]) is None
    scale = number_scale([math.nan, 2.0])
    assert scale is not None
    assert scale.low < 2.0 < scale.high


def test_a_chart_has_its_figures_and_its_size() -> None:
    series = Series(values=(0.0, 20.0, 80.0), marked=(False,) * 3, start_s=NOON_S, end_s=NOON_S + 3)
    lines = time_chart(series, full_scale(80.0 * 1024**3, gib_words), 20, 7, "memory", 0)
    assert len(lines) == 8
    text = [line.text for line in lines]
    assert text[0].startswith(" 80.0 GiB┤")
    assert text[3].startswith(" 40.0 GiB┤")
    assert text[6].startswith("  0.0 GiB┤")


def test_what_was_not_watched_is_pale_and_dotted() -> None:
    series = Series(values=(1.0,) * 4, marked=(True, True, False, False), start_s=NOON_S, end_s=NOON_S + 4)
    scale = number_scale(series.values)
    assert scale is not None
    spans = [span for line in time_chart(series, scale, 20, 3, "loss", 0) for span in line.spans]
    assert ("··", "label") in spans
    assert ("──", "loss") in [(text, style) for text, style in spans if "─" in text]


@pytest.mark.parametrize(
    ("start_s", "seconds", "width", "expected"),
    [
        (NOON_S + 7, 60, 60, ["12:00:15", "12:00:30", "12:00:45", "12:01:00"]),
        (NOON_S + 47, 300, 50, ["12:01", "12:02", "12:03", "12:04", "12:05"]),
        (NOON_S - 600, 86_400, 60, ["15:00", "18:00", "21:00", "00:00", "03:00", "06:00", "09:00"]),
    ],
)
def test_times_are_round(start_s: float, seconds: float, width: int, expected: list[str]) -> None:
    axis = time_axis(Series(start_s=start_s, end_s=start_s + seconds), width, 0)
    assert len(axis) == width
    assert [word for word in axis.split() if word in expected] == expected or set(axis.split()) <= set(expected)
    assert axis.split()


def test_a_time_stands_over_its_moment() -> None:
    axis = time_axis(Series(start_s=NOON_S - 30, end_s=NOON_S + 30), 60, 3600)
    assert axis.index("13:00:00") + 4 == 30


def test_no_calendar_breaks_an_axis() -> None:
    for end_s in (math.inf, math.nan, 1e300):
        assert isinstance(time_axis(Series(start_s=0.0, end_s=end_s), 40, 0), str)


def test_plots_fill_the_room_and_nothing_more() -> None:
    view = scenes.view_of("eight")
    board = board_of(view)
    plots = run_plots(board, view.runs[0].run_id)
    key = SeriesKey(f"gpu:{board.gpus[0].uuid}", "power_w")
    plots += [Plot("a", key, "memory", number_scale), Plot("b", key, "memory", number_scale)]
    looking = Looking(window=1)
    for width, height, rows in ((120, 8, 1), (120, 18, 2), (120, 40, 2), (80, 40, 4), (80, 8, 1)):
        lines = paint_plots(board, plots, looking, width, height)
        assert len(lines) == height
        assert all(cell_len(line.text) <= width for line in lines)
        assert sum("last 5 min" in line.text for line in lines) == rows
    assert paint_plots(board, plots, looking, 120, 3) == []
