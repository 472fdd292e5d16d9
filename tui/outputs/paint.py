"""Lines of spans, and how they reach a terminal, a pipe or a terminal without UTF-8."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from monitor.cells import cell_width, cut

_SGR = {"strong": "1", "dim": "2", "good": "32", "warn": "33", "bad": "1;31", "accent": "36", "": ""}

_ASCII = str.maketrans(
    {
        "–": "-",
        "—": "-",
        "−": "-",
        "…": "~",
        "×": "x",
        "·": "|",
        "°": " ",
        "▉": "#",
        "░": ".",
        "─": "-",
        "▶": ">",
        "▲": "!",
        "→": ">",
        "≤": "<=",
        "≥": ">=",
        "’": "'",
    }
)


@dataclass(frozen=True)
class Span:
    """Some text and what it means. State is never told by colour alone: the text says it too."""

    text: str
    role: str = ""
    """strong, dim, good, warn, bad, accent, or nothing."""


Line = tuple[Span, ...]


def line(*parts: Span | str) -> Line:
    """A line of spans; plain text needs no span."""
    return tuple(part if isinstance(part, Span) else Span(part) for part in parts)


def pad(text: str, width: int, *, right: bool = False) -> str:
    """The text in exactly `width` cells."""
    text = cut(text, width)
    room = " " * (width - cell_width(text))
    return room + text if right else text + room


def cut_line(spans: Line, width: int) -> Line:
    """A line in at most `width` cells."""
    kept: list[Span] = []
    room = width
    for span in spans:
        if room <= 0:
            break
        text = cut(span.text, room)
        kept.append(Span(text, span.role))
        room -= cell_width(text)
    return tuple(kept)


def wrapped(sign: Span, sentence: str, width: int) -> list[Line]:
    """A sentence behind a sign, in as many lines as it needs; a word that is too long for a line is cut."""
    room = max(1, width - cell_width(sign.text))
    rows: list[str] = [""]
    for word in sentence.split():
        joined = f"{rows[-1]} {word}" if rows[-1] else word
        if cell_width(joined) <= room or not rows[-1]:
            rows[-1] = joined
        else:
            rows.append(word)
    blank = Span(" " * cell_width(sign.text))
    return [cut_line((blank if at else sign, Span(cut(row, room))), width) for at, row in enumerate(rows)]


def plain(lines: Iterable[Line], *, colours: int = 0, unicode: bool = True) -> str:
    """The lines as text with line ends."""
    return "".join(painted(one, colours=colours, unicode=unicode) + "\n" for one in lines)


def painted(spans: Line, *, colours: int, unicode: bool) -> str:
    """One line: SGR sequences only where there are colours, ASCII only where there is no UTF-8. No trailing blanks."""
    parts: list[str] = []
    for span in spans:
        text = span.text if unicode else ascii_text(span.text)
        code = _SGR.get(span.role, "") if colours else ""
        parts.append(f"\x1b[{code}m{text}\x1b[0m" if code and text.strip() else text)
    return "".join(parts).rstrip(" ")


def ascii_text(text: str) -> str:
    """The text in ASCII: our own signs by look-alikes, foreign characters as "?"."""
    return text if text.isascii() else text.translate(_ASCII).encode("ascii", "replace").decode("ascii")


class OutputLostError(Exception):
    """Nothing can be written to stdout any more. The text is a sentence for the user."""


def write_out(text: str | bytes) -> None:
    """Write to stdout as bytes, so that no encoding of the terminal can make it fail.

    Raises:
        BrokenPipeError: the reader has gone; the command ends quietly then.
        OutputLostError: it cannot be written, for example because the disk is full.
    """
    data = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:  # standard output is closed
        raise OutputLostError("Standard output is closed.")
    try:
        buffer.write(data)
        buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        close_quietly()
        raise OutputLostError(f"Standard output cannot be written: {error.strerror}.") from None


def write_sentence(sentence: str) -> None:
    """One sentence of narration on stderr, which must never fail the command."""
    try:
        sys.stderr.write(sentence.encode("ascii" if not _error_unicode() else "utf-8", "replace").decode() + "\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        return


def _error_unicode() -> bool:
    return "utf" in (getattr(sys.stderr, "encoding", None) or "").lower()


def close_quietly() -> None:
    """After a broken pipe: point stdout at nothing, so that the interpreter's last flush cannot complain."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)


@dataclass(frozen=True)
class Column:
    """One column of a table: how it is aligned and how willingly it is left out."""

    title: str
    right: bool = False
    keep: int = 9
    """Columns with the lowest number go first when the room is short; 9 stays always."""
    most: int = 60
    least: int = 0
    """A column with `least` > 0 shrinks down to it before any column is left out."""


def table(columns: Sequence[Column], rows: Sequence[Sequence[Span]], width: int) -> tuple[list[Line], tuple[str, ...]]:
    """Lines of a table in at most `width` cells, header first, and the titles of the columns that had no room."""
    wanted = [
        min(
            column.most,
            max(cell_width(column.title), *(cell_width(row[index].text) for row in rows))
            if rows
            else len(column.title),
        )
        for index, column in enumerate(columns)
    ]
    shown = list(range(len(columns)))
    least = {at: min(wanted[at], column.least or wanted[at]) for at, column in enumerate(columns)}
    while _total(least, shown) > width and (droppable := [at for at in shown if columns[at].keep < 9]):
        shown.remove(min(droppable, key=lambda at: (columns[at].keep, -at)))
    widths = dict(enumerate(wanted))
    for at in shown:
        widths[at] -= min(max(0, _total(widths, shown) - width), wanted[at] - least[at])
    lines = [
        line(Span(_join(shown, [pad(c.title, widths[i], right=c.right) for i, c in enumerate(columns)]), "dim")),
        *(
            tuple(
                span
                for position, index in enumerate(shown)
                for span in (
                    *((Span("  "),) if position else (Span(" "),)),
                    Span(pad(row[index].text, widths[index], right=columns[index].right), row[index].role),
                )
            )
            for row in rows
        ),
    ]
    return [cut_line(one, width) for one in lines], tuple(
        column.title for index, column in enumerate(columns) if index not in shown
    )


def _join(shown: Sequence[int], cells: Sequence[str]) -> str:
    return " " + "  ".join(cells[index] for index in shown)


def _total(widths: dict[int, int], shown: Sequence[int]) -> int:
    return 1 + sum(widths[index] for index in shown) + 2 * max(0, len(shown) - 1)
