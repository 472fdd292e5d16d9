"""What a finish time includes and why it moved, in words."""

from __future__ import annotations

from advisor.finish.experts import View
from advisor.finish.stalls import Parted

_NAMES = {"evaluating": "evaluation", "saving": "save", "generating": "generation", "end of epoch": "end of epoch"}
LEAST_SHARE = 0.002
"""Less than this share of the time left is not worth a word."""
CHANGE_RATIO = 1.1
RECENT_RATIO = 0.5
"""A change is told while no more than this share of the steps seen came after it."""
LATE_STRETCHES = 60


def included_words(now: View, step: float, end: float) -> tuple[str, ...]:
    """For example "14 evaluations of 52 s"."""
    whole = max(now.said.values())
    out = []
    for period in now.found:
        count = round(period.ahead(step, end))
        if count and period.cost_s * count >= LEAST_SHARE * whole:
            name = _NAMES.get(period.label)
            every = "" if name else f" (every {period.every:g} steps)"
            out.append(f"{count} {_plural(name or 'pause', count)} of {duration(period.cost_s)}{every}")
    if now.rest and now.rest_s >= 0.01 * whole:
        out.append(f"{duration(now.rest_s)} for pauses that come at no fixed step")
    return tuple(out)


def change_words(parts: Parted, now: View, starts: tuple[float, ...]) -> str:
    """Why the finish time moved by much last, while that is news."""
    last = len(parts.stretches) - 1
    if parts.holes and last - parts.holes[-1].place < LATE_STRETCHES:
        hole = parts.holes[-1]
        return f"it stood still for {duration(hole.excess_s)} before step {hole.until:g}; that is not expected again"
    if len(starts) > 1 and parts.stretches[-1].last - starts[-1] < 100:
        return f"it began again at step {starts[-1]:g}"
    change = now.change
    if change is None or change.before_s <= 0:
        return ""
    ratio = change.after_s / change.before_s
    if max(ratio, 1 / ratio) < CHANGE_RATIO or change.steps_since > RECENT_RATIO * now.steps:
        return ""
    if ratio > 1:
        return f"steps take {ratio:.2g} times as long since about step {change.at_step:.0f}"
    return f"steps are {1 / ratio:.2g} times as fast since about step {change.at_step:.0f}"


def duration(seconds: float) -> str:
    """52 s, 3 min 20 s, 2 h 5 min."""
    if seconds < 10:
        return f"{seconds:.2g} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    minutes = whole // 60
    return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"


def _plural(name: str, count: int) -> str:
    if count == 1:
        return name
    return "ends of epoch" if name == "end of epoch" else f"{name}s"
