"""How many cells of a terminal a cleaned text takes, and texts cut to fit. Knows no terminal library."""

from __future__ import annotations

import unicodedata


def cell_width(text: str) -> int:
    """How many terminal cells a cleaned text takes."""
    if text.isascii():
        return len(text)
    return sum(_character_width(character) for character in text)


def cut(text: str, width: int) -> str:
    """The text in at most `width` cells, with … where something is left out."""
    if cell_width(text) <= width:
        return text
    if width <= 0:
        return ""
    kept, used = [], 0
    for character in text:
        cells = _character_width(character)
        if used + cells > width - 1:
            break
        kept.append(character)
        used += cells
    return "".join(kept) + "…"


def _character_width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
