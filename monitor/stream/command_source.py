"""Any command that emits the stream, for example `ssh node07 traintop agent`, as a message source."""

from __future__ import annotations

import shlex
from collections.abc import Callable

from monitor.clean import clean
from monitor.stream.child import start_child
from monitor.stream.codec import ForeignStreamError
from monitor.stream.pipe_source import PipeSource
from monitor.types.messages import Message
from monitor.types.requests import Request

NOISE_LINES = 64
"""What a login shell on the other side may print before the stream begins."""


class CommandSource:
    """Runs the command without a shell. Its stderr becomes faults."""

    def __init__(self, command: str) -> None:
        """Take the command line.

        Raises:
            ForeignStreamError: it is empty or its quotes do not match.
        """
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise ForeignStreamError(f"--from: the command cannot be read: {error}.") from None
        if not self._words:
            raise ForeignStreamError("--from: there is no command.")
        self.exit_status = 0
        self._source: PipeSource | None = None

    def start(self, on_message: Callable[[Message], None], on_end: Callable[[str], None]) -> None:
        """Run it and begin to read."""
        name = clean(self._words[0], 100)
        try:
            child = start_child(self._words)
        except (OSError, ValueError) as error:
            self.exit_status = 2
            cause = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            on_end(f"The command {name} cannot be started: {cause}.")
            return
        source = PipeSource(child, f"The command {name}", noise_lines=NOISE_LINES)
        self._source = source

        def ended(reason: str) -> None:
            self.exit_status = source.exit_status
            on_end(reason)

        source.start(on_message, ended)

    def send(self, request: Request) -> None:
        """Ask the other side for something; never waits."""
        if self._source is not None:
            self._source.send(request)

    def close(self) -> None:
        """Stop it; at most half a second."""
        if self._source is not None:
            self._source.close()
