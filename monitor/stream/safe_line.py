"""Lines from elsewhere without terminal codes in them.

Our own agent cleans all text where it enters, but a recording or a command on another machine can hold anything, and
what is decoded goes to the screen as it is.
"""

from __future__ import annotations

from typing import Any

import msgspec

from monitor.clean import clean

MAX_TEXT = 4096
_ESCAPES = (b"\\u", b"\\b", b"\\f", b"\\n", b"\\r", b"\\t")
"""How JSON spells control characters. An escaped backslash before such a letter looks the same and costs only time."""
_ORDINARY = bytes(range(0x7F))


def safe_line(line: bytes) -> bytes:
    """The line itself when all its text is clean already, else one whose texts were cleaned.

    Raises:
        msgspec.DecodeError, UnicodeDecodeError, RecursionError: this is no JSON.
    """
    if b"\\" not in line or not any(escape in line for escape in _ESCAPES):
        # Everything else that `clean` changes lies from DEL upwards, and is mostly a few arrows and dashes.
        unusual = line.translate(None, _ORDINARY).decode("utf-8")
        if clean(unusual, len(unusual) + 1) == unusual:
            return line
    return msgspec.json.encode(_cleaned(msgspec.json.decode(line)))


def _cleaned(value: Any) -> Any:  # noqa: ANN401  any JSON
    if isinstance(value, str):
        return clean(value, MAX_TEXT)
    if isinstance(value, list):
        return [_cleaned(each) for each in value]
    if isinstance(value, dict):
        return {clean(key, MAX_TEXT): _cleaned(each) for key, each in value.items()}
    return value
