"""Messages and requests as lines of JSON, and back."""

from __future__ import annotations

import re

import msgspec

from monitor.stream.safe_line import safe_line
from monitor.types.messages import PROTOCOL_MAJOR, Hello, Message
from monitor.types.requests import Request

MAX_LINE_BYTES = 16 * 1024 * 1024
"""64 GPUs with 256 processes are about 110 KB; anything beyond this bound is no stream of ours."""

_TYPE = re.compile(rb'^\{\s*"type"\s*:\s*"([a-z_]{1,32})"')
_BEGINNING = b'{"type":"'
"""How every line begins that we write."""
FOREIGN = "This is not a traintop stream or recording: its first line is no message."
_KNOWN = frozenset({b"hello", b"snapshot", b"facts", b"text", b"fault", b"bye"})


class ForeignStreamError(Exception):
    """What was read is not a stream of ours, or of another major version. The text is a sentence for the user."""


def encode(message: Message | Request) -> bytes:
    """One message or request as a line with its end."""
    return msgspec.json.encode(message) + b"\n"


class LineBuffer:
    """Bytes as they arrive, cut into lines. The pieces of a long line are joined once, when its end is there."""

    def __init__(self) -> None:
        self.pending_bytes = 0
        """Length of the last line, which has no end yet."""
        self._pieces: list[bytes] = []

    def feed(self, data: bytes) -> list[bytes]:
        """All lines that are whole by now, without their ends."""
        if b"\n" not in data:
            if data:
                self._pieces.append(data)
                self.pending_bytes += len(data)
            return []
        lines = b"".join((*self._pieces, data)).split(b"\n")
        rest = lines.pop()
        self._pieces = [rest] if rest else []
        self.pending_bytes = len(rest)
        return lines

    def starts_like(self, beginning: bytes) -> bool:
        """Whether the last line, as far as it is there, begins with this."""
        start = b"".join(self._pieces)[: len(beginning)] if self._pieces else b""
        return beginning.startswith(start)

    def clear(self) -> None:
        """Forget the line that has no end."""
        self._pieces = []
        self.pending_bytes = 0


class MessageDecoder:
    """Turns bytes as they arrive into messages. A cut-off last line is normal; an unknown type is skipped and counted.

    Every text in a message is clean, whoever wrote the stream.

    `noise_lines` foreign lines are let pass before the first message: a login shell may greet before the agent does.
    """

    def __init__(self, noise_lines: int = 0) -> None:
        self.unknown = 0
        """Messages of a type that this version does not know."""
        self.broken = 0
        """Lines that could not be read."""
        self._noise_left = noise_lines
        self._lines = LineBuffer()
        self._understood = False
        self._decoder: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)

    @property
    def understood(self) -> bool:
        """Whether a message of ours was read."""
        return self._understood

    @property
    def cut_off(self) -> bool:
        """Whether the last line has no end yet."""
        return self._lines.pending_bytes > 0

    @property
    def foreign(self) -> bool:
        """Whether nothing of ours was read and what is there does not look like the beginning of it either."""
        return not self._understood and not self._lines.starts_like(_BEGINNING)

    def feed(self, data: bytes) -> list[Message]:
        """All messages that are whole by now.

        Raises:
            ForeignStreamError: the first line is no message of ours, or the major version is another.
        """
        lines = self._lines.feed(data)
        if self._lines.pending_bytes > MAX_LINE_BYTES:
            raise ForeignStreamError("This is not a traintop stream: a line of more than 16 MiB has no end.")
        return [message for line in lines if line.strip() and (message := self._decode(line)) is not None]

    def _decode(self, line: bytes) -> Message | None:
        kind = _TYPE.match(line)
        if kind is None:
            if not self._understood:
                if self._noise_left <= 0:
                    raise ForeignStreamError(FOREIGN)
                self._noise_left -= 1
            self.broken += 1
            return None
        if kind.group(1) not in _KNOWN:
            self.unknown += 1
            return None
        try:
            message = self._decoder.decode(safe_line(line))
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            self.broken += 1
            return None
        if isinstance(message, Hello) and message.protocol_major != PROTOCOL_MAJOR:
            raise ForeignStreamError(
                f"This stream speaks protocol {message.protocol_major}, this traintop speaks {PROTOCOL_MAJOR}: "
                "use the same version of traintop at both ends."
            )
        self._understood = True
        return message


MAX_REQUEST_BYTES = 65536


class RequestDecoder:
    """Turns lines from a front end into requests; what cannot be read is counted and skipped."""

    def __init__(self) -> None:
        self.broken = 0
        self._lines = LineBuffer()
        self._decoder: msgspec.json.Decoder[Request] = msgspec.json.Decoder(Request)

    def feed(self, data: bytes) -> list[Request]:
        """All requests that are whole by now."""
        lines = self._lines.feed(data)
        if self._lines.pending_bytes > MAX_REQUEST_BYTES:
            self._lines.clear()
            self.broken += 1
        requests: list[Request] = []
        for line in lines:
            if not line.strip():
                continue
            try:
                requests.append(self._decoder.decode(line))
            except (msgspec.DecodeError, UnicodeError, RecursionError):
                self.broken += 1
        return requests
