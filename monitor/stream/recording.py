"""The stream on disk: gzip, whole after every tick, private to its owner, bounded in time.

With `keep_s`, the file is set aside as FILE.1 (taking the place of an older FILE.1) whenever it spans that long, and a
new FILE begins: so at least the last `keep_s` are there, and never more than twice that.
"""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Iterator

from monitor.clean import clean
from monitor.stream.codec import FOREIGN, ForeignStreamError, MessageDecoder, encode
from monitor.types.facts import ProcessFacts
from monitor.types.identity import ProcessIdentity
from monitor.types.messages import Facts, Hello, Message, Snapshot

REPEAT_S = 300.0
"""How often what changes rarely is written again, so that reading can begin in the middle."""
CHUNK_BYTES = 64 * 1024
MAX_INFLATED_BYTES = 1024 * 1024
"""Taken from the decompressor at a time, so that a small file made to unpack into gigabytes fills no memory."""
GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW = 16 + zlib.MAX_WBITS


class RecordingError(Exception):
    """A recording cannot be written or read. The text is a sentence for the user and names the file."""


class RecordingWriter:
    """Writes messages to a file. Each snapshot is flushed, so that what was seen survives a crash."""

    def __init__(self, path: str, *, overwrite: bool = False, keep_s: float | None = None) -> None:
        """Create the file, mode 0600.

        Raises:
            RecordingError: it exists already and `overwrite` is false, or it cannot be made.
        """
        self.path = path
        self.written_bytes = 0
        self._keep_s = keep_s
        self._hello: Hello | None = None
        self._facts: dict[ProcessIdentity, ProcessFacts] = {}
        self._repeated_s: float | None = None
        self._begun_s: float | None = None
        self._descriptor = _create(path, overwrite)
        self._gzip = _compressor()

    def write(self, message: Message) -> None:
        """Add a message.

        Raises:
            RecordingError: the disk is full or gone. What was written before can still be read.
        """
        if self._begun_s is None:
            self._begun_s = self._repeated_s = message.boot_s
        self._remember(message)
        data = self._gzip.compress(encode(message))
        if isinstance(message, Snapshot):
            data += self._gzip.flush(zlib.Z_SYNC_FLUSH)
        self._append(data)
        if isinstance(message, Snapshot):
            self._after_tick(message)

    def close(self) -> None:
        """End the file properly. A file that was never closed reads as well, up to its last tick."""
        if self._descriptor < 0:
            return
        try:
            self._append(self._gzip.flush(zlib.Z_FINISH))
        finally:
            os.close(self._descriptor)
            self._descriptor = -1

    def _remember(self, message: Message) -> None:
        if isinstance(message, Hello):
            self._hello = message
        elif isinstance(message, Facts):
            for fact in message.processes:
                self._facts[fact.process] = fact
        elif isinstance(message, Snapshot):
            for end in message.ended:
                self._facts.pop(end.process, None)

    def _after_tick(self, tick: Snapshot) -> None:
        assert self._begun_s is not None and self._repeated_s is not None  # noqa: S101, PT018  set by the first write
        # A boot clock that went back is another boot: begin anew with both.
        if not self._begun_s <= tick.boot_s:
            self._begun_s = self._repeated_s = tick.boot_s
        if self._keep_s is not None and tick.boot_s - self._begun_s >= self._keep_s:
            self._rotate(tick)
        elif tick.boot_s - self._repeated_s >= REPEAT_S:
            self._repeat(tick)

    def _repeat(self, tick: Snapshot) -> None:
        """Write what changes rarely once more, after a point from which decompression can start."""
        self._repeated_s = tick.boot_s
        data = self._gzip.flush(zlib.Z_FULL_FLUSH)
        if self._hello is not None:
            data += self._gzip.compress(encode(self._hello))
        if self._facts:
            facts = Facts(taken_s=tick.taken_s, boot_s=tick.boot_s, processes=tuple(self._facts.values()))
            data += self._gzip.compress(encode(facts))
        self._append(data + self._gzip.flush(zlib.Z_SYNC_FLUSH))

    def _rotate(self, tick: Snapshot) -> None:
        self.close()
        try:
            os.replace(self.path, self.path + ".1")
        except OSError as error:
            raise RecordingError(f"{clean(self.path)}: cannot be set aside: {error.strerror}.") from error
        self._descriptor = _create(self.path, overwrite=False)
        self._gzip = _compressor()
        self._begun_s = tick.boot_s
        self._repeat(tick)

    def _append(self, data: bytes) -> None:
        rest = memoryview(data)
        try:
            while rest:
                written = os.write(self._descriptor, rest)
                self.written_bytes += written
                rest = rest[written:]
        except OSError as error:
            raise RecordingError(f"{clean(self.path)}: cannot be written: {error.strerror}.") from error


