"""A child that emits the stream on its stdout and takes requests on its stdin."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import threading
import time
from collections.abc import Callable

from monitor.clean import clean
from monitor.stream.codec import ForeignStreamError, MessageDecoder, encode
from monitor.types.messages import Bye, Fault, Message
from monitor.types.requests import Request, Stop

READ_BYTES = 256 * 1024
CLOSE_S = 0.5
MAX_COMPLAINTS = 200
"""Faults made of stderr lines in one session; a child that floods it says nothing new."""
SILENCE_LOOK_S = 5.0
"""How often a silence is told."""
COMPLAINT_BYTES = 4096
"""Kept of one stderr line."""


class Complaints:
    """What a child writes to stderr, as cleaned lines; the last one says most."""

    def __init__(self) -> None:
        self.last = ""
        self._rest = b""

    def feed(self, data: bytes) -> str:
        """Take bytes; the last whole line that says something, or an empty text."""
        lines = (self._rest + data).replace(b"\r", b"\n").split(b"\n")
        self._rest = lines.pop()[:COMPLAINT_BYTES]
        return self._keep([line for line in lines if line.strip()])

    def end(self) -> str:
        """The last line when it had no end."""
        rest, self._rest = self._rest, b""
        return self._keep([rest] if rest.strip() else [])

    def _keep(self, lines: list[bytes]) -> str:
        if not lines:
            return ""
        self.last = clean(lines[-1][:COMPLAINT_BYTES].strip(), 300)
        return self.last


class PipeSource:
    """Reads one child. `who` begins the sentences about it: "The agent", "The command ssh"."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        who: str,
        *,
        noise_lines: int = 0,
        on_silent: Callable[[float], None] | None = None,
    ) -> None:
        """`on_silent` is told, every few seconds on the thread that reads, for how long nothing has come."""
        self.exit_status = 0
        self.process = process
        self._who = who
        self._decoder = MessageDecoder(noise_lines)
        self._complaints = Complaints()
        self._complaint_count = 0
        self._on_message: Callable[[Message], None] = lambda _message: None
        self._calling = threading.RLock()
        self._sending = threading.Lock()
        self._on_silent = on_silent
        self._closed = False
        self._bye: Bye | None = None
        self.stamps = (0.0, 0.0)
        """Wall clock and CLOCK_BOOTTIME of the last message."""
        self.broke_off = False
        """It spoke our stream and ended before its time."""
        if process.stdin is not None:
            # A child that reads no requests (hung, or stopped) must not make the front end wait.
            os.set_blocking(process.stdin.fileno(), False)

    def start(self, on_message: Callable[[Message], None], on_end: Callable[[str], None]) -> None:
        """Begin to read."""
        self._on_message = on_message
        complaints = threading.Thread(target=self._read_complaints, name="traintop-stderr", daemon=True)
        complaints.start()
        threading.Thread(
            target=self._read_messages, args=(complaints, on_end), name="traintop-stream", daemon=True
        ).start()

    def send(self, request: Request) -> None:
        """Ask for something. Lost when the child's input is full or closed."""
        line = encode(request)
        with self._sending:
            stdin = self.process.stdin
            if stdin is None or stdin.closed:
                return
            try:
                os.write(stdin.fileno(), line)  # shorter than PIPE_BUF, so it goes whole or not at all
            except OSError:
                return

    def abandon(self) -> None:
        """Hear nothing more of it and tell it to go, without waiting for it."""
        self._closed = True
        # Let a callback that goes on finish, so that none comes later; one that itself waits for us is not waited for.
        if self._calling.acquire(timeout=0.1):
            self._calling.release()
        self.send(Stop())
        self._close_input()

    def close(self) -> None:
        """Ask it to stop, wait half a second at most, then end it. One that hangs in the kernel is left behind."""
        self.abandon()
        try:
            self.process.wait(CLOSE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.poll()

    def _close_input(self) -> None:
        with self._sending:
            if self.process.stdin is not None and not self.process.stdin.closed:
                with contextlib.suppress(OSError):
                    self.process.stdin.close()

    def _deliver(self, message: Message) -> None:
        with self._calling:
            if not self._closed:
                self._on_message(message)

    def _read_messages(self, complaints: threading.Thread, on_end: Callable[[str], None]) -> None:
        reason = self._read_until_end()
        if reason is None:
            complaints.join(CLOSE_S)
            reason = self._ending()
        with self._calling:
            if not self._closed:
                on_end(reason)

    def _read_until_end(self) -> str | None:
        """Deliver until end of file; a sentence when the stream turned out to be none of ours."""
        stdout = self.process.stdout
        if stdout is None:
            return None
        while True:
            try:
                self._wait_for_data(stdout.fileno())
                data = os.read(stdout.fileno(), READ_BYTES)
            except (OSError, ValueError):
                data = b""
            if not data:
                stdout.close()
                return None
            try:
                messages = self._decoder.feed(data)
            except ForeignStreamError as error:
                self.exit_status = 2
                self.process.kill()
                return f"{self._who}: {error}"
            for message in messages:
                self.stamps = (message.taken_s, message.boot_s)
                if isinstance(message, Bye):
                    self._bye = message
                self._deliver(message)

    def _wait_for_data(self, descriptor: int) -> None:
        if self._on_silent is None:
            return
        since_s = time.monotonic()
        waiting = select.poll()
        waiting.register(descriptor, select.POLLIN)
        while not waiting.poll(SILENCE_LOOK_S * 1000):
            if not self._closed:
                self._on_silent(time.monotonic() - since_s)

    def _read_complaints(self) -> None:
        stderr = self.process.stderr
        if stderr is None:
            return
        while True:
            try:
                data = os.read(stderr.fileno(), 65536)
            except (OSError, ValueError):
                data = b""
            text = self._complaints.feed(data) if data else self._complaints.end()
            if text and self._complaint_count < MAX_COMPLAINTS:
                self._complaint_count += 1
                taken_s, boot_s = self.stamps
                sentence = f"{self._who} wrote: {text}"
                self._deliver(
                    Fault(taken_s=taken_s, boot_s=boot_s, key="agent-stderr", source="agent", sentence=sentence)
                )
            if not data:
                stderr.close()
                return

    def _ending(self) -> str:
        """Why the stream ended, after its output did. Waits a moment for the status, not for a process that hangs."""
        try:
            status = self.process.wait(CLOSE_S)
        except subprocess.TimeoutExpired:
            self.exit_status = 1
            return f"{self._who} has closed its output but has not ended."
        if self._bye is not None and status == 0:
            self.exit_status = self._bye.exit_status
            return f"{self._who} has ended: {self._bye.reason}." if self._bye.reason else ""
        if not self._decoder.understood and status == 0:
            self.exit_status = 2
            return f"{self._who} ended without a message."
        self.exit_status = 1
        self.broke_off = self._decoder.understood
        how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
        return f"{self._who} {how}" + (f": {self._complaints.last}" if self._complaints.last else ".")
