"""Foreign text becomes safe text here, once, at the edge where bytes enter.

Command lines, process names, log lines, GPU names and file names can hold terminal escape sequences, bidirectional
overrides or invisible characters. Neither Textual nor Rich filters them, so nothing else may reach a record.
"""

from __future__ import annotations

import re
from typing import NewType

SafeText = NewType("SafeText", str)
"""Text that went through `clean`."""

_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e0fff]"
)
_MARKS = re.compile(
    "([\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{3})[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+"
)


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
    the rest is removed. Longer runs than three combining marks are cut. The result is a fixed point: cleaning it again
    changes nothing.
    """
    if isinstance(text, bytes):
        text = text[: limit * 4].decode("utf-8", "replace")
    if len(text) > limit * 2:
        text = text[: limit * 2]
    text = _UNSAFE.sub(_visible, text)
    text = _MARKS.sub(r"\1", text)
    return SafeText(text if len(text) <= limit else text[: max(0, limit - 1)] + "…")
