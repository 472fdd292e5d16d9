"""Which painter fills the detail, for the selected GPU or the selected run's tab."""

from __future__ import annotations

from monitor.types.run import Run
from tui import figures
from tui.app.options import LiveOptions
from tui.widgets.advice_tab import paint_advice
from tui.widgets.board import Board
from tui.widgets.detail import scrolled
from tui.widgets.gpu_detail import paint_gpu_detail
from tui.widgets.gpu_rows import GpuEntry
from tui.widgets.ink import Line, Pen, plain, width_of
from tui.widgets.log_tab import last_words, log_process, paint_log
from tui.widgets.looking import TABS, Looking
from tui.widgets.memory_tab import paint_memory
from tui.widgets.processes_tab import paint_processes
from tui.widgets.run_figures import loss_words, state_words, step_words
from tui.widgets.run_table import RunRow, loss_number
from tui.widgets.steps_tab import paint_steps

SIBLING_FIXED = 60
"""Cells of a sibling's line beside its name."""

Painted = tuple[list[Line], int]
"""The lines that fit, and how far they can be scrolled."""


def paint_detail(
    board: Board,
    looking: Looking,
    row: RunRow | None,
    entry: GpuEntry | None,
    width: int,
    room: int,
    options: LiveOptions,
) -> Painted:
    """The detail in `room` lines."""
    if room <= 0:
        return [], 0
    if entry is not None:
        return _part(paint_gpu_detail(board, entry, looking, width, room), looking, room, width)
    if row is None:
        return _part(paint_advice(board, None, looking, width, room), looking, room, width)
    if row.is_group:
        return _part(_siblings(board, row, width), looking, room, width)
    run = row.runs[0]
    if TABS[looking.tab] == "log":
        text = board.view.texts.get(process) if (process := log_process(run)) else None
        written = text.lines if text else last_words(board, run)
        return paint_log(board, run, looking, width, room), max(0, len(written) - room + 1)
    return _part(_tab(board, run, looking, width, room, options), looking, room, width)


def _tab(board: Board, run: Run, looking: Looking, width: int, room: int, options: LiveOptions) -> list[Line]:
    name = TABS[looking.tab]
    if name == "memory":
        return paint_memory(board, run, looking, width, room)
    if name == "steps":
        return paint_steps(board, run, looking, width, room)
    if name == "processes":
        signals = options.allow_signals and options.kind == "live"
        return paint_processes(board, run, looking, width, show_arguments=options.show_arguments, signals=signals)
    return paint_advice(board, run, looking, width, room)


def _part(lines: list[Line], looking: Looking, room: int, width: int) -> Painted:
    top = looking.detail_top
    chosen = next((y for y, line in enumerate(lines) if line.target == f"process:{looking.process}"), 0)
    if chosen >= room - 1:
        top = chosen - room + 2
    return scrolled(lines, top, room, width), max(0, len(lines) - room)


def _siblings(board: Board, row: RunRow, width: int) -> list[Line]:
    """A line a run of the sweep, best loss first where there is one: that is what a sweep is for."""
    order = ", the lowest loss first" if any(loss_number(run) is not None for run in row.runs) else ""
    head = plain(f"Siblings of one sweep{order}; enter opens the line.", width, "label", 2)
    names = max(10, min(48, width - SIBLING_FIXED, max(width_of(run.name) for run in row.runs)))
    titles = Pen().gap(2).cell("", 4).cell("run", names, "label").cell("step", 17, "label", "right")
    titles.cell("s/step", 10, "label", "right").cell("loss", 9, "label", "right").gap(2).put("state", "label")
    lines = [head, titles.line(width)]
    for run in sorted(row.runs, key=lambda one: (loss_number(one) is None, loss_number(one) or 0.0)):
        pen = Pen().gap(2).cell(board.letters.get(run.run_id, ""), 4, "letter").cell(run.name, names, "text")
        pen.cell(step_words(run), 17, "text", "right").cell(figures.step_time(run.step_seconds), 10, "text", "right")
        pen.cell(loss_words(run), 9, "text", "right").gap(2)
        words, style = state_words(run, board)
        lines.append(pen.put(words, style).line(width, "", f"run:{run.run_id}"))
    return lines
