"""A source that is read before the screen is there: the first picture sees what comes, the screen gets all of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from monitor.stream.source import MessageSource
from monitor.types.messages import Message
from monitor.types.requests import Request
from tui.commands.timing_log import TimingLog

if TYPE_CHECKING:
    from monitor.stream.replay import ReplaySource


class RelayedSource:
    """A source that is read from the very beginning and hands over everything once somebody else starts to listen."""

    def __init__(self, source: MessageSource, log: TimingLog | None = None) -> None:
        self.exit_status = 0
        self._source = source
        self._log = log
        self._lock = threading.Lock()
        self._kept: list[Message] = []
        self._shown = 0
        """How many of the kept ones `early` has given."""
        self._end: str | None = None
        self._on_message: Callable[[Message], None] | None = None
        self._on_end: Callable[[str], None] | None = None

    @property
    def end(self) -> str | None:
        """Why the stream ended; `None` while it goes on."""
        return self._end

    def begin(self) -> None:
        """Start reading."""
        self._source.start(self._take, self._take_end)

    def early(self) -> list[Message]:
        """What has come since the last call, before somebody listens."""
        with self._lock:
            found = self._kept[self._shown :]
            self._shown = len(self._kept)
        return found

    def start(self, on_message: Callable[[Message], None], on_end: Callable[[str], None]) -> None:
        """Hand over what was kept, then everything as it comes."""
        with self._lock:
            for message in self._kept:
                on_message(message)
            self._kept.clear()
            self._on_message, self._on_end = on_message, on_end
            if self._end is not None:
                on_end(self._end)

    def send(self, request: Request) -> None:
        """Ask the source for something."""
        self._source.send(request)

    def close(self) -> None:
        """End the stream."""
        self._source.close()

    def _take(self, message: Message) -> None:
        if self._log is not None:
            self._log.note(message)
        with self._lock:
            if self._on_message is not None:
                self._on_message(message)
                return
            self._kept.append(message)

    def _take_end(self, reason: str) -> None:
        with self._lock:
            self._end = reason
            self.exit_status = self._source.exit_status
            if self._on_end is not None:
                self._on_end(reason)


class RelayedReplay(RelayedSource):
    """A replay can stand still and change its speed, too."""

    def __init__(self, replay: ReplaySource, log: TimingLog | None = None) -> None:
        super().__init__(replay, log)
        self._replay = replay

    @property
    def speed(self) -> float:
        """Seconds of the recording in one of the viewer's."""
        return self._replay.speed

    def pause(self) -> None:
        """Stand still."""
        self._replay.pause()

    def resume(self) -> None:
        """Go on."""
        self._replay.resume()

    def set_speed(self, speed: float) -> None:
        """Play at another speed."""
        self._replay.set_speed(speed)
