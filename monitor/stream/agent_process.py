"""This machine's agent, as a message source. Light to import: the child is started before its reader is loaded."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from monitor.stream.child import agent_command, end_child, start_child

if TYPE_CHECKING:  # at run time these are imported by `start`, when the child is already at work
    import subprocess
    from collections.abc import Callable

    from monitor.stream.pipe_source import PipeSource
    from monitor.stream.rereading import Rereading
    from monitor.types.identity import ProcessIdentity
    from monitor.types.messages import Message
    from monitor.types.requests import Release, Request, Tail, Watch

REPLACE_AGAIN_S = 300.0
"""An agent that ends sooner than this after another did has a reason that a third would meet as well."""
WORTH_REPLACING_S = 5.0
"""One that ends sooner than this cannot work here."""
SILENT_S = 15.0
"""An agent that says nothing for so long, and for three of its intervals, hangs as a whole.

One whose driver hangs goes on to speak and is left alone: another would hang as well, and know less."""


class AgentProcess:
    """Starts the agent and reads it. One that dies or falls silent is replaced, once in a while; none is waited for."""

    def __init__(self, extra_args: tuple[str, ...] = (), command: list[str] | None = None) -> None:
        self.exit_status = 0
        self._command = agent_command(extra_args) if command is None else command
        self._child: subprocess.Popen[bytes] | None = None
        self._source: PipeSource | None = None
        self._abandoned: PipeSource | None = None
        self._rereading: Rereading | None = None
        self._attached_s = 0.0
        self._replaced_s: float | None = None
        """When one was replaced last, by the monotonic clock."""
        self._closed = False
        self._watch: Watch | None = None
        self._release: Release | None = None
        self._tails: dict[ProcessIdentity, Tail] = {}
        self._interval_s = 1.0
        self._lock = threading.RLock()
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
            if self._closed or (self._abandoned is not None and self._abandoned.process.poll() is None):
                return False
            hung, self._source, self._child = self._source, None, None
            if hung is not None:
                hung.abandon()
                self._abandoned = hung
            try:
                self.spawn()
            except OSError:
                return False
            self._replaced_s = time.monotonic()
            self._attach()
            for request in (self._watch, self._release, *self._tails.values()):
                if request is not None:
                    self.send(request)
        return True

    def send(self, request: Request) -> None:
        """Ask the agent for something; never waits. What holds until it is taken back is told to a replacement, too."""
        self._note(request)
        source = self._source
        if source is not None:
            source.send(request)

    def close(self) -> None:
        """Stop the agent; at most half a second, also when it hangs."""
        with self._lock:
            self._closed = True
        if self._source is not None:
            self._source.close()
        elif self._child is not None:
            end_child(self._child)
        if self._abandoned is not None and self._abandoned.process.poll() is None:
            self._abandoned.process.kill()

    def _note(self, request: Request) -> None:
        from monitor.types.requests import Release, Tail, Watch

        if isinstance(request, Watch):
            self._watch = request
        elif isinstance(request, Release):
            self._release = request if request.released else None
        elif isinstance(request, Tail):
            self._tails.pop(request.process, None)
            if request.max_bytes > 0:
                self._tails[request.process] = request

    def _attach(self) -> None:
        from monitor.stream.pipe_source import PipeSource
        from monitor.stream.rereading import Rereading

        assert self._child is not None  # noqa: S101  spawn was called
        if self._rereading is None:
            self._rereading = Rereading()
        else:
            self._rereading.begin()
        source = PipeSource(self._child, "The agent", on_silent=lambda seconds: self._silent(source, seconds))
        self._source = source
        self._attached_s = time.monotonic()

        def ended(reason: str) -> None:
            if source.broke_off and self._may_replace() and self.replace():
                self._tell_replaced(source, reason)
                return
            self.exit_status = source.exit_status
            self._on_end(reason)

        source.start(self._take, ended)

    def _take(self, message: Message) -> None:
        from monitor.types.messages import Hello

        if isinstance(message, Hello):
            self._interval_s = message.interval_s
        rereading = self._rereading
        self._on_message(message if rereading is None else rereading.filtered(message))

    def _may_replace(self) -> bool:
        now_s = time.monotonic()
        lasted = now_s - self._attached_s >= WORTH_REPLACING_S
        return lasted and (self._replaced_s is None or now_s - self._replaced_s >= REPLACE_AGAIN_S)

    def _silent(self, source: PipeSource, seconds: float) -> None:
        """Called on the source's thread, again and again while it is silent."""
        if source is not self._source or seconds < max(SILENT_S, 3 * self._interval_s) or not self._may_replace():
            return
        if self.replace():
            self._tell_replaced(source, f"The agent said nothing for {seconds:.0f} s.")

    def _tell_replaced(self, before: PipeSource, reason: str) -> None:
        from monitor.types.messages import Fault

        taken_s, boot_s = before.stamps
        sentence = f"{reason} Another one has taken its place; figures between the two are missing."
        self._on_message(Fault(taken_s=taken_s, boot_s=boot_s, key="agent-replaced", source="agent", sentence=sentence))
