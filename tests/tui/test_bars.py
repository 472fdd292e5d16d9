from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tui.widgets.bars import bar, chart, curve, strip

VALUES = st.lists(st.one_of(st.none(), st.floats(-10, 10)), min_size=1, max_size=60)


def test_a_bar_is_exact_to_half_a_cell() -> None:
    assert bar(0.5, 10) == ("━━━━━", "─────")
    assert bar(0.45, 10) == ("━━━━╸", "─────")
    assert bar(0.0, 10) == ("", "─" * 10)
    assert bar(0.001, 10) == ("╸", "─" * 9), "a little is not nothing"
    assert bar(1.7, 4) == ("━━━━", "")
    assert bar(None, 4) == ("", "────")


@given(st.one_of(st.none(), st.floats(-1, 3)), st.integers(0, 40))
def test_a_bar_has_its_width(ratio: float | None, width: int) -> None:
    filled, empty = bar(ratio, width)
    assert len(filled + empty) == width


def test_unknown_is_a_blank_in_a_strip_and_zero_is_not() -> None:
    assert strip([None, 0.0, 0.5, 1.0]) == " ▁▄▇"


@given(VALUES, st.integers(1, 9))
def test_charts_have_their_size(values: list[float | None], height: int) -> None:
    for rows in (chart(values, height, 0, 5), curve(values, height, -10, 10)):
        assert len(rows) == height
        assert {len(row) for row in rows} == {len(values)}


def test_a_filled_chart_as_a_picture() -> None:
    assert chart([0.0, 0.5, 1.0, None], 2, 0, 1) == ["  █ ", "▁██ "]


def test_a_curve_as_a_picture() -> None:
    assert curve([0.0, 0.0, 2.0, 2.0, 1.0], 3, 0, 2) == ["  ╭─╮", "  │ ╰", "──╯  "]
    assert curve([1.0, None, 1.0], 1, 0, 2) == ["─ ─"]
