"""The upper panel: cards when few, a line a GPU, folded lines, or a grid of cells when many, by the room there is."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tui.widgets.board import Board
from tui.widgets.gpu_cards import MIN_WIDTH, card_height, paint_card
from tui.widgets.gpu_grid import grid_columns, paint_grid
from tui.widgets.gpu_rows import GpuEntry, columns_for, entries_for, paint_entry, paint_heading
from tui.widgets.header import STALE_AFTER_S
from tui.widgets.ink import Line, Pen
from tui.widgets.looking import Looking

CARDS_MOST = 2


@dataclass(frozen=True)
class GpuPanel:
    """The painted panel and what can be selected in it."""

    lines: tuple[Line, ...]
    entries: tuple[GpuEntry, ...]
    stride: int = 0
    """In a grid: entries from one column to the next."""


def paint_gpus(board: Board, looking: Looking, width: int, room: int) -> GpuPanel:
    """Paint into at most `room` lines. Figures that the driver has not renewed for a while are greyed."""
    panel = _paint(board, looking, width, room)
    if (board.driver_waits_s or 0.0) < STALE_AFTER_S:
        return panel
    return replace(panel, lines=tuple(_greyed(line) for line in panel.lines))


def _greyed(line: Line) -> Line:
    return replace(line, spans=tuple((text, "faint" if style == "track" else "label") for text, style in line.spans))


def _paint(board: Board, looking: Looking, width: int, room: int) -> GpuPanel:
    count = len(board.gpus)
    if not count or room < 2:
        return GpuPanel((), ())
    singles = tuple(GpuEntry(row.uuid, (row,)) for row in board.gpus)
    height = card_height(room, count) if count <= CARDS_MOST and width >= MIN_WIDTH else 0
    if height:
        lines = [line for row in board.gpus for line in paint_card(row, board, looking, width, height)]
        return GpuPanel(tuple(lines), singles)
    entries = entries_for(board, room - 1)
    if len(entries) > room - 1:
        return _grid(board, looking, singles, width, room)
    folded = any(len(entry.rows) > 1 for entry in entries)
    columns = columns_for(width, folded=folded)
    heading = paint_heading(columns, looking.span, width, focus=looking.area == "gpus", count=count)
    return GpuPanel((heading, *(paint_entry(entry, columns, board, looking, width) for entry in entries)), entries)


def _grid(board: Board, looking: Looking, singles: tuple[GpuEntry, ...], width: int, room: int) -> GpuPanel:
    columns = grid_columns(board, width, room - 1)
    most = columns.count * (room - 1)
    shown, hidden = singles, 0
    if len(singles) > most:
        shown = _window(singles, looking.gpu, max(1, columns.count * (room - 2)))
        hidden = len(singles) - len(shown)
    lines = paint_grid(looking, columns, [entry.rows[0] for entry in shown], width)
    stride = len(lines) - 1
    if hidden:
        lines.append(Pen().gap(2).put(f"+{hidden} GPUs", "label").put("  tab and ↓ to reach them", "faint").line(width))
    return GpuPanel(tuple(lines[:room]), singles, stride)


def _window(entries: tuple[GpuEntry, ...], key: str, most: int) -> tuple[GpuEntry, ...]:
    """Those that fit, with the selected one among them."""
    at = next((place for place, entry in enumerate(entries) if entry.key == key), 0)
    top = max(0, min(at - most // 2, len(entries) - most))
    return entries[top : top + most]
