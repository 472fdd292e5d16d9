"""Messages and requests as lines of JSON, and back."""

from __future__ import annotations

import re

import msgspec

from monitor.types.messages import PROTOCOL_MAJOR, Hello, Message
from monitor.types.requests import Request

MAX_LINE_BYTES = 16 * 1024 * 1024
"""64 GPUs with 256 processes are about 110 KB; anything beyond this bound is no stream of ours."""

_TYPE = re.compile(rb'^\{\s*"type"\s*:\s*"([a-z_]{1,32})"')
_KNOWN = frozenset({b"hello", b"snapshot", b"facts", b"text", b"fault", b"bye"})


class ForeignStreamError(Exception):
    """What was read is not a stream of ours, or of another major version. The text is a sentence for the user."""


def encode(message: Message | Request) -> bytes:
    """One message or request as a line with its end."""
    return msgspec.json.encode(message) + b"\n"


class MessageDecoder:
    """Turns bytes as they arrive into messages. A cut-off last line is normal; a type nobody knows is skipped and counted."""

    def __init__(self) -> None:
        self.unknown = 0
        """Messages of a type that this version does not know."""
        self.broken = 0
        """Lines that could not be read."""
        self._rest = b""
        self._understood = False
        self._decoder: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)

    def feed(self, data: bytes) -> list[Message]:
        """All messages that are whole by now.

        Raises:
            ForeignStreamError: the first line is no message of ours, or the major version is another.
        """
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > MAX_LINE_BYTES:
            raise ForeignStreamError("This is not a traintop stream: a line of more than 16 MiB has no end.")
        return [message for line in lines if line.strip() and (message := self._decode(line)) is not None]

    def _decode(self, line: bytes) -> Message | None:
        kind = _TYPE.match(line)
        if kind is None:
            if not self._understood:
                raise ForeignStreamError("This is not a traintop stream or recording: its first line is no message.")
            self.broken += 1
            return None
        if kind.group(1) not in _KNOWN:
            self.unknown += 1
            return None
        try:
            message = self._decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            self.broken += 1
            return None
        if isinstance(message, Hello) and message.protocol_major != PROTOCOL_MAJOR:
            raise ForeignStreamError(
                f"This stream speaks protocol {message.protocol_major}, this traintop speaks {PROTOCOL_MAJOR}: "
                "use the same version of traintop at both ends."
            )
        self._understood = True
        return message


class RequestDecoder:
    """Turns lines from a front end into requests; what cannot be read is counted and skipped."""

    def __init__(self) -> None:
        self.broken = 0
        self._rest = b""
        self._decoder: msgspec.json.Decoder[Request] = msgspec.json.Decoder(Request)

    def feed(self, data: bytes) -> list[Request]:
        """All requests that are whole by now."""
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()[-65536:]
        requests: list[Request] = []
        for line in lines:
            if not line.strip():
                continue
            try:
                requests.append(self._decoder.decode(line))
            except (msgspec.DecodeError, UnicodeDecodeError):
                self.broken += 1
        return requests
