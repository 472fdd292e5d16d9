"""Where messages come from: this machine's agent, a command that runs one elsewhere, or a recording. All look alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from monitor.types.messages import Message
from monitor.types.requests import Request


class MessageSource(Protocol):
    """A stream of messages. Callbacks are called one at a time, on a thread of the source; they must not raise."""

    exit_status: int
    """What a command should exit with once the stream has ended: 0 normal, 1 broken off, 2 no stream of ours."""

    def start(self, on_message: Callable[[Message], None], on_end: Callable[[str], None]) -> None:
        """Begin. `on_end` is called exactly once, with a sentence, empty when the stream just ended."""

    def send(self, request: Request) -> None:
        """Ask for something; never waits and never raises. Replies are ordinary messages."""

    def close(self) -> None:
        """End the stream, within half a second. No callback comes after this has returned."""
