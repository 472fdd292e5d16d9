"""GPUs as one line each, or the GPUs of one run folded into a line with its outliers beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from monitor.history.series import SeriesKey
from monitor.types.gpu import GpuSample
from tui import figures
from tui.widgets.bars import bar, strip
from tui.widgets.board import Board, GpuRow
from tui.widgets.gpu_figures import flag, mean, memory_words, outliers, power_words, span, state_words
from tui.widgets.header import fold_numbers
from tui.widgets.ink import Line, Pen, cut, width_of
from tui.widgets.looking import Looking, Window
from tui.widgets.past import past

WATCHED_S = 3.0
"""A state that a GPU is in so soon after the beginning was there before."""
NARROW = 108
"""Below this the history is worth more than power limits and clocks."""
WIDE = 160
"""From this width on memory has a history beside the one of the load."""
HISTORY_MOST = 120


@dataclass(frozen=True)
class GpuColumns:
    """Widths of the columns; 0 hides one."""

    index: int
    load_bar: int
    load: int
    history: int
    memory_bar: int
    memory_history: int
    memory: int
    memory_share: int
    power: int
    limit: bool
    heat: int
    clock: int
    flag: int
    run: int


@dataclass(frozen=True)
class GpuEntry:
    """One selectable line of the panel: a GPU, or several folded."""

    key: str
    rows: tuple[GpuRow, ...]


def columns_for(width: int, *, folded: bool) -> GpuColumns:
    """What fits, the history growing with the width."""
    wide = 2 if folded else 0  # ranges take more room than numbers
    index, load, power, heat = 3 + 2 * wide, 5 + wide, 9 + 2 * wide, 4 + wide
    if width < NARROW:
        columns = GpuColumns(index, 6, load, 0, 8, 0, 12, 0, power - 5, False, heat, 0, 7, 0)
    elif width < 150:
        columns = GpuColumns(index, 8, load, 0, 12, 0, 12, 5, power, True, heat, 0 if folded else 5, 7, 0)
    else:
        columns = GpuColumns(index, 12, load, 0, 16, 0, 12, 5, power, True, heat, 6 + 2 * wide, 7, 0)
    spare = width - _used(columns)
    run = min(28, max(8, spare * 3 // 7)) if width >= NARROW else min(16, max(6, spare * 3 // 5))
    history = min(HISTORY_MOST, spare - run - 2)
    strips = {"history": history if history >= 8 else 0}
    if width >= WIDE:
        half = min(HISTORY_MOST, (spare - run - 4) // 2)
        strips = {"history": half, "memory_history": half}
    return GpuColumns(**{**columns.__dict__, "run": run, **strips})


def _used(c: GpuColumns) -> int:
    widths = (c.index, c.load_bar + c.load, c.memory_bar + c.memory + c.memory_share, c.power, c.heat, c.clock, c.flag)
    return 3 + sum(widths) + 2 * 3 + 3 + 2


def entries_for(board: Board, room: int) -> tuple[GpuEntry, ...]:
    """A line a GPU where there is room, else the GPUs of each run folded, each outlier on its own line."""
    single = tuple(GpuEntry(row.uuid, (row,)) for row in board.gpus)
    if len(single) <= max(1, room):
        return single
    return fold(board)


def fold(board: Board) -> tuple[GpuEntry, ...]:
    """GPUs that do the same thing in one entry, in the order of their first."""
    groups: dict[tuple[object, ...], list[GpuRow]] = {}
    rows = board.gpus
    for row in rows:
        groups.setdefault(_same(row), []).append(row)
    entries: list[tuple[int, GpuEntry]] = []
    position = {row.uuid: place for place, row in enumerate(rows)}
    for group in groups.values():
        apart = outliers(group, board.view.history)[:2]
        rest = [row for row in group if row not in apart]
        entries += [(position[row.uuid], GpuEntry(row.uuid, (row,))) for row in apart]
        if rest:
            key = rest[0].uuid if len(rest) == 1 else f"fold:{rest[0].uuid}"
            entries.append((position[rest[0].uuid], GpuEntry(key, tuple(rest))))
    return tuple(entry for _, entry in sorted(entries, key=lambda item: item[0]))


def _same(row: GpuRow) -> tuple[object, ...]:
    if not row.well:
        return ("alone", row.uuid)
    if row.runs:
        return ("runs", *(run.run_id for run in row.runs))
    if row.free:
        return ("free", row.identity.name)
    return ("others", *(holder.words for holder in row.others)) if row.others else ("alone", row.uuid)


def paint_heading(c: GpuColumns, window: Window, width: int, *, focus: bool, count: int) -> Line:
    """The names of the columns; the history's name is its time axis."""
    pen = Pen().gap().put("GPUs" if count != 1 else "GPU", "title" if focus else "strong")
    pen.to(2 + c.index).gap(1)
    pen.cell("util", c.load_bar + c.load, "label")
    if c.history:
        pen.gap(2).cell(axis(c.history, window), c.history, "label")
    pen.gap(2).cell("memory GiB", c.memory_bar + c.memory + c.memory_share, "label")
    if c.memory_history:
        pen.gap(2).cell(axis(c.memory_history, window), c.memory_history, "label")
    pen.gap(2).cell("power W" if c.power > 6 else "W", c.power, "label", "right").gap(1).cell(
        "°C", c.heat, "label", "right"
    )
    pen.gap(1).cell("MHz", c.clock, "label", "right").gap(1 + c.flag + 1).cell("run", c.run, "label")
    return pen.line(width, "band")


