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
        self._readings: dict[ProcessIdentity, FusedSteps] = {}
        self.stepping: set[ProcessIdentity] = set()
        """Processes that count steps."""

    def update(self, events: Sequence[StepEvent], taken_s: float, boot_s: float) -> None:
        """Take the events of one snapshot."""
        touched: dict[ProcessIdentity, StepFusion] = {}
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
            touched[process] = fusion
            if event.step is not None and event.confidence >= MIN_CONFIDENCE:
                self.stepping.add(process)
        for process, fusion in touched.items():
            self._readings[process] = fusion.reading(taken_s, boot_s)

    def reading(self, members: Sequence[RunMember], taken_s: float, boot_s: float) -> FusedSteps | None:
        """The steps of a run: of its lowest rank that counts. Other ranks that differ are noted, never averaged."""
        counting = [member for member in members if member.process in self._fusions]
        if not counting:
            return None
        chosen = min(counting, key=self._rank)
        fused = self._fusions[chosen.process].reading(taken_s, boot_s)
        apart = tuple(self._apart(member, fused) for member in counting if self._differs(member, chosen, fused))
        return replace(fused, sources=fused.sources + apart) if apart else fused

    def last(self, process: ProcessIdentity) -> FusedSteps | None:
        """What a process told last."""
        return self._readings.get(process)

    def forget(self, process: ProcessIdentity) -> None:
        """This process is of no run that is kept."""
        self._fusions.pop(process, None)
        self._readings.pop(process, None)
        self.stepping.discard(process)

    def _rank(self, member: RunMember) -> tuple[bool, int, int, int, int]:
        rank = 1 << 30 if member.rank is None else member.rank
        silent = self._readings[member.process].step is None
        return silent, _ORDER.get(member.role, 9), rank, member.process.start_ticks, member.process.pid

    def _differs(self, member: RunMember, chosen: RunMember, fused: FusedSteps) -> bool:
        """More than a step apart: ranks are read at slightly different moments."""
        other = self._readings[member.process]
        if member is chosen or member.role != "trainer" or other.step is None or fused.step is None:
            return False
        return other.unit == fused.unit and abs(other.step - fused.step) > max(1.0, 0.01 * fused.step)

    def _apart(self, member: RunMember, fused: FusedSteps) -> SourceReading:
        other = self._readings[member.process]
        named = f"rank {member.rank}" if member.rank is not None else f"pid {member.process.pid}"
        return SourceReading(
            source=other.source,
            where=named,
            step=other.step,
            total=other.total,
            seen_s=other.last_step_s or 0.0,
            confidence=other.confidence,
            note=f"{named} counts {other.step:,.0f}, the rank used counts {fused.step:,.0f}",
        )
