"""Numbers and durations as logs print them."""

from __future__ import annotations

import math
import re

from monitor.types.steps import StepValue

MAX_DIGITS = 32
_SCALES = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_CLOCK = re.compile(r"(?:(\d{1,6}) days?,? )?(?:(\d{1,8}):)?(\d{1,2}):(\d{2}(?:\.\d{1,6})?)")
_WORD = re.compile(
    r"(\d{1,9}(?:\.\d{1,9})?) ?(ms|us|µs|[dhms](?![a-z])|day|hr|hour|min|minute|sec|second)s?(?![A-Za-z])"
    r"(?:,? (?:and )?)?"
)
_UNITS_S = {"d": 86400.0, "day": 86400.0, "h": 3600.0, "hr": 3600.0, "hour": 3600.0}
_UNITS_S |= {"m": 60.0, "min": 60.0, "minute": 60.0, "s": 1.0, "sec": 1.0, "second": 1.0}
_UNITS_S |= {"ms": 1e-3, "us": 1e-6, "µs": 1e-6}


def count(text: str) -> float | None:
    """`1,234`, `1_234`, `3.5`, `1.20k`, `3.00M`; `None` where it is none of these."""
    text = text.replace(",", "").replace("_", "")
    if not text or len(text) > MAX_DIGITS:
        return None
    scale = _SCALES.get(text[-1])
    try:
        number = float(text[:-1] if scale else text)
    except ValueError:
        return None
    return number * (scale or 1.0) if math.isfinite(number) else None


def exact(text: str) -> bool:
    """Whether no digits were lost to a unit prefix."""
    return text[-1:] not in _SCALES


def figure(name: str, text: str) -> StepValue | None:
    """A figure of a step; not-a-number and the infinities travel as text."""
    if not text or len(text) > MAX_DIGITS:
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    if math.isnan(number):
        return StepValue(name=name, value="nan")
    if math.isinf(number):
        return StepValue(name=name, value="inf" if number > 0 else "-inf")
    return StepValue(name=name, value=number)


def duration_s(text: str) -> float | None:
    """`03:25`, `1:02:03`, `63:12:05`, `3 days, 4:05:06`, `1m 32s`, `526ms`, `2 hours and 7.4 seconds` in seconds."""
    text = text.strip()
    match = _CLOCK.fullmatch(text)
    if match is None:
        return _words_s(text)
    days, hours, minutes, seconds = match.groups()
    return int(days or 0) * 86400 + int(hours or 0) * 3600 + int(minutes) * 60 + float(seconds)


def _words_s(text: str) -> float | None:
    if not text or len(text) > 2 * MAX_DIGITS:
        return None
    at, total_s = 0, 0.0
    while at < len(text):
        part = _WORD.match(text, at)
        if part is None:
            return None
        total_s += float(part[1]) * _UNITS_S[part[2]]
        at = part.end()
    return total_s
