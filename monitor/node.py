"""The latest of everything a stream has said about its node: a deterministic reducer."""

from __future__ import annotations

from monitor.newest import put_newest
from monitor.types.documents import ProcessDocuments
from monitor.types.facts import ProcessFacts
from monitor.types.identity import ProcessIdentity
from monitor.types.messages import Bye, Documents, Facts, Fault, Hello, Message, Snapshot, Text

MAX_FAULTS = 64
MAX_PROCESSES = 8192
"""Facts kept; the oldest go first. More would mean a stream that was made to fill memory."""


class NodeState:
    """Holds the newest message of each kind. Same messages, same state."""

    def __init__(self) -> None:
        self.hello: Hello | None = None
        self.snapshot: Snapshot | None = None
        self.facts: dict[ProcessIdentity, ProcessFacts] = {}
        self.documents: dict[ProcessIdentity, ProcessDocuments] = {}
        self.texts: dict[ProcessIdentity, Text] = {}
        self.bye: Bye | None = None
        self._faults: dict[str, Fault] = {}

    def update(self, message: Message) -> None:
        """Take one message."""
        if isinstance(message, Snapshot):
            self.snapshot = message
            for end in message.ended:
                self.texts.pop(end.process, None)
        elif isinstance(message, Facts):
            for fact in message.processes:
                put_newest(self.facts, fact.process, fact, MAX_PROCESSES)
        elif isinstance(message, Hello):
            self.hello = message
        elif isinstance(message, Text):
            self.texts[message.process] = message
        elif isinstance(message, Fault):
            if message.over:
                self._faults.pop(message.key, None)
            else:
                put_newest(self._faults, message.key, message, MAX_FAULTS)
        elif isinstance(message, Documents):
            for beside in message.processes:
                put_newest(self.documents, beside.process, beside, MAX_PROCESSES)
        else:
            self.bye = message

    def faults(self) -> tuple[Fault, ...]:
        """The faults that hold now, oldest first."""
        return tuple(self._faults.values())
