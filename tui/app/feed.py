"""From the stream's thread to the screen: every message goes into the view, the screen gets the newest view only."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from textual.message import Message as UiMessage

from monitor.stream.source import MessageSource
from monitor.types.messages import Facts, Message
from tui.view import View, ViewBuilder


class ViewReady(UiMessage):
    """There is a new view. An older one that still waits is dropped."""

    def __init__(self, view: View) -> None:
        super().__init__()
        self.view = view

    def can_replace(self, message: UiMessage) -> bool:
        """Only the newest view matters."""
        return isinstance(message, ViewReady)


class MessageRefused(UiMessage):
    """A message that the reducers could not take in; the picture stays as it was."""

    def __init__(self, sentence: str) -> None:
        super().__init__()
        self.sentence = sentence

    def can_replace(self, message: UiMessage) -> bool:
        """One notice is enough."""
        return isinstance(message, MessageRefused)


class StreamEnded(UiMessage):
    """No more messages will come."""

    def __init__(self, reason: str) -> None:
        super().__init__()
        self.reason = reason


class Feed:
    """Starts the source and turns its messages into views."""

    def __init__(self, source: MessageSource, builder: ViewBuilder, post: Callable[[UiMessage], object]) -> None:
        self.source = source
        self._builder = builder
        self._post = post
        self._lock = threading.Lock()
        self._closed = False
        self._heard_s = time.monotonic()

    def start(self) -> None:
        """Begin to listen."""
        self._heard_s = time.monotonic()
        self.source.start(self._take, self._ended)

    def close(self) -> None:
        """Let go of the source."""
        self._closed = True
        self.source.close()

    @property
    def silent_s(self) -> float:
        """How long nothing has come, by the viewer's own clock."""
        return time.monotonic() - self._heard_s

    def _take(self, message: Message) -> None:
        with self._lock:
            self._heard_s = time.monotonic()
            try:
                self._builder.update(message)
            except Exception as error:
                # A fault of ours in one message must neither end the stream nor take the picture away.
                self._post(MessageRefused(f"A {type(message).__name__} could not be taken in: {error!r}"))
                return
            if self._closed or isinstance(message, Facts):
                return  # facts come just before the snapshot that they belong to
            view = self._builder.view()
        self._post(ViewReady(view))

    def _ended(self, reason: str) -> None:
        if not self._closed:
            self._post(StreamEnded(reason))
