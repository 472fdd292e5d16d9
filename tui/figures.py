"""Figures as people read them. Pure text: no colour, no markup, no width beyond what is asked for."""

from __future__ import annotations

import time

GIB = 1024**3


def gib(count: float | None, digits: int = 1) -> str:
    """Bytes as GiB, without the unit; a dash for unknown."""
    return "–" if count is None else f"{count / GIB:.{digits}f}"


def size(count: float | None) -> str:
    """Bytes with the binary unit that fits: "4.7 GiB"."""
    if count is None:
        return "–"
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(value) < 1024 or unit == "TiB":
            return f"{value:.0f} {unit}" if unit == "B" or abs(value) >= 100 else f"{value:.1f} {unit}"
        value /= 1024
    return "–"


def percent(ratio: float | None) -> str:
    """A ratio of 0 to 1 as whole percent."""
    return "–" if ratio is None else f"{ratio * 100:.0f}%"


def energy(joules: float | None) -> str:
    """Joules as "412 Wh" or, from a tenth on, "3.25 kWh"."""
    if joules is None:
        return "–"
    kwh = joules / 3.6e6
    if kwh < 0.1:
        return f"{kwh * 1000:.1f} Wh" if kwh < 0.01 else f"{kwh * 1000:.0f} Wh"
    return f"{kwh:.2f} kWh" if kwh < 10 else f"{kwh:,.1f} kWh"


def count(value: float | None) -> str:
    """A step count with thousands separated: "12,400"; fractions of epochs keep two digits."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"


def step_time(seconds: float | None) -> str:
    """Seconds a step, three significant digits: "1.84 s", "23.1 ms"."""
    if seconds is None:
        return "–"
    if seconds >= 100:
        return f"{seconds:.0f} s"
    if seconds >= 10:
        return f"{seconds:.1f} s"
    if seconds >= 1:
        return f"{seconds:.2f} s"
    if seconds >= 0.1:
        return f"{seconds:.3f} s"
    return f"{seconds * 1000:.3g} ms"


def duration(seconds: float | None) -> str:
    """A duration in the two largest units that matter: "42 s", "3 min 20 s", "15 h 03 min", "2 d 4 h"."""
    if seconds is None:
        return "–"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 600:
        return f"{whole // 60} min {whole % 60:02d} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    if minutes < 24 * 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    hours = round(seconds / 3600)
    return f"{hours // 24} d {hours % 24} h"


def clock(wall_s: float, utc_offset_s: int | None = None, now_s: float | None = None) -> str:
    """A time of day, with the weekday when it is not today and the date when it is a week or more away.

    `utc_offset_s` is that of the node whose stream is shown; without it the viewer's own zone is used.
    """
    then = calendar(wall_s, utc_offset_s)
    text = time.strftime("%H:%M", then)
    if now_s is None:
        return text
    now = calendar(now_s, utc_offset_s)
    if then[:3] == now[:3]:
        return text
    if abs(wall_s - now_s) < 6 * 86400:
        return f"{time.strftime('%a', then)} {text}"
    return f"{time.strftime('%d %b', then)} {text}" if then[0] == now[0] else time.strftime("%d %b %Y", then)


def calendar(wall_s: float, utc_offset_s: int | None) -> time.struct_time:
    """The moment in the node's zone, or the viewer's. One that no calendar has is taken for the nearest that it has."""
    known_s = max(0.0, min(wall_s, _LATEST_S))
    return time.localtime(known_s) if utc_offset_s is None else time.gmtime(max(0.0, known_s + utc_offset_s))


_LATEST_S = 1e11
"""In the year 5138."""
