"""Foreign text becomes safe text here, once, at the edge where bytes enter.

Command lines, process names, log lines, GPU names and file names can hold terminal escape sequences, bidirectional
overrides or invisible characters. Neither Textual nor Rich filters them, so nothing else may reach a record.
"""

from __future__ import annotations

import re
from typing import NewType

SafeText = NewType("SafeText", str)
"""Text that went through `clean`."""

MAX_MARKS = 3
"""Combining marks kept after one character. Real scripts need at most three; more climb over the lines above."""

_UNSAFE = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # C0, DEL, C1: what terminals obey
    "\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb"  # invisible, bidirectional
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"  # joiners, fillers and selectors that show as nothing
    "\ud800-\udfff"  # lone surrogates cannot be written to a terminal or to JSON
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # format controls, tags, more selectors
    "]"
)
_MARK = (
    "[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u06d6-\u06dc\u06df-\u06e4\u0730-\u074a"
    "\u07eb-\u07f3\u0816-\u082d\u08d3-\u08ff\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb4-\u0ebc\u0ec8-\u0ecd\u0f71-\u0f84"
    "\u135d-\u135f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\u2de0-\u2dff\u302a-\u302d\u3099\u309a\ua66f-\ua67d"
    "\ua8e0-\ua8f1\ufe00-\ufe0f\ufe20-\ufe2f]"
)
_MARKS = re.compile(f"({_MARK}{{{MAX_MARKS}}}){_MARK}+")


def _visible(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code in (9, 10, 13):
        return " "
    if code < 32:
        return "^" + chr(code + 64)
    return ""


def clean(text: str | bytes, limit: int = 4096) -> SafeText:
    """Foreign text without control, bidirectional, invisible or surrogate characters, at most `limit` code points.

    C0 controls are shown as `^[` and the like, so that a reader sees the attempt; tab and line ends become a space;
    the rest is removed. Longer runs than three combining marks are cut, and text that was cut ends in "…". The result
    is a fixed point: cleaning it again changes nothing. The work is bounded by `limit`, whatever the length of `text`.
    """
    if limit <= 0:
        return SafeText("")
    cut = False
    if isinstance(text, bytes):
        cut = len(text) > limit * 4
        text = text[: limit * 4].decode("utf-8", "replace")
    if len(text) > limit * 2:
        cut = True
        text = text[: limit * 2]
    if not (text.isascii() and text.isprintable()):
        text = _MARKS.sub(r"\1", _UNSAFE.sub(_visible, text))
    if cut or len(text) > limit:
        text = text[: limit - 1] + "…"
    return SafeText(text)
