"""Messages on their way out. A reader that is slow gets the newest state; it never makes the agent wait or grow."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import msgspec

from monitor.stream.codec import encode
from monitor.types.messages import Facts, Fault, Hello, Message, Snapshot, Text
from monitor.types.steps import StepEvent

PIPE_BYTES = 1024 * 1024
MAX_STEPS = 20_000
"""Step events kept for a reader that stands still: about 5 MB, hours of a few runs. Then older ones are thinned."""


def widen_pipe(descriptor: int) -> None:
    """Let the pipe hold several ticks. Where that is refused, or this is no pipe, it stays as it is."""
    try:
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    except (ImportError, AttributeError, OSError):
        return


def descriptor_writer(descriptor: int) -> Callable[[bytes], None]:
    """A function that writes all of its bytes to a descriptor.

    Raises (the function, not this): OSError when nobody reads any more.
    """

    def write(data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]

    return write


def merged(older: Snapshot, newer: Snapshot) -> Snapshot:
    """The newer snapshot with everything of the older one that happened only once: step events and ends."""
    if not older.steps and not older.ended:
        return newer
    return msgspec.structs.replace(
        newer, steps=_thinned(older.steps + newer.steps), ended=(older.ended + newer.ended)[-MAX_STEPS:]
    )


def _thinned(steps: tuple[StepEvent, ...]) -> tuple[StepEvent, ...]:
    if len(steps) <= MAX_STEPS:
        return steps
    middle = len(steps) // 2
    return steps[:middle:2] + steps[middle:]


def encoded(message: Message) -> bytes:
    """The message as a line, or, when it cannot be written so that it can be read back, a fault that says so.

    A number that is not finite becomes `null`, which a required field does not take, and one such field would lose the
    whole tick. Fields that hold `None` are left out, so a `null` is rare enough to look closer.
    """
    try:
        line = encode(message)
        if b":null" in line:
            msgspec.json.decode(line, type=type(message))
    except (msgspec.MsgspecError, UnicodeError, OverflowError, TypeError, ValueError) as error:
        kind, cause = type(message).__name__.lower(), type(error).__name__
        return encode(
            Fault(
                taken_s=message.taken_s,
                boot_s=message.boot_s,
                key=f"unwritable-{kind}",
                source="agent",
                sentence=f"A {kind} could not be sent: a value in it is no valid text or number ({cause}).",
            )
        )
    return line


class Outbox:
    """A queue with a writer thread. Unsent state is replaced by newer state of the same kind; events are kept."""

    def __init__(self, write: Callable[[bytes], None], on_broken: Callable[[], None] = lambda: None) -> None:
        self.broken = False
        """True once the reader is gone."""
        self.replaced = 0
        """Snapshots that a newer one took the place of."""
        self._write = write
        self._on_broken = on_broken
        self._queue: list[Message] = []
        self._changed = threading.Condition()
        self._closing = False
        self._idle = True

    def start(self) -> None:
        """Begin to write on a daemon thread."""
        threading.Thread(target=self._run, name="traintop-writer", daemon=True).start()

    def put(self, message: Message) -> None:
        """Queue a message; never waits."""
        with self._changed:
            if self.broken:
                return
            for position, waiting in enumerate(self._queue):
                if _supersedes(message, waiting):
                    del self._queue[position]
                    message = self._joined(waiting, message)
                    break
            self._queue.append(message)
            self._changed.notify_all()

    def close(self, timeout_s: float) -> bool:
        """Write what is queued, wait at most `timeout_s` for that, and say whether everything went out."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
            return self._changed.wait_for(lambda: self.broken or (self._idle and not self._queue), timeout_s)

    def _joined(self, older: Message, newer: Message) -> Message:
        if isinstance(older, Snapshot) and isinstance(newer, Snapshot):
            self.replaced += 1
            return merged(older, newer)
        if isinstance(older, Facts) and isinstance(newer, Facts):
            latest = {fact.process: fact for fact in older.processes + newer.processes}
            return msgspec.structs.replace(newer, processes=tuple(latest.values()))
        return newer

    def _run(self) -> None:
        try:
            while (message := self._next()) is not None:
                self._write(encoded(message))
        except (OSError, ValueError):  # nobody reads any more, or the file object was closed
            with self._changed:
                self.broken = True
                self._queue.clear()
                self._changed.notify_all()
            self._on_broken()

    def _next(self) -> Message | None:
        with self._changed:
            self._idle = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._queue or self._closing)
            if not self._queue:
                return None
            self._idle = False
            return self._queue.pop(0)


def _supersedes(newer: Message, older: Message) -> bool:
    if type(newer) is not type(older):
        return False
    if isinstance(newer, Fault) and isinstance(older, Fault):
        return newer.key == older.key
    if isinstance(newer, Text) and isinstance(older, Text):
        return newer.process == older.process
    return isinstance(newer, (Snapshot, Facts, Hello))
