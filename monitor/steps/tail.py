"""Follows a growing file by its descriptor: bounded in bytes a tick, safe against truncation, rotation and holes."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass

from monitor.steps.lines import Line, LineSplitter

HEAD_BYTES = 16 * 1024
"""What is read of the beginning of a large file: banners with totals stand there."""
START_BYTES = 128 * 1024
"""Where following begins: this far before the end. Some 1500 bars: enough for a rate, and a twentieth of a second."""
CHUNK_BYTES = 64 * 1024
TICK_BYTES = 1024 * 1024
# Windows, where whole logs are read as well, has only some of these flags.
_OPEN = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"))


class NotAFileError(Exception):
    """What was opened is no regular file. The text is a sentence for the user."""


@dataclass(frozen=True)
class Polled:
    """What one look at a file gave."""

    head: tuple[Line, ...] = ()
    """Lines of the beginning of a large file, on first sight only. Between them and `lines` much was left out."""
    lines: tuple[Line, ...] = ()
    pending: tuple[Line, ...] = ()
    """What stands after the last line end now; comes again, whole, in a later look."""
    skipped_bytes: int = 0
    restarted: bool = False
    """The file is another one, or was cut to less: everything before is void."""
    modified_s: float = 0.0
    grew: bool = False


def open_text(path: str) -> int:
    """A descriptor of a regular file, opened so that nothing can block and nothing is left to a child.

    Raises:
        OSError: it cannot be opened.
        NotAFileError: it is a device, a pipe, a socket or a folder.
    """
    # Asked before as well: opening a named pipe would make us its reader for a moment.
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise NotAFileError("not a regular file")
    descriptor = os.open(path, _OPEN)
    try:
        regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
    except OSError:
        os.close(descriptor)
        raise
    if not regular:
        os.close(descriptor)
        raise NotAFileError("not a regular file")
    return descriptor


def _read_at(descriptor: int, most: int, position: int) -> bytes:
    os.lseek(descriptor, position, os.SEEK_SET)  # pread would do it in one call, but Windows has none
    return os.read(descriptor, most)


class Follower:
    """The position in one file and the line that is not whole yet. The file is opened by the caller for each look."""

    def __init__(self, *, start_bytes: int = START_BYTES, tick_bytes: int = TICK_BYTES) -> None:
        self._start_bytes = start_bytes
        self._tick_bytes = tick_bytes
        self._splitter = LineSplitter()
        self._file: tuple[int, int] | None = None
        self._position = 0
        self.from_start = False
        """True while every byte of the file was read."""

    @property
    def file(self) -> tuple[int, int] | None:
        """Device and inode of what is followed."""
        return self._file

    def poll(self, descriptor: int) -> Polled:
        """Read what is new. Raises OSError when the file cannot be read."""
        status = os.fstat(descriptor)
        file = (status.st_dev, status.st_ino)
        restarted = self._file is not None and (file != self._file or status.st_size < self._position)
        head: tuple[Line, ...] = ()
        skipped = 0
        if self._file is None or restarted:
            self._splitter.forget()
            self._file = file
            head, self._position = self._begin(descriptor, status.st_size)
            skipped = max(0, self._position - HEAD_BYTES) if not self.from_start else 0
        elif status.st_size == self._position:
            return Polled(modified_s=status.st_mtime)
        lines, jumped = self._advance(descriptor, status.st_size)
        return Polled(
            head=head,
            lines=tuple(lines),
            pending=tuple(self._splitter.pending()),
            skipped_bytes=skipped + jumped,
            restarted=restarted,
            modified_s=status.st_mtime,
            grew=True,
        )

    def _begin(self, descriptor: int, size: int) -> tuple[tuple[Line, ...], int]:
        self.from_start = size <= HEAD_BYTES + self._start_bytes
        if self.from_start:
            return (), 0
        beginning = LineSplitter().feed(_read_at(descriptor, HEAD_BYTES, 0))
        position = size - self._start_bytes
        # The first piece is the rest of something: read on to the next end within a little.
        found = _read_at(descriptor, 4096, position)
        cut = min((i for i in (found.find(b"\n"), found.find(b"\r")) if i >= 0), default=-1)
        return tuple(beginning), position + cut + 1

    def _advance(self, descriptor: int, size: int) -> tuple[list[Line], int]:
        jumped = 0
        if size - self._position > self._tick_bytes:
            target = size - self._start_bytes
            jumped = target - self._position
            self._position = target
            self._splitter.forget()
            self.from_start = False
        lines: list[Line] = []
        while self._position < size:
            data = _read_at(descriptor, min(CHUNK_BYTES, size - self._position), self._position)
            if not data:
                break
            self._position += len(data)
            lines.extend(self._splitter.feed(data))
        return lines, jumped
