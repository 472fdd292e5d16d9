"""What JSON outputs are made of. No field has a default: unknown is an explicit null that the schema requires."""

from __future__ import annotations

import datetime
import math

import msgspec

from monitor.types.record import Missing, Range


class Output(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The base of every JSON output. Numbers carry their unit in their key."""


class RangeOut(Output, frozen=True, kw_only=True):
    """An 80 % interval in the unit that the key names."""

    low: float
    likely: float
    high: float


class Refusal(Output, frozen=True, kw_only=True):
    """Something that was not judged or not read, and why."""

    subject: str
    reason: str


def finite(value: float | None) -> float | None:
    """The number, or null where it is not one: JSON knows no NaN."""
    return value if value is not None and math.isfinite(value) else None


def range_out(value: Range | None) -> RangeOut | None:
    """A range whose three figures are all finite; else null."""
    if value is None or not all(math.isfinite(part) for part in (value.low, value.likely, value.high)):
        return None
    return RangeOut(low=value.low, likely=value.likely, high=value.high)


def moment(wall_s: float | None, utc_offset_s: int | None = None) -> str | None:
    """A wall-clock time as RFC 3339 with its offset; null where it lies outside what a calendar can say."""
    if wall_s is None or not math.isfinite(wall_s):
        return None
    try:
        if utc_offset_s is None:
            then = datetime.datetime.fromtimestamp(wall_s, datetime.timezone.utc).astimezone()
        else:
            zone = datetime.timezone(datetime.timedelta(seconds=utc_offset_s))
            then = datetime.datetime.fromtimestamp(wall_s, zone)
    except (OverflowError, OSError, ValueError):
        return None
    return then.isoformat(timespec="seconds")


def reasons(missing: tuple[Missing, ...]) -> dict[str, str]:
    """Which fields are missing and why, as one object."""
    return {one.field: one.detail or one.reason for one in missing}


def encode(output: Output) -> bytes:
    """One object on one line, with its line end."""
    return msgspec.json.encode(output) + b"\n"
