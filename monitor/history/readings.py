"""Columns read in equal periods. What is past does not change, so a moving picture reads only its end anew."""

from __future__ import annotations

import math
from typing import NamedTuple

from monitor.history.rings import LEVELS, Column, TimeBase, combine
from monitor.newest import put_newest

MAX_KEPT = 512


class Window(NamedTuple):
    """The periods asked for, counted from the start of the clock."""

    window_s: float
    period_s: float
    first: int
    last: int


class _Kept(NamedTuple):
    window: Window
    fills: int
    settled: int
    """Periods before this one are past."""
    values: tuple[float | None, ...]
    marked: tuple[bool, ...]


class Readings:
    """Remembers the last reading of each column and resolution."""

    def __init__(self) -> None:
        self._kept: dict[tuple[Column, float, float], _Kept] = {}

    def read(self, time: TimeBase, column: Column, window: Window) -> tuple[tuple[float | None, ...], tuple[bool, ...]]:
        """A value and its mark for each period of the window."""
        key = column, window.window_s, window.period_s
        kept = self._kept.get(key)
        values: tuple[float | None, ...] = ()
        marked: tuple[bool, ...] = ()
        begin = window.first
        if kept is not None and kept.fills == time.fills and kept.window.first <= window.first:
            skipped = window.first - kept.window.first
            reused = max(0, min(kept.settled, window.last + 1) - window.first)
            values = kept.values[skipped : skipped + reused]
            marked = kept.marked[skipped : skipped + reused]
            begin = window.first + len(values)
        level = _level(window.window_s)
        fresh = [_read(time, column, level, index, window.period_s) for index in range(begin, window.last + 1)]
        values += tuple(value for value, _ in fresh)
        marked += tuple(mark for _, mark in fresh)
        open_slot = time.open_slot(level)
        settled = (
            window.first if open_slot is None else math.floor(open_slot * LEVELS[level].period_s / window.period_s)
        )
        put_newest(self._kept, key, _Kept(window, time.fills, settled, values, marked), MAX_KEPT)
        return values, marked

    def forget(self, columns: tuple[Column, ...]) -> None:
        """These columns are gone."""
        self._kept = {key: kept for key, kept in self._kept.items() if key[0] not in columns}


def _read(time: TimeBase, column: Column, level: int, index: int, period_s: float) -> tuple[float | None, bool]:
    slots = _slots(index * period_s, period_s, LEVELS[level].period_s)
    value = combine((time.value(column, level, slot) for slot in slots), column.aggregate)
    return (value if value == value else None), any(time.marked(column, level, slot) for slot in slots)


def _level(window_s: float) -> int:
    for index, level in enumerate(LEVELS):
        if window_s <= level.period_s * level.rows:
            return index
    return len(LEVELS) - 1


def _slots(start_s: float, period_s: float, slot_s: float) -> range:
    """The slots that begin within a period; for a period shorter than a slot, the slot that holds its middle."""
    if period_s < slot_s:
        middle = math.floor((start_s + period_s / 2) / slot_s)
        return range(middle, middle + 1)
    return range(math.ceil(start_s / slot_s - 1e-9), math.ceil((start_s + period_s) / slot_s - 1e-9))
