"""Sends only the changed columns of a line. The one place that knows how Textual's compositor hands out its updates.

Textual 8.2 sends a changed line from its first column, and closes and opens the style for every piece of text. On a
screen that ticks once a second over a slow link that is most of the traffic.
"""

from __future__ import annotations

from functools import lru_cache

from rich.console import Console
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.strip import Strip

_MARK = "x"


def lean(update: CompositorUpdate) -> CompositorUpdate:
    """The same update in fewer bytes, or itself where that is not known how."""
    if isinstance(update, ChopsUpdate):
        return LeanChops(update.chops, update.spans, update.chop_ends)
    if isinstance(update, LayoutUpdate):
        return LeanLayout(update.strips, update.region)
    return update


class LeanLayout(LayoutUpdate):
    """Whole lines, with a style only where it changes."""

    def render_segments(self, console: Console) -> str:
        """Each line of the region in turn."""
        pieces: list[str] = []
        for y, line in enumerate(self.strips, self.region.y):
            pieces.append(f"\x1b[{y + 1};{self.region.x + 1}H")
            pieces.append(_text(Strip.join(line), console))
        return "".join(pieces)


class LeanChops(ChopsUpdate):
    """Parts of lines."""

    def render_segments(self, console: Console) -> str:
        """Each changed stretch: go there, write it, with a style only where it changes."""
        pieces: list[str] = []
        for y, start, end in self.spans:
            for last, (x, strip) in zip(self.chop_ends[y], self.chops[y].items(), strict=False):
                first = max(x, start)
                if strip is None or first >= min(last, end):
                    continue
                pieces.append(f"\x1b[{y + 1};{first + 1}H")
                pieces.append(_text(strip.crop(first - x, min(last, end) - x), console))
        return "".join(pieces)


def _text(strip: Strip, console: Console) -> str:
    system = console._color_system  # noqa: SLF001 - Textual renders with the same
    pieces: list[str] = []
    before: str | None = None
    for text, style, control in strip:
        if control or (style is not None and style.link):
            return strip.render(console)
        opening = "" if style is None else _opening(style, system)
        if opening != before:
            pieces.append("\x1b[0m" + opening if before else opening)
            before = opening
        pieces.append(text)
    if before:
        pieces.append("\x1b[0m")
    return "".join(pieces)


@lru_cache(maxsize=1024)
def _opening(style: Style, system: object) -> str:
    """What switches a style on."""
    return style.render(_MARK, color_system=system).partition(_MARK)[0]  # type: ignore[arg-type]
