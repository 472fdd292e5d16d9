"""Follows one store by its descriptor: bounded in bytes a look, safe against truncation, rotation and rewriting."""

from __future__ import annotations

import os
from dataclasses import dataclass

from monitor.steps.formats.line_format import Origin
from monitor.steps.stores.registry import HEAD_BYTES, kind_of
from monitor.steps.stores.store import StoreKind, StorePlan, StoreReader
from monitor.steps.thinning import thin
from monitor.types.documents import Setting
from monitor.types.steps import StepEvent

START_BYTES = 512 * 1024
"""Of a longer file the beginning is read, for settings, and then this much of the end."""
TICK_BYTES = 128 * 1024
"""At most this much a look: some 20 ms of events, 60 ms of short rows. What is left comes in the next look."""
CHUNK_BYTES = 64 * 1024
WHOLE_BYTES = 32 * 1024 * 1024
MAX_EVENTS = 256
SAME_BYTES = 512
"""The beginning by which a file is known again: some loggers write the whole of it anew for one more column."""


@dataclass(frozen=True)
class StorePoll:
    """What one look gave."""

    events: tuple[StepEvent, ...] = ()
    restarted: bool = False
    skipped_bytes: int = 0
    modified_s: float = 0.0
    grew: bool = False


class StoreFollower:
    """The position in one store and its reader. The file is opened by the caller for each look."""

    def __init__(
        self,
        name: str,
        *,
        start_bytes: int = START_BYTES,
        tick_bytes: int = TICK_BYTES,
        most_events: int = MAX_EVENTS,
        plan: StorePlan | None = None,
    ) -> None:
        self.kind: StoreKind | None = None
        self.plan = plan
        """What documents beside the file plan."""
        self._name = name
        self._start_bytes, self._tick_bytes, self._most_events = start_bytes, tick_bytes, most_events
        self._reader: StoreReader | None = None
        self._file: tuple[int, int] | None = None
        self._position = 0
        self._head = b""
        self._written: tuple[int, int] | None = None

    @property
    def file(self) -> tuple[int, int] | None:
        """Device and inode of what is followed."""
        return self._file

    @property
    def is_behind(self) -> bool:
        """Whether the file goes on beyond what was read of it in the latest look."""
        if self._reader is None or self._reader.whole or self._written is None:
            return False
        return self._position < self._written[1]

    def settings(self) -> tuple[Setting, ...]:
        """What the store tells of how the run was set up."""
        return () if self._reader is None else self._reader.settings()

    def poll(self, descriptor: int, origin: Origin) -> StorePoll:
        """Read what is new. Raises OSError when the file cannot be read."""
        status = os.fstat(descriptor)
        file, size = (status.st_dev, status.st_ino), status.st_size
        written = (status.st_mtime_ns, size)
        behind = self._reader is not None and not self._reader.whole and self._position < size
        if file == self._file and written == self._written and not behind:
            return StorePoll(modified_s=status.st_mtime)
        head = _read_at(descriptor, min(size, SAME_BYTES), 0)
        changed = self._file is not None and (file != self._file or not head.startswith(self._head))
        restarted = changed or (self._written is not None and size < self._written[1])
        if restarted and not (self._reader is not None and self._reader.whole and file == self._file):
            self._reader, self._position = None, 0
        self._file, self._written = file, written
        skipped = 0
        if self._reader is None:
            self.kind = kind_of(self._name, _read_at(descriptor, HEAD_BYTES, 0))
            self._reader = None if self.kind is None else self.kind.make()
            self._position = 0
            if self._reader is None:
                return StorePoll(restarted=restarted, modified_s=status.st_mtime)
        self._head = head
        if self.plan is not None:
            self._reader.take_plan(self.plan)
        if self._reader.whole:
            events = self._whole(self._reader, descriptor, size, origin)
        else:
            events, skipped = self._advance(self._reader, descriptor, size, origin)
        return StorePoll(tuple(thin(events, self._most_events)), restarted, skipped, status.st_mtime, grew=True)

    def _whole(self, reader: StoreReader, descriptor: int, size: int, origin: Origin) -> list[StepEvent]:
        if size > WHOLE_BYTES:
            return []
        data = _read_at(descriptor, size, 0)
        return reader.feed(data, origin)

    def _advance(self, reader: StoreReader, descriptor: int, size: int, origin: Origin) -> tuple[list[StepEvent], int]:
        events: list[StepEvent] = []
        skipped, budget, entering = 0, self._tick_bytes, False
        while self._position < size and budget > 0:
            far = size - self._position > self._start_bytes + CHUNK_BYTES
            if far and not reader.needs_all and self._position >= CHUNK_BYTES:
                skipped += size - self._start_bytes - self._position
                self._position, entering = size - self._start_bytes, True
            data = _read_at(descriptor, min(CHUNK_BYTES, size - self._position), self._position)
            if not data:
                break
            start = reader.enter(data, self._position) if entering else 0
            entering = entering and start >= len(data)
            self._position += len(data)
            budget -= len(data)
            if start < len(data):
                events.extend(reader.feed(data[start:], origin))
            if reader.skip_bytes:
                self._position, reader.skip_bytes = self._position + reader.skip_bytes, 0
            if len(events) > 4 * self._most_events:
                events = thin(events, self._most_events)
        return events, skipped


def _read_at(descriptor: int, most: int, position: int) -> bytes:
    os.lseek(descriptor, position, os.SEEK_SET)
    pieces: list[bytes] = []
    while most > 0:
        data = os.read(descriptor, most)
        if not data:
            break
        pieces.append(data)
        most -= len(data)
    return b"".join(pieces)
