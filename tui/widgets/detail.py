"""What every detail is made of: labelled figures, two blocks beside each other, and a part of more lines than fit."""

from __future__ import annotations

from collections.abc import Sequence

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
