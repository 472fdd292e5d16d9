"""The steps of the processes of one node, and what they come to for a run of several ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from monitor.steps.fusion import FusedSteps, StepFusion
from monitor.types.identity import ProcessIdentity
from monitor.types.run import RunMember, SourceReading
from monitor.types.steps import StepEvent

MAX_PROCESSES = 2048
MIN_CONFIDENCE = 0.5
"""A counter surer than this makes a process a trainer."""
_ORDER = {"trainer": 0, "launcher": 1, "server": 2, "helper": 3, "worker": 4}


class Progress:
    """One fusion of sources for each process that reports."""

    def __init__(self) -> None:
        self._fusions: dict[ProcessIdentity, StepFusion] = {}
        self._counts: dict[ProcessIdentity, StepEvent] = {}
        self._now = 0.0, 0.0
        self.stepping: set[ProcessIdentity] = set()
        """Processes that count steps."""

    def update(self, events: Sequence[StepEvent], taken_s: float, boot_s: float) -> None:
        """Take the events of one snapshot."""
        self._now = taken_s, boot_s
        for event in events:
            process = event.process
            if process is None:
                continue
            fusion = self._fusions.get(process)
            if fusion is None:
                fusion = self._fusions[process] = StepFusion()
                while len(self._fusions) > MAX_PROCESSES:
                    self.forget(next(iter(self._fusions)))
            fusion.update(event, boot_s)
            if event.step is None:
                continue
            before = self._counts.get(process)
            if before is None or event.confidence >= before.confidence - 0.05:
                self._counts[process] = event
            if event.confidence >= MIN_CONFIDENCE:
                self.stepping.add(process)

    def reading(self, members: Sequence[RunMember]) -> FusedSteps | None:
        """The steps of a run now: of its lowest rank that counts. Other ranks that differ are noted, never averaged."""
        telling = [member for member in members if member.process in self._fusions]
        if not telling:
            return None
        chosen = min(telling, key=self._place)
        fused = self._fusions[chosen.process].reading(*self._now)
        apart = tuple(
            _apart(member, self._counts[member.process], fused)
            for member in telling
            if self._differs(member, chosen, fused)
        )
        return replace(fused, sources=fused.sources + apart) if apart else fused

    def last(self, process: ProcessIdentity) -> FusedSteps | None:
        """What a process has told."""
        fusion = self._fusions.get(process)
        return None if fusion is None else fusion.reading(*self._now)

    def forget(self, process: ProcessIdentity) -> None:
        """This process is of no run that is kept."""
        self._fusions.pop(process, None)
        self._counts.pop(process, None)
        self.stepping.discard(process)

    def _place(self, member: RunMember) -> tuple[bool, int, int, int, int]:
        rank = 1 << 30 if member.rank is None else member.rank
        silent = member.process not in self._counts
        return silent, _ORDER.get(member.role, 9), rank, member.process.start_ticks, member.process.pid

    def _differs(self, member: RunMember, chosen: RunMember, fused: FusedSteps) -> bool:
        """More than a step apart: ranks are read at slightly different moments."""
        other = self._counts.get(member.process)
        if member is chosen or member.role != "trainer" or other is None or other.step is None or fused.step is None:
            return False
        return other.unit == fused.unit and abs(other.step - fused.step) > max(1.0, 0.01 * fused.step)


def _apart(member: RunMember, other: StepEvent, fused: FusedSteps) -> SourceReading:
    named = f"rank {member.rank}" if member.rank is not None else f"pid {member.process.pid}"
    return SourceReading(
        source=other.source,
        where=other.where,
        step=other.step,
        total=other.total,
        seen_s=other.seen_s,
        confidence=other.confidence,
        note=f"{named} counts {other.step:,.0f}, the rank used counts {fused.step:,.0f}",
    )
