"""What a way in to step counters is: what it needs, what it costs, and what it could not see and why."""

from __future__ import annotations

from typing import Protocol

from monitor.steps.lines import TextRing
from monitor.types.documents import Setting
from monitor.types.facts import ProcessFacts
from monitor.types.identity import ProcessIdentity
from monitor.types.record import Record
from monitor.types.steps import StepEvent


class Refusal(Record, frozen=True, kw_only=True):
    """Something of a process that could not be read, and why."""

    process: ProcessIdentity
    source: str
    where: str
    sentence: str


class Written(Record, frozen=True, kw_only=True):
    """One text that is followed, for showing its end."""

    where: str
    ring: TextRing
    skipped_bytes: int
    changed_s: float


class Way(Protocol):
    """One way in. Keeps its state by process identity, so that a reused pid is another process. No method raises."""

    name: str
    needs: str
    """What has to be so for it to work, as a sentence."""
    cost: str
    """What it costs the run and us, as a sentence. No way stops a process."""
    asks_first: bool
    """Whether it is used only for processes that `allow` named."""

    def read(self, facts: tuple[ProcessFacts, ...], until_boot_s: float) -> list[StepEvent]:
        """What is new for these processes; work left at `until_boot_s` is done first in the next look."""

    def written(self, process: ProcessIdentity) -> list[Written]:
        """The texts of a process that are followed."""

    def refusals(self) -> tuple[Refusal, ...]:
        """What could not be read in the latest look."""

    def settings(self) -> dict[ProcessIdentity, tuple[Setting, ...]]:
        """What this way learnt of how runs were set up; empty for most."""

    def allow(self, process: ProcessIdentity) -> None:
        """The user allows this way for one process; nothing happens in ways that need no leave."""
