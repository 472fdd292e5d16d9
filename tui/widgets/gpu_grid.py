"""Many GPUs at once: a cell each, in columns that are read downwards. What a cell tells depends on its width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tui import figures
from tui.widgets.bars import bar
from tui.widgets.board import Board, GpuRow
from tui.widgets.gpu_figures import flag, short_state
from tui.widgets.ink import Hit, Line, Pen, cut, width_of
from tui.widgets.looking import Looking

LOAD = 5
LEAST = 1 + LOAD + 1
"""A cell without its number: the mark of the selection, the load, and a sign for what is wrong."""
RICH = 38
"""From this width on a cell tells everything; wider ones only make the panel longer."""
BAR_MOST = 12
MEMORY_AND_RUN = 11
"""With one cell less than this the memory goes without a digit rather than the run."""
NAME_MOST = 18


@dataclass(frozen=True)
class GridColumns:
    """How many cells stand side by side and what fits into each; 0 hides a figure."""

    count: int
    cell: int
    index: int
    bar: int
    heat: int
    memory: int
    run: int
    flag: int

    @property
    def tail(self) -> int:
        """Cells behind the load, where a word about what is wrong may stand instead of figures."""
        return self.heat + self.memory + self.run + self.flag


def index_width(board: Board) -> int:
    """Cells for the numbers of all GPUs."""
    return max((width_of(row.label) for row in board.gpus), default=1)


def lines_for_all(board: Board, width: int) -> int:
    """The fewest lines, with the heading, in which every GPU is seen."""
    across = max(1, width // (index_width(board) + LEAST))
    return -(-len(board.gpus) // across) + 1


def grid_columns(board: Board, width: int, room: int) -> GridColumns:
    """As many columns as needed to show all in `room` lines below the heading, and no fewer than stay rich."""
    index = index_width(board)
    least = index + LEAST
    needed = -(-len(board.gpus) // max(1, room))
    count = max(1, min(max(needed, width // RICH), width // least))
    cell = width // count
    left = cell - least
    heat, left = _take(left, 5)
    memory, left = _take(left, 5 if left == MEMORY_AND_RUN - 1 else 6)
    run, left = _take(left, 5)
    load_bar, left = _take(left, 5)
    word, left = _take(left, 6)
    more = min(max(0, left), BAR_MOST - load_bar) // 2 if load_bar else 0
    named = min(max(0, left - more), NAME_MOST - run) if run else 0
    return GridColumns(count, cell, index, load_bar + more, heat, memory, run + named, 1 + word)


def _take(left: int, wanted: int) -> tuple[int, int]:
    return (wanted, left - wanted) if left >= wanted else (0, left)


def paint_grid(looking: Looking, c: GridColumns, rows: Sequence[GpuRow], width: int) -> list[Line]:
    """The heading and the cells of these GPUs, column after column."""
    focus = looking.area == "gpus"
    high = -(-len(rows) // c.count)
    used = -(-len(rows) // max(1, high))
    lines = [_heading(c, used, width, focus=focus)]
    for y in range(high):
        pen = Pen()
        hits: list[Hit] = []
        for x in range(used):
            place = x * high + y
            if place >= len(rows):
                continue
            row = rows[place]
            pen.to(x * c.cell)
            _paint_cell(pen, row, c, chosen=focus and looking.gpu == row.uuid)
            hits.append((x * c.cell, (x + 1) * c.cell, f"gpu:{row.uuid}"))
        lines.append(replace(pen.line(width), hits=tuple(hits)))
    return lines


def _heading(c: GridColumns, used: int, width: int, *, focus: bool) -> Line:
    pen = Pen()
    for x in range(used):
        pen.to(x * c.cell)
        word = "GPUs" if x == 0 and c.index + c.bar >= 3 else "#" if x else "GPU"
        style = ("title" if focus else "strong") if x == 0 else "label"
        pen.gap().put(cut(word, c.index + c.bar + 1), style)
        pen.to(x * c.cell + 1 + c.index + c.bar).cell("util", LOAD, "label", "right")
        pen.cell("°C", c.heat, "label", "right").cell("GiB", c.memory, "label", "right")
        if c.run:
            pen.gap().cell("run", c.run - 1, "label")
    return pen.line(width, "band")


def _paint_cell(pen: Pen, row: GpuRow, c: GridColumns, *, chosen: bool) -> None:
    pen.put("▸" if chosen else " ", "own").cell(row.label, c.index, "tab_on" if chosen else "strong", "right")
    sample = row.sample
    if sample is None or not row.well:
        word, style = short_state(sample)
        pen.gap().put(cut(word, c.bar + LOAD + c.tail - 1), style)
        return
    if row.identity.mig_enabled:
        pen.gap().put(cut("split", c.bar + LOAD + c.tail - 1), "label")
        return
    load = sample.gpu_util_ratio
    if c.bar:
        filled, empty = bar(load, c.bar - 1)
        pen.gap().put(filled, "load" if (load or 0) >= 0.3 else "load_low").put(empty, "track")
    pen.cell(figures.percent(load), LOAD, "text" if load is not None else "label", "right")
    word, style = flag(sample)
    loud = style in ("warn", "critical")
    heat = "–" if sample.temperature_c is None else f"{sample.temperature_c:.0f}°"
    beside = c.flag > 1 or c.memory or c.run
    if not loud or beside:
        pen.cell(heat, c.heat, style if "heat" in word else "text", "right")
    if not loud:
        pen.cell(_memory(row, c.memory - 1), c.memory, "text", "right")
        _paint_run(pen, row, c.run)
        pen.put(" " if c.flag > 1 else "").cell(word if c.flag > 1 else "", c.flag - 1, style)
        return
    # What is wrong is said in its word; where that does not fit beside the figures it stands in their place.
    if c.flag > 1:
        pen.cell(_memory(row, c.memory - 1), c.memory, "text", "right")
        _paint_run(pen, row, c.run)
        pen.gap().put(cut(word, c.flag - 1), style)
    elif beside:
        pen.gap().put(cut(word, c.memory + c.run + c.flag - 1), style)
    elif c.heat:
        pen.gap().put(cut(word, c.heat + c.flag - 1), style)
    else:
        pen.put("▲", style)


def _memory(row: GpuRow, room: int) -> str:
    if row.identity.unified_memory or row.sample is None:
        return "–"
    words = figures.gib(row.sample.memory_used_bytes)
    return words if len(words) <= room else figures.gib(row.sample.memory_used_bytes, 0)


def _paint_run(pen: Pen, row: GpuRow, room: int) -> None:
    if not room:
        return
    pen.gap()
    room -= 1
    if row.free:
        pen.cell("free", room, "free")
    elif row.runs:
        letters = row.letters[0] if len(row.letters) == 1 else f"{row.letters[0]}+{len(row.letters) - 1}"
        pen.put(cut(letters, room), "letter")
        left = room - width_of(letters)
        if left > 6 and len(row.runs) == 1:
            pen.gap().cell(row.runs[0].name, left - 1, "text" if row.runs[0].mine else "label")
        else:
            pen.gap(left)
    elif row.others:
        pen.cell(row.others[0].words if room > 6 else "used", room, "label")
    else:
        pen.cell("used" if row.holding is not None and row.holding.state == "held" else "", room, "label")
