"""What a store is, and what the readers of stores share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from monitor.documents.planned import planned
from monitor.steps.formats.line_format import Origin
from monitor.types.documents import Setting
from monitor.types.steps import StepEvent, StepUnit

MAX_LINE_BYTES = 256 * 1024
"""Rows of RLlib carry their whole configuration; longer lines are left out."""
TOP_STEP = 1e15
"""No counter of a run is higher; what is, was misread."""


@dataclass(frozen=True)
class StorePlan:
    """How far a run is to go, in steps or in epochs, as its settings say."""

    steps: float | None = None
    epochs: float | None = None
    source: str = ""

    def total(self, unit: StepUnit, step: float) -> float | None:
        """The total of a count of this unit. One that the count has passed is none."""
        total = self.epochs if unit == "epoch" else self.steps
        return total if total is not None and total >= step else None


def plan_of(settings: Iterable[Setting]) -> StorePlan:
    """The plan that settings make."""
    found = planned(settings)
    source = found.total_source or "settings beside the file"
    return StorePlan(found.total, found.epochs, source)


class StoreReader(Protocol):
    """Reads one file of one kind from its beginning on. Keeps what is torn until the rest comes; never raises."""

    whole: bool
    """The file is one document: it is given whole, anew, whenever it has changed."""
    needs_all: bool
    """Its count is a sum over all rows, so that nothing may be left out."""
    skip_bytes: int
    """So many of the bytes that follow are of no use and need not be read."""

    def feed(self, data: bytes, origin: Origin) -> list[StepEvent]:
        """What these further bytes tell."""

    def enter(self, data: bytes, position: int) -> int:
        """Where in `data`, which stands at `position` of the file, reading can begin. Forgets what was torn.

        `len(data)` where nowhere.
        """

    def settings(self) -> tuple[Setting, ...]:
        """What the file tells of how the run was set up."""

    def take_plan(self, plan: StorePlan) -> None:
        """What documents beside the file plan; the file's own total goes before it."""


@dataclass(frozen=True)
class StoreKind:
    """One line of the registry."""

    name: str
    matches: Callable[[str, bytes], bool]
    """Whether a file of this base name and beginning (up to 16 KiB) is one."""
    make: Callable[[], StoreReader]


class LineStore(ABC):
    """The part that stores of one row a line have in common. A row counts when its line end is there."""

    whole = False
    needs_all = False
    skip_bytes = 0

    def __init__(self) -> None:
        self._torn = b""
        self._too_long = False
        self.planned = StorePlan()

    def feed(self, data: bytes, origin: Origin) -> list[StepEvent]:
        """The rows that are whole by now."""
        lines = (self._torn + data).split(b"\n")
        self._torn = lines.pop()
        events: list[StepEvent] = []
        for line in lines:
            if self._too_long:
                self._too_long = False
                continue
            if len(line) <= MAX_LINE_BYTES and b"\0" not in line and line.strip():
                events.extend(self.row(line.decode("utf-8", "replace").rstrip("\r"), origin))
        if len(self._torn) > MAX_LINE_BYTES:
            self._torn, self._too_long = b"", True
        return events

    @abstractmethod
    def row(self, line: str, origin: Origin) -> list[StepEvent]:
        """What one line tells."""

    def enter(self, data: bytes, position: int) -> int:  # noqa: ARG002
        """After the first line end."""
        self._torn, self._too_long = b"", False
        return data.find(b"\n") + 1 or len(data)

    def settings(self) -> tuple[Setting, ...]:
        """None."""
        return ()

    def take_plan(self, plan: StorePlan) -> None:
        """What documents beside the file plan."""
        self.planned = plan