class RecordingReader:
    """The messages of a recording, gzip or plain, in order. Iterate once; `notes` tells what was odd, at the end."""

    def __init__(self, descriptor: int, name: str) -> None:
        self.name = name
        self._descriptor = descriptor
        self._decoder = MessageDecoder()
        self._notes: list[str] = []
        self._cut_off = False

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on what could not be read so far."""
        return tuple(self._notes)

    def close(self) -> None:
        """Give the file back."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __iter__(self) -> Iterator[Message]:
        """Every message.

        Raises:
            ForeignStreamError: this is no recording of ours; names the file.
        """
        try:
            for data in self._chunks():
                yield from self._decoder.feed(data)
        except ForeignStreamError as error:
            raise ForeignStreamError(f"{self.name}: {error}") from None
        finally:
            self.close()
        if not self._decoder.understood:
            raise ForeignStreamError(self._nothing_in_it())
        if self._cut_off or self._decoder.cut_off:
            self._notes.append(
                f"{self.name} has no proper end: it was cut off, or is still being written. What is there is shown."
            )
        if self._decoder.unknown:
            self._notes.append(
                f"{self.name} holds {self._decoder.unknown} messages of a kind that this version does not know."
            )
        if self._decoder.broken:
            lines = "one line" if self._decoder.broken == 1 else f"{self._decoder.broken} lines"
            self._notes.append(f"{self.name} holds {lines} that cannot be read.")

    def _nothing_in_it(self) -> str:
        if self._decoder.foreign:
            return f"{self.name}: {FOREIGN}"
        if self._cut_off or self._decoder.cut_off:
            return f"{self.name}: there is no whole message in it; it breaks off before the first."
        return f"{self.name}: there is no message in it."

    def _chunks(self) -> Iterator[bytes]:
        first = self._read()
        if len(first) == 1:  # a pipe may hand over a single byte; the format shows in two
            first += self._read()
        if not first.startswith(GZIP_MAGIC):
            data = first
            while data:
                yield data
                data = self._read()
            return
        yield from self._inflated(first)

    def _inflated(self, data: bytes) -> Iterator[bytes]:
        inflater = zlib.decompressobj(_GZIP_WINDOW)
        while True:
            try:
                out = inflater.decompress(data, MAX_INFLATED_BYTES)
            except zlib.error:
                if not self._decoder.understood:
                    raise ForeignStreamError("This gzip file is damaged from its beginning.") from None
                self._cut_off = True
                return
            yield out
            ended = inflater.eof
            data = inflater.unused_data if ended else inflater.unconsumed_tail
            if ended:
                inflater = zlib.decompressobj(_GZIP_WINDOW)  # another member: a recording that was added to
            if not data and not (data := self._read()):
                self._cut_off = not ended
                return

    def _read(self) -> bytes:
        try:
            return os.read(self._descriptor, CHUNK_BYTES)
        except OSError as error:
            raise ForeignStreamError(f"It cannot be read: {error.strerror}.") from None


def open_recording(path: str) -> RecordingReader:
    """A recording by its path, or standard input for "-".

    Raises:
        RecordingError: there is no such regular file, or it may not be read.
    """
    if path == "-":
        try:
            return RecordingReader(os.dup(0), "standard input")
        except OSError as error:
            raise RecordingError(f"standard input cannot be read: {error.strerror}.") from None
    name = clean(path)
    try:
        # Not blocking: opening a named pipe would wait for a writer for ever.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError) as error:
        cause = error.strerror if isinstance(error, OSError) else error
        raise RecordingError(f"{name}: cannot be opened: {cause}.") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise RecordingError(f"{name}: is not a regular file; to read from a pipe, use - and redirect it.")
    return RecordingReader(descriptor, name)


def read_all(path: str) -> Iterator[Message]:
    """Every message of a recording, as fast as it can be read.

    Raises:
        RecordingError: the file cannot be opened.
        ForeignStreamError: it is no recording of ours.
    """
    return iter(open_recording(path))


def _compressor() -> zlib._Compress:
    return zlib.compressobj(6, zlib.DEFLATED, _GZIP_WINDOW)


def _create(path: str, overwrite: bool) -> int:
    name = clean(path)
    try:
        if overwrite and stat.S_ISREG(os.lstat(path).st_mode):
            os.unlink(path)  # never written through: the name may be a link, or others may hold the old file open
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        raise RecordingError(f"{name}: cannot be replaced: {error}.") from None
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    except FileExistsError:
        raise RecordingError(f"{name}: exists already; nothing was written.") from None
    except (OSError, ValueError) as error:
        cause = error.strerror if isinstance(error, OSError) else error
        raise RecordingError(f"{name}: cannot be created: {cause}.") from None
