"""Time stamps at the beginning of a line."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from functools import lru_cache

SEARCH_CHARS = 64
_CALENDAR = re.compile(
    r"(?<!\d)(20\d\d)[-/](\d\d)[-/](\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(Z|[+-]\d\d:?\d\d)?(?!\d)"
)
_EPOCH_SECONDS = re.compile(r"[\[(]?(1[5-9]\d{8}|2[0-3]\d{8})(\.\d{1,9})?(?=[\s\]),:|])")


def line_time_s(text: str) -> float | None:
    """Wall clock of a line that begins with a calendar stamp or with seconds since 1970; `None` without one.

    A stamp without a zone is in the zone of the machine that reads it, which is where the run writes.
    """
    start = text[:SEARCH_CHARS]
    match = _CALENDAR.search(start)
    if match is None:
        seconds = _EPOCH_SECONDS.match(start)
        return None if seconds is None else float(seconds.group(1) + (seconds.group(2) or ""))
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    minute_s = _minute_s(int(year), int(month), int(day), int(hour), int(minute), zone)
    return None if minute_s is None else minute_s + int(second) + float("0." + (fraction or "0"))


@lru_cache(maxsize=1024)
def _minute_s(year: int, month: int, day: int, hour: int, minute: int, zone: str | None) -> float | None:
    try:
        moment = datetime(year, month, day, hour, minute)  # noqa: DTZ001
        return (moment.astimezone() if zone is None else moment.replace(tzinfo=_zone(zone))).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _zone(text: str) -> timezone:
    if text == "Z":
        return timezone.utc
    digits = text[1:].replace(":", "")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-offset if text[0] == "-" else offset)
