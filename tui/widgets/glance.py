"""A run at a glance: how far, how fast, how long, and two charts. Shown where there is room below the advice."""

from __future__ import annotations

from monitor.history.series import SeriesKey
from monitor.types.run import Run
from tui import figures
from tui.widgets.bars import bar
from tui.widgets.board import Board
from tui.widgets.charts import LEAST as CHART_LEAST
from tui.widgets.charts import Plot, gib_words, paint_plots, percent_of, run_plots, up_to
from tui.widgets.detail import Piece, pieces
from tui.widgets.ink import Line, Pen
from tui.widgets.looking import Looking
from tui.widgets.problems import cpu_words
from tui.widgets.run_figures import UNITS, assessment_of, done_ratio, finish_words, least_free, memory_words, pace_label

LEAST = 2
"""Progress and one line of figures."""


def paint_glance(board: Board, run: Run, looking: Looking, width: int, room: int) -> list[Line]:
    """Fill at most `room` lines; nothing where that is too few."""
    if room < LEAST:
        return []
    lines = [_progress(run, width), *pieces(_figures(board, run), width)]
    height = room - len(lines) - 1
    charts = paint_plots(board, _plots(board, run), looking, width, height) if height >= CHART_LEAST else []
    if charts:
        lines += [Pen().line(width), *charts]
    return lines[:room]


def _plots(board: Board, run: Run) -> list[Plot]:
    """Step time and loss, then memory and load of its fullest GPU: the last ones only where there is much room."""
    plots = run_plots(board, run.run_id)
    rows = [row for uuid in run.gpu_uuids if (row := board.row(uuid)) is not None and row.well and row.total_bytes]
    if not rows or run.ended is not None:
        return plots
    fullest = max(rows, key=lambda row: (row.memory_ratio or 0.0, -row.identity.index))
    subject, name = f"gpu:{fullest.uuid}", f"GPU {fullest.label}"
    if not fullest.identity.unified_memory:
        top = up_to(float(fullest.total_bytes or 1), gib_words)
        plots.append(Plot(f"memory of {name}", SeriesKey(subject, "memory_used_bytes:max"), "memory", top))
    plots.append(Plot(f"util of {name}", SeriesKey(subject, "gpu_util_ratio"), "history", percent_of))
    return plots


def _progress(run: Run, width: int) -> Line:
    pen = Pen().gap(2)
    ratio = done_ratio(run)
    if run.step is None:
        return pen.put("its step is not known", "label").line(width)
    pen.put(figures.count(run.step), "strong")
    if run.total is not None:
        pen.put(" of ", "label").put(figures.count(run.total), "strong")
    pen.put(f" {UNITS[run.unit]}", "label")
    if ratio is not None:
        words = figures.percent(ratio)
        filled, empty = bar(ratio, max(0, min(60, width - pen.column - len(words) - 6)))
        pen.gap(2).put(filled, "progress").put(empty, "track").gap(1).put(words, "strong")
    return pen.line(width)


def _figures(board: Board, run: Run) -> list[Piece | None]:
    found = assessment_of(run, board)
    items: list[Piece | None] = []
    if run.step_seconds is not None:
        items.append((pace_label(run), figures.step_time(run.step_seconds)))
    if found is not None and found.remaining_s is not None:
        left = found.remaining_s
        items.append(
            ("left", f"{figures.duration(left.likely)} ({figures.duration(left.low)} – {figures.duration(left.high)})")
        )
        items.append(("finishes", finish_words(found.finish_s, board)))
    items.append(("GPU memory" if run.gpu_uuids else "memory", memory_words((run,))))
    if run.run_id in board.view.least_free:
        items.append(("free at peak", figures.size(least_free((run,), board)[0])))
    if run.cpu_ratio is not None:
        items.append(("CPU", cpu_words(run.cpu_ratio)))
    if run.energy_j is not None:
        items.append(("energy while watched", figures.energy(run.energy_j)))
    saved = run.checkpoint
    if saved is not None and saved.step is not None:
        since = ""
        if saved.written_s is not None:
            since = f", {figures.duration(max(0.0, board.now_s - saved.written_s))} ago"
        items.append(("last checkpoint", f"step {figures.count(saved.step)}{since}"))
    if run.started_s is not None:
        items.append(("started", figures.clock(run.started_s, board.utc_offset_s, board.now_s)))
    return items
