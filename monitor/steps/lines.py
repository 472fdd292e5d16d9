"""Bytes as they arrive become short, clean lines: without carriage returns, line ends, escape codes and holes."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from monitor.clean import clean

HEAD_BYTES = 1024
TAIL_BYTES = 3072
"""What is kept of a longer line: its beginning (`step:118 - …` of lines of many kB) and its end (glued bars)."""
RING_LINES = 400
RING_CHARS = 65536

_ENDS = re.compile(rb"[\r\n]")
_SGR = re.compile(
    r"\x1b\[[0-9;:?]*[ -/]*[I-Zf-zhlmn@`]|\x1b\][^\x07\x1b]{0,512}(?:\x07|\x1b\\)|\x1b[()][0-9A-B]|[\x00\x08]+"
)
_MOVES = re.compile(r"\x1b\[[0-9;]*[A-H]")
"""A cursor that moves up or away ends a piece as a line end does: nested bars are drawn with it."""


@dataclass(frozen=True)
class Line:
    """One piece of text between two ends, clean. Pieces of one row were drawn over each other by carriage returns."""

    text: str
    row: int
    whole: bool = True
    """False for what stands after the last end: the writer may not be through with it."""


def clean_pieces(data: bytes) -> list[str]:
    """The pieces of one stretch of bytes without line ends; empty ones are left out."""
    text = _SGR.sub("", data.decode("utf-8", "replace"))
    pieces = _MOVES.split(text) if "\x1b" in text else [text]
    return [piece for raw in pieces if (piece := clean(raw).strip())]


class LineSplitter:
    """Incremental, bounded: however the bytes are cut into chunks, the lines are the same."""

    def __init__(self) -> None:
        self._head = b""
        self._tail = b""
        self._long = False
        self._row = 0

    def feed(self, data: bytes) -> list[Line]:
        """The pieces that are whole by now."""
        lines: list[Line] = []
        start = 0
        for end in _ENDS.finditer(data):
            self._append(data[start : end.start()])
            start = end.end()
            lines.extend(self._pieces(whole=True))
            self._clear()
            if end.group() == b"\n":
                self._row += 1
        self._append(data[start:])
        return lines

    def pending(self) -> list[Line]:
        """What stands after the last end, if anything; it stays pending."""
        return list(self._pieces(whole=False))

    def forget(self) -> None:
        """Drop what is pending: the bytes that follow are not its continuation."""
        self._clear()
        self._row += 1

    def _clear(self) -> None:
        self._head, self._tail, self._long = b"", b"", False

    def _append(self, data: bytes) -> None:
        if not data:
            return
        if len(self._head) < HEAD_BYTES:
            room = HEAD_BYTES - len(self._head)
            self._head += data[:room]
            data = data[room:]
        if len(self._tail) + len(data) > TAIL_BYTES:
            self._long = True
            self._tail = (self._tail + data[-TAIL_BYTES:])[-TAIL_BYTES:]
        else:
            self._tail += data

    def _pieces(self, *, whole: bool) -> Iterator[Line]:
        if not self._head:
            return
        stretches = (self._head, self._tail) if self._long else (self._head + self._tail,)
        pieces = [piece for stretch in stretches for piece in clean_pieces(stretch)]
        for index, piece in enumerate(pieces):
            yield Line(piece, self._row, whole or index < len(pieces) - 1)


class TextRing:
    """The latest lines as a terminal would show them: a bar that was redrawn is there once, in its last state."""

    def __init__(self) -> None:
        self._rows: deque[tuple[int, str]] = deque(maxlen=RING_LINES)
        self._chars = 0

    def add(self, line: Line) -> None:
        """Take one line."""
        if self._rows and self._rows[-1][0] == line.row:
            self._chars -= len(self._rows.pop()[1])
        if len(self._rows) == RING_LINES:
            self._chars -= len(self._rows[0][1])
        self._rows.append((line.row, line.text))
        self._chars += len(line.text)
        while self._chars > RING_CHARS and len(self._rows) > 1:
            self._chars -= len(self._rows.popleft()[1])

    def last(self, max_chars: int) -> tuple[str, ...]:
        """The latest lines, oldest first, at most `max_chars` in all."""
        chosen: list[str] = []
        room = max_chars
        for _, text in reversed(self._rows):
            room -= len(text) + 1
            if room < 0:
                break
            chosen.append(text)
        return tuple(reversed(chosen))
