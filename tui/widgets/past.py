"""Histories as they are drawn: one value a column."""

from __future__ import annotations

import msgspec

from monitor.history.history import History
from monitor.history.series import Series, SeriesKey
from tui.widgets.looking import Window

LEAST_PERIOD_S = 2.0
"""A drawn period is at least so long: a picture that moves each second costs twice the bytes and tells no more."""


def past(history: History, key: SeriesKey, window: Window, columns: int) -> Series:
    """A figure over the window, with a value for each of `columns`; in short windows several columns share a period."""
    periods = max(1, min(columns, int(window.seconds / LEAST_PERIOD_S)))
    series = history.series(key, window.seconds, periods)
    if periods == columns:
        return series
    return msgspec.structs.replace(
        series,
        values=tuple(series.values[column * periods // columns] for column in range(columns)),
        marked=tuple(series.marked[column * periods // columns] for column in range(columns)),
    )
