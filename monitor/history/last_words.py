"""What processes wrote last before they ended. The stream says it once; whoever looks later wants it still."""

from __future__ import annotations

from collections.abc import Mapping

from monitor.newest import put_newest
from monitor.types.identity import ProcessIdentity
from monitor.types.messages import Message, Snapshot
from monitor.types.process import ProcessEnd

MAX_PROCESSES = 256
MAX_LINES = 200


class LastWords:
    """Keeps the ends that came with some text, the newest. Same messages, same answers."""

    def __init__(self) -> None:
        self._ends: dict[ProcessIdentity, ProcessEnd] = {}

    def update(self, message: Message) -> None:
        """Take one message."""
        if not isinstance(message, Snapshot):
            return
        for end in message.ended:
            if end.tail:
                put_newest(self._ends, end.process, end, MAX_PROCESSES)

    def lines(self) -> Mapping[ProcessIdentity, tuple[str, ...]]:
        """By process: its last lines, oldest first."""
        return {process: end.tail[-MAX_LINES:] for process, end in self._ends.items()}
