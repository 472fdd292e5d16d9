"""What is taken for a terminal, for UTF-8 and for colours."""

from __future__ import annotations

import pytest

from tui.terminal.ability import colour_count, light_background, unicode_works


@pytest.mark.parametrize(
    ("env", "encoding", "works"),
    [
        ({"LANG": "en_US.UTF-8"}, "utf-8", True),
        ({"LC_ALL": "POSIX", "LANG": "en_US.UTF-8"}, "utf-8", False),
        ({"LC_ALL": "C"}, "utf-8", False),
        ({"LANG": "C"}, "utf-8", False),
        ({"LANG": "C.utf8"}, "utf-8", True),
        ({"LC_CTYPE": "de_DE.UTF-8", "LANG": "C"}, "utf-8", True),
        ({}, "utf-8", True),
        ({"LANG": "en_US.UTF-8"}, "ascii", False),
        ({"LANG": "en_US.UTF-8", "PYTHONIOENCODING": "ascii"}, "utf-8", False),
        ({"LANG": "en_US.UTF-8", "PYTHONIOENCODING": ":replace"}, "utf-8", True),
    ],
)
def test_unicode_follows_the_locale_that_the_user_set(env: dict[str, str], encoding: str, works: bool) -> None:
    assert unicode_works(env, encoding) is works


@pytest.mark.parametrize(
    ("env", "is_terminal", "count"),
    [
        ({"TERM": "xterm-256color"}, True, 256),
        ({"TERM": "xterm", "COLORTERM": "truecolor"}, True, 16_777_216),
        ({"TERM": "linux"}, True, 16),
        ({"TERM": "xterm-256color"}, False, 0),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, True, 0),
        ({"TERM": "xterm-256color", "FORCE_COLOR": "1"}, False, 256),
        ({"TERM": "xterm", "FORCE_COLOR": "1", "NO_COLOR": "1"}, False, 0),
        ({"TERM": "dumb"}, True, 0),
        ({}, True, 0),
    ],
)
def test_colours(env: dict[str, str], is_terminal: bool, count: int) -> None:
    assert colour_count(env, is_terminal) == count


@pytest.mark.parametrize(("value", "light"), [("0;15", True), ("15;0", False), ("0;default;7", True), ("", False)])
def test_light_background(value: str, light: bool) -> None:
    assert light_background({"COLORFGBG": value}) is light
