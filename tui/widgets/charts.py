"""Charts over time with a scale at the left and clock times below, arranged in the room there is."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from monitor.history.series import Series, SeriesKey
from tui import figures
from tui.widgets.bars import chart, curve
from tui.widgets.board import Board
from tui.widgets.detail import side_by_side
from tui.widgets.ink import Line, Pen, width_of
from tui.widgets.looking import Looking
from tui.widgets.past import past
from tui.widgets.scale import Scale, full_scale, number_scale, pace_scale

MARGIN = 10
"""Cells for the scale: the same for all, so that charts below each other share their time axis."""
LEAST = 4
"""Title, time axis and two lines between."""
ROW_LEAST = 9
"""So many lines each are wanted before charts are put below each other."""
BESIDE_LEAST = 100

TIME_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400)

Scaler = Callable[[Sequence[float | None]], Scale | None]


@dataclass(frozen=True)
class Plot:
    """One figure to draw."""

    title: str
    key: SeriesKey
    style: str
    scaler: Scaler


def percent_of(_values: Sequence[float | None]) -> Scale:
    """From 0 to 100 %."""
    return full_scale(1.0, figures.percent)


def up_to(top: float, words: Callable[[float], str]) -> Scaler:
    """From zero to a known limit."""
    return lambda _values: full_scale(top, words)


def gib_words(value: float) -> str:
    """Like "79.6 GiB"."""
    return f"{figures.gib(value)} GiB"


def run_plots(board: Board, run_id: str) -> list[Plot]:
    """Step time and loss of a run, where they are known."""
    return [
        plot
        for plot in (
            Plot("step time", SeriesKey(f"run:{run_id}", "step_seconds"), "pace", pace_scale),
            Plot("loss", SeriesKey(f"run:{run_id}", "loss"), "loss", number_scale),
        )
        if board.view.history.series(plot.key, 86_400, 60).known
    ]


def paint_plots(
    board: Board, plots: Sequence[Plot], looking: Looking, width: int, height: int, across: int = 2
) -> list[Line]:
    """As many of the plots as fit, `across` beside each other, in exactly so many lines as are worth filling."""
    if not plots or height < LEAST:
        return []
    columns = min(across, len(plots)) if width >= BESIDE_LEAST else 1
    rows = max(1, min(-(-len(plots) // columns), height // ROW_LEAST))
    lines: list[Line] = []
    part = width // columns
    for row in range(rows):
        high = height // rows + (1 if row < height % rows else 0)
        blocks = [
            _paint_plot(board, plot, looking, part - (1 if columns > 1 else 0), high)
            for plot in plots[row * columns : (row + 1) * columns]
        ]
        joined = blocks[0]
        for number, block in enumerate(blocks[1:], 1):
            joined = side_by_side(joined, block, part * number, width)
        lines += joined
    return lines


def _paint_plot(board: Board, plot: Plot, looking: Looking, width: int, height: int) -> list[Line]:
    window = looking.span
    series = past(board.view.history, plot.key, window, max(10, width - MARGIN - 1))
    head = Pen().gap(2).put(plot.title, "strong").put(f"  last {window.words}", "label")
    if any(series.marked):
        head.put("  dotted: from its own records", "note")
    scale = plot.scaler(series.values)
    if scale is None:
        return [head.put("  nothing known in this window (w: a longer one)", "label").line(width)]
    return [head.line(width), *time_chart(series, scale, width, height - 2, plot.style, board.utc_offset_s)]


def time_chart(
    series: Series, scale: Scale, width: int, height: int, style: str, utc_offset_s: int | None
) -> list[Line]:
    """The chart in `height` lines and a line with clock times. What was read later, not watched, is pale and dotted."""
    if height < 2:
        return []
    draw = chart if scale.filled else curve
    rows = draw(series.values, height, scale.low, scale.high)
    labels = _labels(scale, height)
    lines = []
    for number, row in enumerate(rows):
        label = labels.get(number, "")
        pen = Pen().cell(label, MARGIN - 1, "label", "right").put("┤" if label else "│", "faint")
        for start, end, marked in _pieces(series.marked, len(row)):
            piece = row[start:end]
            pen.put(piece.replace("─", "·") if marked else piece, "label" if marked else style)
        lines.append(pen.line(width))
    lines.append(Pen().gap(MARGIN).put(time_axis(series, len(series.values), utc_offset_s), "label").line(width))
    return lines


def _labels(scale: Scale, height: int) -> dict[int, str]:
    """Which line of the chart gets which figure: the ends always, and evenly between where there is room."""
    last = len(scale.ticks) - 1
    even = (stride for stride in range(1, last) if last % stride == 0 and (height - 1) * stride >= 2 * last)
    found: dict[int, str] = {}
    for value, words in scale.ticks[:: next(even, last)]:
        share = (value - scale.low) / (scale.high - scale.low)
        found[height - 1 - round(share * (height - 1))] = words
    return found


def _pieces(marked: Sequence[bool], width: int) -> list[tuple[int, int, bool]]:
    """Stretches of a row that were watched, or were not."""
    if not any(marked):
        return [(0, width, False)]
    pieces: list[tuple[int, int, bool]] = []
    for at in range(width):
        mark = marked[at]
        if pieces and pieces[-1][2] == mark:
            pieces[-1] = (pieces[-1][0], at + 1, mark)
        else:
            pieces.append((at, at + 1, mark))
    return pieces


def time_axis(series: Series, width: int, utc_offset_s: int | None) -> str:
    """Round clock times, each with its middle over the moment that it names."""
    span_s = series.end_s - series.start_s
    if not 0 < span_s < math.inf or width <= 0:
        return ""
    step_s = next((step for step in TIME_STEPS_S if step * width / span_s >= (9 if step >= 60 else 12)), 0)
    if not step_s:
        return ""
    form = "%H:%M" if step_s >= 60 else "%H:%M:%S"
    offset_s = figures.calendar(series.end_s, None).tm_gmtoff if utc_offset_s is None else utc_offset_s
    axis = ""
    for count in range(math.ceil((series.start_s + offset_s) / step_s), int((series.end_s + offset_s) // step_s) + 1):
        local_s = count * step_s
        words = time.strftime(form, figures.calendar(local_s, 0))
        column = round((local_s - offset_s - series.start_s) / span_s * width) - width_of(words) // 2
        if column >= len(axis) + (2 if axis else 0) and column + width_of(words) <= width:
            axis = axis.ljust(column) + words
    return axis.ljust(width)
