"""Time stamps at the beginning of a line: with a date, without a year, or of the day only."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from functools import lru_cache

SEARCH_CHARS = 64
AHEAD_S = 2 * 86400.0
"""A date without a year may lie this far ahead of now (zones, wrong clocks); further ahead it is last year's."""
DAY_S = 86400.0
BACK_S = 2 * 3600.0
"""A time of day that lies further back than this is the next day's; less is summer time or another rank's line."""
_NAMES = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_MONTHS = {name: n + 1 for n, name in enumerate(_NAMES.split("|"))}
_TIME = r"(?P<hour>[01]\d|2[0-3]):(?P<minute>[0-5]\d):(?P<second>[0-6]\d)(?:[.,](?P<fraction>\d{1,9}))?"
_CALENDAR = re.compile(
    r"(?<!\d)(20\d\d)[-/](\d\d)[-/](\d\d)[ T_](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(Z|[+-]\d\d:?\d\d)?(?!\d)"
)
_EPOCH_SECONDS = re.compile(r"[\[(]?(1[5-9]\d{8}|2[0-3]\d{8})(\.\d{1,9})?(?=[\s\]),:|])")
_MONTH_FIRST = re.compile(rf"(?<![\d/])(?P<a>\d\d)/(?P<b>\d\d)/(?P<year>20\d\d),? {_TIME}(?!\d)")
_NAMED = re.compile(
    rf"\b(?:(?P<month>{_NAMES}) {{1,2}}(?P<day>\d{{1,2}})|(?P<day2>\d\d)[ -](?P<month2>{_NAMES})[ -](?P<year2>20\d\d))"
    rf",? {_TIME}(?: (?P<year>20\d\d))?(?!\d)"
)
_NO_YEAR = re.compile(rf"^[^\w]{{0,3}}(?:[IWEF](?P<m1>\d\d)(?P<d1>\d\d)|(?P<m2>\d\d)[/-](?P<d2>\d\d)) {_TIME}(?!\d)")
_OF_DAY = re.compile(rf"^[^\w]{{0,3}}(?:\d\d[/.-]\d\d[/.-]\d\d,? )?{_TIME}(?=[\s\]|,)])")
"""A date with two digits for the year names no day for sure: 12/09/24 is one in September or in December."""


def line_time_s(text: str, near_s: float | None = None) -> float | None:
    """Wall clock of a line that begins with a calendar stamp or with seconds since 1970; `None` without one.

    A stamp without a zone is in the zone of the machine that reads it, which is where the run writes. One without a
    year is read only where `near_s`, a time not before it, is given.
    """
    start = text[:SEARCH_CHARS]
    if ":" not in start:
        seconds = _EPOCH_SECONDS.match(start)
        return None if seconds is None else float(seconds.group(1) + (seconds.group(2) or ""))
    match = _CALENDAR.search(start)
    if match is not None:
        year, month, day, hour, minute, second, fraction, zone = match.groups()
        minute_s = _minute_s(int(year), int(month), int(day), int(hour), int(minute), zone)
        return None if minute_s is None else minute_s + int(second) + float("0." + (fraction or "0"))
    seconds = _EPOCH_SECONDS.match(start)
    if seconds is not None:
        return float(seconds.group(1) + (seconds.group(2) or ""))
    return _other_time_s(start, near_s)


def _other_time_s(start: str, near_s: float | None) -> float | None:
    match = _MONTH_FIRST.search(start)
    if match is not None:
        a, b = int(match["a"]), int(match["b"])
        month, day = (b, a) if a > 12 else (a, b)
        return _at(int(match["year"]), month, day, match)
    match = _NAMED.search(start)
    if match is not None:
        month = _MONTHS[match["month"] or match["month2"]]
        day, year = int(match["day"] or match["day2"]), match["year"] or match["year2"]
        return _at(int(year), month, day, match) if year else _latest(month, day, match, near_s)
    match = _NO_YEAR.match(start)
    if match is not None:
        return _latest(int(match["m1"] or match["m2"]), int(match["d1"] or match["d2"]), match, near_s)
    return None


def _latest(month: int, day: int, match: re.Match[str], near_s: float | None) -> float | None:
    """The latest such date that is not ahead of `near_s`."""
    if near_s is None:
        return None
    try:
        year = datetime.fromtimestamp(near_s).year  # noqa: DTZ006
    except (ValueError, OverflowError, OSError):
        return None
    for candidate in (year + 1, year, year - 1):
        time_s = _at(candidate, month, day, match)
        if time_s is not None and time_s <= near_s + AHEAD_S:
            return time_s
    return None


def _at(year: int, month: int, day: int, match: re.Match[str]) -> float | None:
    minute_s = _minute_s(year, month, day, int(match["hour"]), int(match["minute"]), None)
    return None if minute_s is None else minute_s + int(match["second"]) + float("0." + (match["fraction"] or "0"))


class LineClock:
    """The clock of one text: calendar stamps, or times of day that are counted on over midnight."""

    def __init__(self) -> None:
        self._text: str | None = None
        self._read: tuple[float | None, float | None] = (None, None)
        self._days = 0
        self._of_day_s: float | None = None

    def read(self, text: str, near_s: float) -> tuple[float | None, float | None]:
        """Of a line: its wall clock, and seconds on a clock of the text's own where the day is not told."""
        if text != self._text:
            self._text, self._read = text, self._look(text, near_s)
        return self._read

    def _look(self, text: str, near_s: float) -> tuple[float | None, float | None]:
        stamp = line_time_s(text)
        if stamp is not None:
            return stamp, None
        # The year was guessed: good for differences only.
        stamp = line_time_s(text, near_s)
        if stamp is not None:
            return None, stamp
        match = _OF_DAY.match(text[:SEARCH_CHARS])
        if match is None:
            return None, None
        of_day_s = int(match["hour"]) * 3600 + int(match["minute"]) * 60 + int(match["second"])
        time_s = of_day_s + float("0." + (match["fraction"] or "0"))
        if self._of_day_s is not None and time_s < self._of_day_s - BACK_S:
            self._days += 1
        self._of_day_s = time_s
        return None, self._days * DAY_S + time_s


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
