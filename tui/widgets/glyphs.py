"""Drawing where the terminal has no UTF-8: all is painted in Unicode; here it becomes ASCII, cell for cell."""

from __future__ import annotations

from functools import lru_cache

from rich.cells import get_character_cell_size
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

_DRAWN = "━╸─│┤└┬├╭╰╮╯▁▂▃▄▅▆▇█·–−…×°→↘↗↑↓←▸▾▲●○✓✗⏎‖±▶≥≤"
_INSTEAD = "=--||`+|,`.'_.:-=+##.--~x'>\\/^v<>v!*o+x>|~>><"
_ASCII = dict(zip(_DRAWN, _INSTEAD, strict=True))


@lru_cache(maxsize=2048)
def _one(character: str) -> str:
    known = _ASCII.get(character)
    return known if known is not None else "?" * get_character_cell_size(character)


def to_ascii(text: str) -> str:
    """The same text in ASCII, as wide as before; a foreign character becomes a question mark a cell."""
    return text if text.isascii() else "".join(one if one.isascii() else _one(one) for one in text)


class AsciiFilter(LineFilter):
    """Lets nothing but ASCII out, whichever widget drew it."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002
        """The same segments in ASCII."""
        return [Segment(to_ascii(text), style, control) for text, style, control in segments]