def axis(width: int, window: Window) -> str:
    """The time axis over a history of this width: "−5 min", blanks, "now"."""
    left = f"−{window.words}"
    if width < width_of(left) + 5:
        return cut(left, width)
    return left + " " * (width - width_of(left) - 3) + "now"


def paint_entry(entry: GpuEntry, c: GpuColumns, board: Board, looking: Looking, width: int) -> Line:
    """The line of a GPU or of several."""
    rows = entry.rows
    chosen = looking.gpu == entry.key
    back = "selected" if chosen and looking.area == "gpus" else ""
    pen = Pen().put("▸" if back == "selected" else " ", "own")
    first = rows[0]
    indent = " " if first.identity.mig_parent_uuid else ""
    pen.cell(indent + fold_numbers([row.label for row in rows]), c.index + 1, "text").gap(1)
    if not first.well:
        return _paint_unwell(pen, board, first, width, back, entry.key)
    if first.identity.mig_enabled:
        pen.put("split into MIG instances", "label").to(_flag_column(c))
        _paint_tail(pen, rows, c)
        return pen.line(width, back, f"gpu:{entry.key}")
    _paint_load(pen, rows, c)
    if c.history:
        pen.gap(2).put(history_strip(board, rows, c.history, looking.span), "history")
    _paint_memory(pen, rows, c)
    if c.memory_history:
        pen.gap(2).put(memory_strip(board, rows, c.memory_history, looking.span), "memory")
    pen.gap(2).cell(power_words(rows, limit=c.limit), c.power, "text", "right").gap(1)
    heats = span(row.sample.temperature_c for row in rows if row.sample)
    loud = flag(first.sample)
    pen.cell(heats + ("°" if heats != "–" else ""), c.heat, loud[1] if "heat" in loud[0] else "text", "right")
    pen.gap(1).cell(span(row.sample.sm_mhz for row in rows if row.sample), c.clock, "label", "right")
    _paint_tail(pen, rows, c)
    return pen.line(width, back, f"gpu:{entry.key}")


def _flag_column(c: GpuColumns) -> int:
    middle = c.load_bar + c.load + (2 + c.history if c.history else 0)
    middle += 2 + c.memory_history if c.memory_history else 0
    return c.index + 3 + middle + 2 + c.memory_bar + c.memory + c.memory_share + 2 + c.power + 1 + c.heat + 1 + c.clock


def _paint_unwell(pen: Pen, board: Board, row: GpuRow, width: int, back: str, key: str) -> Line:
    sample = row.sample
    if sample is None:
        return pen.put("no figures yet", "label").line(width, back, f"gpu:{key}")
    style = "label" if sample.state == "asleep" else "critical" if sample.state == "lost" else "warn"
    if sample.state in ("lost", "needs_reset", "error"):
        pen.put("▲ ", style)
    letters = " ".join(row.letters[:4])
    room = width - pen.column - (width_of(letters) + 3 if letters else 1)
    pen.put(cut(since_words(board, sample) + state_words(sample), room), style)
    if row.letters:
        pen.gap(2).put(letters, "letter")
    return pen.line(width, back, f"gpu:{key}")


