"""What every detail is made of: labelled figures, charts with axes, and a part of more lines than fit."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from monitor.history.series import Series
from tui import figures
from tui.widgets.bars import bounds, chart, curve
from tui.widgets.ink import Line, Pen, cut, width_of

Piece = tuple[str, str]
"""A label and its figure."""


def pieces(items: Sequence[Piece | None], width: int, indent: int = 2) -> list[Line]:
    """Labelled figures one after another, over as many lines as they need."""
    lines: list[Line] = []
    pen = Pen().gap(indent)
    for item in items:
        if item is None:
            continue
        label, figure = item
        cells = width_of(label) + width_of(figure) + 1
        if pen.column > indent and pen.column + 3 + cells > width - 1:
            lines.append(pen.line(width))
            pen = Pen().gap(indent)
        if pen.column > indent:
            pen.gap(3)
        pen.put(f"{label} ", "label").put(cut(figure, max(1, width - pen.column - 1)), "text")
    if pen.column > indent:
        lines.append(pen.line(width))
    return lines


def scrolled(lines: Sequence[Line], top: int, room: int, width: int) -> list[Line]:
    """The part from `top` on that fits, with a count of what lies below."""
    if len(lines) <= room:
        return list(lines)
    top = max(0, min(top, len(lines) - room))
    part = list(lines[top : top + room])
    below = len(lines) - top - room
    if below and part:
        part[-1] = Pen().gap(2).put(f"+{below + 1} lines", "label").put("  shift+↓ or the wheel", "faint").line(width)
    return part


def most_scroll(lines: int, room: int) -> int:
    """The furthest that makes sense to scroll."""
    return max(0, lines - room)


def time_chart(
    series: Series,
    words: Callable[[float], str],
    width: int,
    height: int,
    style: str,
    utc_offset_s: int | None,
    fixed: tuple[float, float] | None = None,
) -> list[Line]:
    """A chart with its scale on the left and clock times below.

    With `fixed` it is filled from that scale's lower end, which should be zero. Without, the values set the scale
    and it is a line.
    """
    scale = fixed or bounds(series.values)
    if scale is None or height < 2:
        return []
    low, high = scale
    top_words, bottom_words = words(high), words(low)
    margin = max(width_of(top_words), width_of(bottom_words)) + 3
    rows = curve(series.values, height, low, high) if fixed is None else chart(series.values, height, low, high)
    lines = []
    for number, row in enumerate(rows):
        label = top_words if number == 0 else bottom_words if number == height - 1 else ""
        pen = Pen().cell(label, margin - 1, "label", "right").put("┤" if label else "│", "faint")
        lines.append(pen.put(row, style).line(width))
    lines.append(Pen().gap(margin).put(time_axis(series, len(series.values), utc_offset_s), "label").line(width))
    return lines


def time_axis(series: Series, width: int, utc_offset_s: int | None) -> str:
    """Clock times at the start, the middle and the end."""
    form = "%H:%M" if series.end_s - series.start_s > 240 else "%H:%M:%S"

    def at(share: float) -> str:
        wall_s = series.start_s + (series.end_s - series.start_s) * share
        return time.strftime(form, figures.calendar(wall_s, utc_offset_s))

    left, middle, right = at(0), at(0.5), at(1)
    if width < 3 * len(left) + 6:
        return f"{left}{right:>{max(1, width - len(left))}}" if width > 2 * len(left) else right
    axis = left.ljust(width // 2 - len(middle) // 2) + middle
    return axis.ljust(width - len(right)) + right


def chart_margin(*texts: str) -> int:
    """Cells that the scale of a chart takes."""
    return max(width_of(text) for text in texts) + 3


def side_by_side(left: Sequence[Line], right: Sequence[Line], middle: int, width: int) -> list[Line]:
    """Two blocks beside each other, the right one from column `middle`."""
    lines = []
    for number in range(max(len(left), len(right))):
        pen = Pen()
        for text, style in left[number].spans if number < len(left) else ():
            pen.put(text, style)
        pen.to(middle)
        for text, style in right[number].spans if number < len(right) else ():
            pen.put(text, style)
        lines.append(pen.line(width))
    return lines
