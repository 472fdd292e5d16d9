"""What a log format is, and what the formats of one file share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from monitor.steps.formats.announced import Announced
from monitor.steps.formats.stamps import LineClock
from monitor.steps.lines import Line
from monitor.types.identity import ProcessIdentity
from monitor.types.steps import Phase, StepEvent

EVIDENCE_CHARS = 160


@dataclass(frozen=True)
class Origin:
    """Where a line was read."""

    process: ProcessIdentity | None = None
    where: str = ""
    seen_s: float = 0.0


class EpochCounter:
    """What the lines of one file say of epochs. Bars that restart each epoch are made one count with it."""

    def __init__(self) -> None:
        self.epoch: int | None = None
        """As printed."""
        self.total: int | None = None
        self._base: int | None = None
        self._done = False
        """The line came at the end of its epoch: it carried results."""

    def note(self, epoch: int, total: int | None, *, done: bool = False) -> None:
        """An epoch was named, as `epoch` of `total`; `done` when the line told results, so that the epoch is over."""
        if epoch == 0:
            self._base = 0
        elif self._base is None or (self.epoch is not None and epoch < self.epoch and epoch == 1):
            self._base = 1 if epoch == 1 or total is not None else self._base
        self.epoch, self._done = epoch, done
        if total is not None:
            self.total = total

    def before(self, default_base: int = 1) -> int | None:
        """How many whole epochs lie before the one that runs now."""
        if self.epoch is None:
            return None
        base = default_base if self._base is None else self._base
        return max(0, self.epoch - base + (1 if self._done else 0))


class FileText:
    """What the formats of one file know together."""

    def __init__(self) -> None:
        self.epochs = EpochCounter()
        self.announced = Announced()
        self.clock = LineClock()


class LineFormat(Protocol):
    """Reads one shape of line. Keeps state for one file; never raises on any text."""

    name: str

    def read(self, line: Line, text: FileText, origin: Origin) -> tuple[StepEvent, ...]:
        """What the line says, or nothing. A line that is not whole may be read again later."""


def phase_event(
    source: str, phase: Phase, origin: Origin, evidence: str, *, confidence: float, event_s: float | None = None
) -> StepEvent:
    """A reading that tells what the run does now and no count; `evidence` is cut by whoever knows which end matters."""
    return StepEvent(
        process=origin.process,
        source=source,
        where=origin.where,
        event_s=event_s,
        event_clock="none" if event_s is None else "text",
        seen_s=origin.seen_s,
        phase=phase,
        confidence=confidence,
        evidence=evidence,
    )
