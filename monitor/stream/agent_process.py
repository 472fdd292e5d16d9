"""This machine's agent, as a message source. Light to import: the child is started before its reader is loaded."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from monitor.stream.child import agent_command, end_child, start_child

if TYPE_CHECKING:  # at run time these are imported by `start`, when the child is already at work
    import subprocess
    from collections.abc import Callable

    from monitor.stream.pipe_source import PipeSource
    from monitor.types.messages import Message
    from monitor.types.requests import Request


class AgentProcess:
    """Starts the agent and reads it. One that hangs can be replaced, once at a time; it is never waited for."""

    def __init__(self, extra_args: tuple[str, ...] = (), command: list[str] | None = None) -> None:
        self.exit_status = 0
        self._command = agent_command(extra_args) if command is None else command
        self._child: subprocess.Popen[bytes] | None = None
        self._source: PipeSource | None = None
        self._abandoned: PipeSource | None = None
        self._lock = threading.Lock()
        self._on_message: Callable[[Message], None] = lambda _message: None
        self._on_end: Callable[[str], None] = lambda _reason: None

    def spawn(self) -> None:
        """Start the child. It fills its pipe until `start` reads.

        Raises:
            OSError: there is no such interpreter any more, or no process can be made.
        """
        if self._child is None:
            self._child = start_child(self._command)

    @property
    def pid(self) -> int | None:
        """The child's pid; `None` before `spawn`."""
        return None if self._child is None else self._child.pid

    def start(self, on_message: Callable[[Message], None], on_end: Callable[[str], None]) -> None:
        """Begin to read; starts the child where that was not done before."""
        self._on_message, self._on_end = on_message, on_end
        try:
            self.spawn()
        except OSError as error:
            self.exit_status = 1
            on_end(f"The agent cannot be started: {error.strerror or error}.")
            return
        self._attach()

    def replace(self) -> bool:
        """Put a new agent beside one that hangs. False when that was done before and the first still hangs."""
        with self._lock:
            if self._abandoned is not None and self._abandoned.process.poll() is None:
                return False
            hung, self._source, self._child = self._source, None, None
        if hung is not None:
            hung.abandon()
            self._abandoned = hung
        try:
            self.spawn()
        except OSError:
            return False
        self._attach()
        return True

    def send(self, request: Request) -> None:
        """Ask the agent for something; never waits."""
        source = self._source
        if source is not None:
            source.send(request)

    def close(self) -> None:
        """Stop the agent; at most half a second, also when it hangs."""
        if self._source is not None:
            self._source.close()
        elif self._child is not None:
            end_child(self._child)

    def _attach(self) -> None:
        from monitor.stream.pipe_source import PipeSource

        assert self._child is not None  # noqa: S101  spawn was called
        source = PipeSource(self._child, "The agent")
        self._source = source

        def ended(reason: str) -> None:
            self.exit_status = source.exit_status
            self._on_end(reason)

        source.start(self._on_message, ended)
