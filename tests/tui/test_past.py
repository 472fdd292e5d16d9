"""Histories as they are drawn."""

from __future__ import annotations

from monitor.history.history import History
from monitor.history.series import SeriesKey
from tests.tui.scenes import view_of
from tui.widgets.looking import Window
from tui.widgets.past import LEAST_PERIOD_S, past


def _key(history_of: str) -> tuple[History, SeriesKey]:
    view = view_of(history_of)
    assert view.hello is not None
    return view.history, SeriesKey(f"gpu:{view.hello.gpus[0].uuid}", "gpu_util_ratio")


def test_every_column_has_a_value_and_short_windows_share_periods() -> None:
    history, key = _key("eight")
    drawn = past(history, key, Window(60, "1 min"), 100)
    assert len(drawn.values) == len(drawn.marked) == 100
    whole = history.series(key, 60, int(60 / LEAST_PERIOD_S))
    assert list(dict.fromkeys(drawn.values)) == list(dict.fromkeys(whole.values))
    assert (drawn.start_s, drawn.end_s) == (whole.start_s, whole.end_s)


def test_long_windows_have_a_period_a_column() -> None:
    history, key = _key("eight")
    assert past(history, key, Window(3600, "1 h"), 100) == history.series(key, 3600, 100)