def since_words(board: Board, sample: GpuSample) -> str:
    """Like "since 12:03: ", where the change was watched; of what was so before, nobody here knows since when."""
    since_s, first_s = sample.state_since_s, board.view.first_s
    if since_s is None or first_s is None or since_s - first_s < WATCHED_S:
        return ""
    return f"since {figures.clock(since_s, board.utc_offset_s, board.now_s)}: "


def _paint_load(pen: Pen, rows: Sequence[GpuRow], c: GpuColumns) -> None:
    loads = [row.sample.gpu_util_ratio for row in rows if row.sample]
    load = mean(loads)
    filled, empty = bar(load, c.load_bar)
    pen.put(filled, "load" if (load or 0) >= 0.3 else "load_low").put(empty, "track")
    words = span(loads, 100, "%")
    pen.cell(words, c.load, "text" if words != "–" else "label", "right")


def _paint_memory(pen: Pen, rows: Sequence[GpuRow], c: GpuColumns) -> None:
    pen.gap(2)
    fullest = max((row.memory_ratio or 0.0, row.uuid) for row in rows)[0]
    if rows[0].identity.unified_memory:
        pen.cell("shared with the CPU", c.memory_bar + c.memory + c.memory_share, "label")
        return
    unknown = all(row.memory_ratio is None for row in rows)
    filled, empty = bar(None if unknown else fullest, c.memory_bar)
    pen.put(filled, "memory_high" if fullest >= 0.97 else "memory").put(empty, "track")
    pen.cell(memory_words(rows), c.memory, "text", "right")
    if c.memory_share:
        pen.cell(figures.percent(None if unknown else fullest), c.memory_share, "label", "right")


def _paint_tail(pen: Pen, rows: Sequence[GpuRow], c: GpuColumns) -> None:
    loudest = max((flag(row.sample) for row in rows), key=lambda item: _loudness(item[1], item[0]))
    pen.gap(1).cell(loudest[0], c.flag, loudest[1]).gap(1)
    first = rows[0]
    if first.free:
        pen.cell("free", c.run, "free")
    elif first.runs:
        letters = " ".join(first.letters[:3]) + (f" +{len(first.letters) - 3}" if len(first.letters) > 3 else "")
        pen.put(cut(letters, c.run), "letter")
        left = c.run - width_of(letters) - 1
        if left >= 6 and len(first.runs) == 1:
            pen.gap(1).cell(first.runs[0].name, left, "text" if first.runs[0].mine else "label")
        elif left >= 6 and first.others:
            pen.gap(1).cell(f"+ {first.others[0].words}", left, "label")
    elif first.others:
        more = f" +{len(first.others) - 1}" if len(first.others) > 1 else ""
        pen.put(cut(first.others[0].words, c.run - width_of(more)) + more, "label")
    elif first.holding is not None and first.holding.state == "held":
        pen.cell("in use", c.run, "label")


def _loudness(style: str, words: str) -> int:
    return {"critical": 3, "warn": 2}.get(style, 1 if words else 0)


def history_strip(board: Board, rows: Sequence[GpuRow], width: int, window: Window) -> str:
    """The utilisation over a window; of several GPUs the mean of at most eight, taken evenly."""
    step = max(1, len(rows) // 8)
    series = [
        past(board.view.history, SeriesKey(f"gpu:{row.uuid}", "gpu_util_ratio"), window, width).values
        for row in rows[::step][:8]
    ]
    if len(series) == 1:
        return strip(series[0])
    return strip([mean(values) for values in zip(*series, strict=True)])


def memory_strip(board: Board, rows: Sequence[GpuRow], width: int, window: Window) -> str:
    """The memory in use over a window; of several GPUs that of the fullest one now."""
    row = max(rows, key=lambda one: one.memory_ratio or 0.0)
    if not row.total_bytes or row.identity.unified_memory:
        return " " * width
    key = SeriesKey(f"gpu:{row.uuid}", "memory_used_bytes:max")
    return strip(past(board.view.history, key, window, width).values, 0.0, float(row.total_bytes))
