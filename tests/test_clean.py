from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.clean import MAX_MARKS, clean

FORBIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Control, format (bidirectional, invisible, tags), surrogates, line and paragraph separators."""


@given(st.one_of(st.binary(max_size=300), st.text(st.characters(), max_size=300)))
def test_no_control_format_or_surrogate_survives(text: str | bytes) -> None:
    for character in clean(text, 200):
        # The few format characters that are left show (Arabic number signs and the like) and turn nothing around.
        assert unicodedata.category(character) not in FORBIDDEN or unicodedata.bidirectional(character) in (
            "AN",
            "AL",
            "L",
        )


@given(st.one_of(st.binary(max_size=300), st.text(st.characters(), max_size=300)), st.integers(0, 250))
def test_bounded_and_a_fixed_point(text: str | bytes, limit: int) -> None:
    once = clean(text, limit)
    assert len(once) <= limit
    assert clean(once, limit) == once


@given(st.text(st.characters(categories=["L", "N", "P", "S"]), max_size=100))
def test_plain_text_stays_as_it_is(text: str) -> None:
    if not any(character in "\u115f\u1160\u3164\uffa0" for character in text):
        assert clean(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;title\x07 \x1b[2J", "^[]0;title^G ^[[2J"),
        ("\x1b]52;c;aGk=\x1b\\", "^[]52;c;aGk=^[\\"),
        ("a\r\nb\tc", "a  b c"),
        ("x\u202egnp.exe", "xgnp.exe"),
        ("a\u200bb\ufeffc\u00add", "abcd"),
        ("\x9b2J", "2J"),
        (b"\x9b2J\xff", "\ufffd2J\ufffd"),
        ("python t.py --layers=[1,[2]] --out=[/data/run]", "python t.py --layers=[1,[2]] --out=[/data/run]"),
        ("python 训练.py --数据=日本語 --e=é", "python 训练.py --数据=日本語 --e=é"),
        ("\U000e0068\U000e0069hidden tag", "hidden tag"),
        ("a\udcffb", "ab"),
        ("", ""),
    ],
)
def test_known_attempts(text: str | bytes, shown: str) -> None:
    assert clean(text) == shown


def test_towers_of_marks_are_cut() -> None:
    assert clean("a" + "\u0300" * 50 + "b") == "a" + "\u0300" * MAX_MARKS + "b"
    # Marks that stand together only once what is between them is gone are cut as well.
    assert clean("a" + "\u0300\u200b" * 50) == "a" + "\u0300" * MAX_MARKS


def test_what_was_cut_says_so() -> None:
    assert clean("abcdef", 4) == "abc…"
    assert clean(b"\x00" * 10_000 + b"end", 8).endswith("…")
    assert clean("\u200b" * 100 + "end", 8) == "…"
    assert clean("abc", 0) == ""


def test_long_input_costs_no_more_than_its_limit() -> None:
    bomb = "\x1b[31m" * 20_000_000
    began = time.thread_time()
    assert len(clean(bomb, 4096)) == 4096
    assert time.thread_time() - began < 0.1
