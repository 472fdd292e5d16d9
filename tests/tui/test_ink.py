from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tui.widgets.glyphs import to_ascii
from tui.widgets.ink import Pen, cut, cut_start, fit, wrapped
from tui.widgets.line_panel import changed_columns

TEXTS = st.text(
    alphabet=st.characters(codec="utf-8", exclude_categories=("Cc", "Cf", "Cs", "Mn", "Me", "Mc")), max_size=40
)


@given(TEXTS, st.integers(0, 50))
def test_fit_is_exactly_as_wide_as_asked(text: str, width: int) -> None:
    assert cell_len(fit(text, width)) == width


@given(TEXTS, st.integers(0, 50))
def test_cut_keeps_short_texts_and_marks_long_ones(text: str, width: int) -> None:
    short = cut(text, width)
    assert cell_len(short) <= width
    assert short == text or short.endswith("…") or width == 0


@given(TEXTS, st.integers(1, 50))
def test_cut_start_keeps_the_end(text: str, width: int) -> None:
    short = cut_start(text, width)
    assert cell_len(short) <= width
    assert text.endswith(short.removeprefix("…"))


@given(TEXTS)
def test_ascii_is_as_wide_as_before(text: str) -> None:
    assert to_ascii(text).isascii()
    assert cell_len(to_ascii(text)) == cell_len(text)


def test_wide_characters_are_cut_on_a_cell_border() -> None:
    assert cut("訓練データ", 5) == "訓練…"
    assert cut("訓練データ", 4) == "訓…"
    assert fit("訓練データ", 4) == "訓… "


@given(st.lists(st.tuples(TEXTS, st.sampled_from(["text", "label", "own"])), max_size=8), st.integers(1, 60))
def test_a_line_is_never_wider_than_the_screen(spans: list[tuple[str, str]], width: int) -> None:
    pen = Pen()
    for text, style in spans:
        pen.put(text, style)
    assert cell_len(pen.line(width).text) <= width


def test_a_cut_line_says_so() -> None:
    assert Pen().put("abc", "own").put("defgh").line(6).text == "abcde…"
    assert Pen().put("abc", "own").put("def").line(6).text == "abcdef"
    assert Pen().put("abcdef", "own").put("g").line(6).text == "abcde…"


def test_sentences_wrap_between_words() -> None:
    lines = [line.text for line in wrapped("one two three four five six", 14, indent=2, most=2)]
    assert lines == ["  one two", "  three four…"]


def test_only_changed_columns_are_sent() -> None:
    before = Pen().put("0123456789" * 4).line(40)
    after = Pen().put("0123456789" * 3 + "x123456789").line(40)
    assert changed_columns(before, after, 40) == [(30, 31)]
    assert changed_columns(before, Pen().put("0123456789" * 4, "own").line(40), 40) == [(0, 40)]


def test_a_line_with_wide_characters_is_sent_whole() -> None:
    before, after = Pen().put("訓練 1").line(40), Pen().put("訓練 2").line(40)
    assert changed_columns(before, after, 40) == [(0, 40)]
    assert changed_columns(before, before, 40) == [(0, 40)]
