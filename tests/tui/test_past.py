"""Histories as they are drawn."""

from __future__ import annotations

import pytest

from monitor.history.history import History
from monitor.history.series import SeriesKey
from monitor.types.gpu import GpuSample
from monitor.types.messages import Snapshot
from tests.tui.scenes import view_of
from tui.widgets.looking import JUST_BEGUN, WINDOWS, Window
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


@pytest.mark.parametrize("window", [*JUST_BEGUN, *WINDOWS], ids=lambda window: window.words)
def test_now_is_never_a_hole_in_a_short_window(window: Window) -> None:
    history = History()
    key = SeriesKey("gpu:GPU-1", "gpu_util_ratio")
    for second in range(45):
        gpu = GpuSample(uuid="GPU-1", gpu_util_ratio=0.5)
        history.update(Snapshot(taken_s=1e9 + second + 0.3, boot_s=1000.3 + second, gpus=(gpu,)))
        drawn = past(history, key, window, 60)
        assert window.seconds > 60 or drawn.values[-1] is not None


def test_long_windows_have_a_period_a_column() -> None:
    history, key = _key("eight")
    assert past(history, key, Window(3600, "1 h"), 100) == history.series(key, 3600, 100)
