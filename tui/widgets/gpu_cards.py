"""One or two GPUs with room to spare: a card each, with charts of load and memory."""

from __future__ import annotations

from monitor.history.series import SeriesKey
from tui import figures
from tui.widgets.bars import bar, chart
from tui.widgets.board import Board, GpuRow
from tui.widgets.gpu_figures import THROTTLES, flag, power_words, state_words
from tui.widgets.gpu_rows import axis
from tui.widgets.ink import Line, Pen, cut, width_of
from tui.widgets.looking import Looking
from tui.widgets.past import past

MIN_WIDTH = 90
MIN_CHART = 3
FIXED_LINES = 4
"""Title, bars, axis, figures."""


def card_height(room: int, count: int) -> int:
    """Lines for the chart of each card in a room, or 0 where cards do not fit."""
    lines = room // max(1, count) - FIXED_LINES
    return min(lines, 10) if lines >= MIN_CHART else 0


def paint_card(row: GpuRow, board: Board, looking: Looking, width: int, height: int) -> list[Line]:
    """A card with charts of `height` lines."""
    target = f"gpu:{row.uuid}"
    chosen = looking.area == "gpus" and looking.gpu == row.uuid
    title = Pen().put("▸" if chosen else " ", "own").put(f"GPU {row.label}", "title" if chosen else "strong").gap(2)
    title.put(row.identity.name, "label")
    words, style = _use(row)
    room = width - title.column - 2
    words = cut(words, room)
    title.to(width - width_of(words) - 1).put(words, style)
    lines = [title.line(width, "band", target)]
    if row.sample is None or not row.well:
        sentence = state_words(row.sample) if row.sample else "no figures yet"
        lines.append(Pen().gap(2).put(sentence, "warn").line(width, "", target))
        return lines
    half = (width - 5) // 2
    lines.append(_bars(row, half, width, target))
    lines.extend(_charts(row, board, looking, half, height, width, target))
    lines.append(_figures(row, width, target))
    return lines


def _use(row: GpuRow) -> tuple[str, str]:
    if row.free:
        return "free", "free"
    if row.runs:
        words = "  ".join(f"{letter} {run.name}" for letter, run in zip(row.letters, row.runs, strict=True))
        return words, "own" if any(run.mine for run in row.runs) else "text"
    return (", ".join(holder.words for holder in row.others), "label") if row.others else ("", "label")


def _bars(row: GpuRow, half: int, width: int, target: str) -> Line:
    sample = row.sample
    load = sample.gpu_util_ratio if sample else None
    pen = Pen().gap(2).cell("util", 7, "label")
    words = figures.percent(load)
    _bar(pen, load, half - 7 - 6, "load" if (load or 0) >= 0.3 else "load_low")
    pen.cell(words, 6, "strong", "right").gap(2).cell("memory", 8, "label")
    used = figures.gib(sample.memory_used_bytes if sample else None)
    memory = f"{used}/{figures.gib(row.total_bytes)} GiB {figures.percent(row.memory_ratio):>4}"
    if row.identity.unified_memory:
        memory = "shared with the CPU"
    room = half - 8 - width_of(memory) - 1
    _bar(pen, row.memory_ratio, room, "memory_high" if (row.memory_ratio or 0) >= 0.97 else "memory")
    pen.gap(1).put(memory, "strong")
    return pen.line(width, "", target)


def _bar(pen: Pen, ratio: float | None, room: int, style: str) -> None:
    filled, empty = bar(ratio, room)
    pen.put(filled, style).put(empty, "track")


def _charts(row: GpuRow, board: Board, looking: Looking, half: int, height: int, width: int, target: str) -> list[Line]:
    window = looking.span
    history = board.view.history
    loads = past(history, SeriesKey(f"gpu:{row.uuid}", "gpu_util_ratio"), window, half).values
    used = past(history, SeriesKey(f"gpu:{row.uuid}", "memory_used_bytes"), window, half).values
    total = float(row.total_bytes or 1)
    left, right = chart(loads, height, 0, 1), chart(used, height, 0, total)
    lines = [
        Pen().gap(2).put(one, "history").gap(2).put(other, "memory").line(width, "", target)
        for one, other in zip(left, right, strict=True)
    ]
    lines.append(Pen().gap(2).put(axis(half, window), "label").gap(2).put(axis(half, window), "label").line(width))
    return lines


def _figures(row: GpuRow, width: int, target: str) -> Line:
    sample = row.sample
    pen = Pen().gap(2)
    if sample is None:
        return pen.line(width, "", target)
    pieces = [
        ("power", f"{power_words([row], limit=True)} W"),
        ("temperature", "–" if sample.temperature_c is None else f"{sample.temperature_c:.0f} °C"),
        ("clock", "–" if sample.sm_mhz is None else f"{sample.sm_mhz} MHz"),
        ("memory accessed", figures.percent(sample.memory_busy_ratio)),
        ("fan", None if sample.fan_ratio is None else figures.percent(sample.fan_ratio)),
    ]
    for name, value in pieces:
        if value is not None and pen.column + width_of(name) + width_of(value) + 4 < width:
            pen.put(f"{name} ", "label").put(value, "text").gap(3)
    word, style = flag(sample)
    if word:
        pen.put(word, style)
        reasons = [reason for reason, _, _ in THROTTLES if reason in sample.throttle]
        if reasons:
            pen.put(" " + ", ".join(reason.replace("_", " ") for reason in reasons), "label")
    return pen.line(width, "", target)
