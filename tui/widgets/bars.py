"""Bars, history strips and charts as text. One style a piece, so that the terminal gets one colour change for each."""

from __future__ import annotations

import math
from collections.abc import Sequence

LEVELS = "▁▂▃▄▅▆▇"
"""Seven, not eight: a full block would grow together with the strip of the row above."""
BLOCKS = " ▁▂▃▄▅▆▇█"


def bar(ratio: float | None, width: int) -> tuple[str, str]:
    """The filled and the empty part of a bar, to half a cell. Unknown is an empty bar, above 1 is a full one."""
    if ratio is None or width <= 0:
        return "", "─" * max(0, width)
    halves = round(min(1.0, max(0.0, ratio)) * width * 2)
    if halves == 0 and ratio > 0:
        halves = 1
    filled = "━" * (halves // 2) + ("╸" if halves % 2 else "")
    return filled, "─" * (width - len(filled))


def strip(values: Sequence[float | None], low: float = 0.0, high: float = 1.0) -> str:
    """One character a value; a blank where nothing is known."""
    span = high - low
    top = len(LEVELS) - 1
    if span <= 0:
        return "".join(" " if value is None else LEVELS[0] for value in values)
    return "".join(
        " " if value is None else LEVELS[min(top, max(0, round((value - low) / span * top)))] for value in values
    )


def chart(values: Sequence[float | None], height: int, low: float, high: float) -> list[str]:
    """A filled chart of `height` lines, top line first, eight steps a line."""
    span = high - low or 1.0
    levels = [
        None if value is None else max(1, min(height * 8, round((value - low) / span * height * 8))) for value in values
    ]
    return [
        "".join(" " if level is None else BLOCKS[min(8, max(0, level - row * 8))] for level in levels)
        for row in range(height - 1, -1, -1)
    ]


def curve(values: Sequence[float | None], height: int, low: float, high: float) -> list[str]:
    """A line, for scales that do not begin at zero: a filled chart would make a small change look like a large one.

    Box-drawing characters rather than braille dots, which many terminal fonts lack.
    """
    span = high - low or 1.0
    cells = [[" "] * len(values) for _ in range(height)]
    before: int | None = None
    for x, value in enumerate(values):
        if value is None or not math.isfinite(value):
            before = None
            continue
        y = height - 1 - min(height - 1, max(0, round((value - low) / span * (height - 1))))
        if before is None or before == y:
            cells[y][x] = "─"
        else:
            up = y < before
            cells[before][x] = "╯" if up else "╮"
            cells[y][x] = "╭" if up else "╰"
            for between in range(min(y, before) + 1, max(y, before)):
                cells[between][x] = "│"
        before = y
    return ["".join(row) for row in cells]
