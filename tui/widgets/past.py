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
    # Of whole seconds, as samples come: a period of 2.1 s would now and then begin without one, a hole at "now".
    least_s = LEAST_PERIOD_S if window.seconds % LEAST_PERIOD_S == 0 else 1.0
    periods = max(1, min(columns, int(window.seconds / least_s)))
    series = history.series(key, window.seconds, periods)
    if periods == columns:
        return series
    return msgspec.structs.replace(
        series,
        values=tuple(series.values[column * periods // columns] for column in range(columns)),
        marked=tuple(series.marked[column * periods // columns] for column in range(columns)),
    )
