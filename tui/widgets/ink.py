"""Lines as painters make them: runs of text, each with the name of a meaning. Colours come later, from the theme."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len, get_character_cell_size

Span = tuple[str, str]
"""Text and the name of its style (see `tui.theme.palette.ROLES`)."""

Hit = tuple[int, int, str]
"""From column, to column (exclusive), and what a click there means."""


@dataclass(frozen=True)
class Line:
    """One line of the screen. Compared as a whole to find out what must be drawn again."""

    spans: tuple[Span, ...] = ()
    back: str = ""
    """Ground of the whole line: "", "band" for headings, "selected", "marked" for the selection without the focus."""
    target: str = ""
    """What a click on the line means, for example "run:4711"."""
    hits: tuple[Hit, ...] = ()

    @property
    def text(self) -> str:
        """The line without its styles."""
        return "".join(text for text, _ in self.spans)


EMPTY = Line()


def width_of(text: str) -> int:
    """Cells that a text takes."""
    return len(text) if text.isascii() else cell_len(text)


def cut(text: str, width: int) -> str:
    """At most `width` cells of a text, cut on a cell border, with an ellipsis where something is lost."""
    if width <= 0:
        return ""
    if len(text) <= width and width_of(text) <= width:
        return text
    if text.isascii():
        return text[: width - 1] + "…"
    taken = 0
    for position, character in enumerate(text):
        size = get_character_cell_size(character)
        if taken + size > width - 1:
            return text[:position] + "…"
        taken += size
    return text


def cut_start(text: str, width: int) -> str:
    """The last `width` cells of a text: what tells a path or a run name apart is often its end."""
    if width_of(text) <= width:
        return text
    kept = text
    while kept and width_of(kept) > width - 1:
        kept = kept[1:]
    return "…" + kept if width > 0 else ""


def fit(text: str, width: int, align: str = "left") -> str:
    """A text cut and padded to exactly `width` cells."""
    text = cut(text, width)
    space = " " * (width - width_of(text))
    if align == "right":
        return space + text
    return text + space


class Pen:
    """Writes one line from left to right."""

    def __init__(self) -> None:
        self._spans: list[Span] = []
        self._hits: list[Hit] = []
        self.column = 0

    def put(self, text: str, style: str = "text", target: str = "") -> Pen:
        """Write text as it is."""
        if not text:
            return self
        cells = width_of(text)
        if target:
            self._hits.append((self.column, self.column + cells, target))
        if self._spans and (self._spans[-1][1] == style or (text.isspace() and style == "text")):
            last, kept = self._spans[-1]
            self._spans[-1] = (last + text, kept)
        else:
            self._spans.append((text, style))
        self.column += cells
        return self

    def cell(self, text: str, width: int, style: str = "text", align: str = "left") -> Pen:
        """Write text cut and padded to a width. Nothing for a width of 0: that column is not shown."""
        return self.put(fit(text, width, align), style) if width > 0 else self

    def gap(self, width: int = 1) -> Pen:
        """Write spaces."""
        return self.put(" " * width) if width > 0 else self

    def to(self, column: int) -> Pen:
        """Write spaces up to a column."""
        return self.gap(column - self.column)

    def line(self, width: int, back: str = "", target: str = "") -> Line:
        """The finished line, cut to a width."""
        spans = tuple(self._spans) if self.column <= width else _cut_spans(self._spans, width)
        return Line(spans, back, target, tuple(self._hits))


def _cut_spans(spans: list[Span], width: int) -> tuple[Span, ...]:
    kept: list[Span] = []
    left = width
    for text, style in spans:
        cells = width_of(text)
        if cells < left:
            kept.append((text, style))
            left -= cells
            continue
        if cells > left or (text, style) is not spans[-1]:
            text = cut(text + " " if cells == left else text, left)
        kept.append((text, style))
        break
    return tuple(kept)


def plain(text: str, width: int, style: str = "text", indent: int = 1) -> Line:
    """A line of one style, indented and cut."""
    return Pen().gap(indent).put(cut(text, width - indent), style).line(width)


def wrapped(text: str, width: int, style: str = "text", indent: int = 1, most: int = 4) -> list[Line]:
    """A sentence over as many lines as it needs, at most `most`; words are kept whole where they fit."""
    room = max(8, width - indent - 1)
    rows: list[str] = []
    row = ""
    for word in text.split(" "):
        if row and width_of(row) + 1 + width_of(word) > room:
            rows.append(row)
            row = word
        else:
            row = f"{row} {word}" if row else word
    rows.append(row)
    if len(rows) > most:
        rows = [*rows[: most - 1], cut(" ".join(rows[most - 1 :]), room)]
    return [plain(row, width, style, indent) for row in rows]
