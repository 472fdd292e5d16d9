"""A second agent reads the files from their tails again; what the first one told already is left out."""

from __future__ import annotations

import msgspec

from monitor.types.messages import Message, Snapshot
from monitor.types.steps import StepEvent

REREAD_S = 15.0
"""A new agent has read all tails by then; a count that falls later has really fallen."""


class Rereading:
    """Knows how far every counter had come. Without it a run would look as if it had been started again."""

    def __init__(self) -> None:
        self._reached: dict[tuple[object, ...], float] = {}
        self._behind: dict[tuple[object, ...], float] = {}
        self._anew = False
        self._until_boot_s: float | None = None

    def begin(self) -> None:
        """From now on another agent is heard."""
        self._behind = dict(self._reached)
        self._anew = True
        self._until_boot_s = None

    def filtered(self, message: Message) -> Message:
        """The message without what was told before."""
        if not isinstance(message, Snapshot):
            return message
        if self._anew:
            self._anew = False
            self._until_boot_s = message.boot_s + REREAD_S
        if self._until_boot_s is not None and message.boot_s > self._until_boot_s:
            self._until_boot_s = None
            self._behind = {}
        if self._behind and message.steps:
            message = msgspec.structs.replace(message, steps=tuple(one for one in message.steps if self._is_new(one)))
        for event in message.steps:
            if event.step is not None:
                self._reached[_counter(event)] = event.step
        for end in message.ended:
            self._reached = {key: step for key, step in self._reached.items() if key[0] != end.process}
        return message

    def _is_new(self, event: StepEvent) -> bool:
        if event.step is None:
            return True
        key = _counter(event)
        reached = self._behind.get(key)
        if reached is None:
            return True
        if event.step <= reached:
            return False
        del self._behind[key]
        return True


def _counter(event: StepEvent) -> tuple[object, ...]:
    return (event.process, event.where, event.source, event.series)
