"""Faults that hold: said once, said again when their sentence changes, taken back when they are over."""

from __future__ import annotations

from monitor.types.messages import Fault

SILENT_S = 3.0
"""A call that has not returned for this long is told to the user."""

SILENT = "-silent"
FAILED = "-failed"
"""How the keys end of the faults of a source that does not answer, and of one that fails."""

_WHAT_IS_READ = {
    "driver": "the driver",
    "processes": "the process table",
    "steps": "the files that the runs write",
    "host": "the host's figures",
}


class FaultBook:
    """Compares what is wrong now with what was said, by key."""

    def __init__(self) -> None:
        self._said: dict[str, Fault] = {}

    def note(self, fault: Fault) -> tuple[Fault, ...]:
        """Something is wrong: the message to send, if it says something new."""
        before = self._said.get(fault.key)
        if before is not None and before.sentence == fault.sentence:
            return ()
        self._said[fault.key] = fault
        return (fault,)

    def over(self, key: str, taken_s: float, boot_s: float) -> tuple[Fault, ...]:
        """It is well again: the message that takes the fault back, if there was one."""
        before = self._said.pop(key, None)
        if before is None:
            return ()
        back = Fault(taken_s=taken_s, boot_s=boot_s, key=key, source=before.source, sentence=before.sentence, over=True)
        return (back,)


def silence(source: str, waiting_s: float) -> str:
    """The sentence for a source that does not answer."""
    return f"no answer from {_WHAT_IS_READ.get(source, source)} for {waiting_s:.0f} s"


def failure(source: str, error: str) -> str:
    """The sentence for a source that failed in a way nobody foresaw."""
    return f"reading {_WHAT_IS_READ.get(source, source)} failed ({error}); what was read before is still shown"
