"""One invented moment: the messages that tell it, and the view they amount to."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from advisor.assessment import Assessment
from monitor.history.history import History
from monitor.history.holders import GpuHolders
from monitor.history.last_words import LastWords
from monitor.history.least_free import RunMemory
from monitor.types.facts import ProcessFacts
from monitor.types.messages import Facts, Fault, Hello, Message, Snapshot
from monitor.types.run import Run
from monitor.types.steps import StepValue
from tests.tui.parts import TICKS
from tui.view import View


@dataclass(frozen=True)
class Scene:
    """Everything at one moment, with the ticks that led there."""

    hello: Hello
    snapshots: tuple[Snapshot, ...]
    facts: tuple[ProcessFacts, ...] = ()
    runs: tuple[Run, ...] = ()
    assessments: Mapping[str, Assessment] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()

    def messages(self) -> tuple[Message, ...]:
        """The stream that tells this."""
        facts = Facts(taken_s=self.snapshots[0].taken_s, boot_s=self.snapshots[0].boot_s, processes=self.facts)
        return (self.hello, facts, *self.faults, *self.snapshots)

    def view(self, upto: int | None = None) -> View:
        """The view after the last tick, or after some of them, with the runs as they are written here."""
        history, holders, memory, words = History(), GpuHolders(), RunMemory(), LastWords()
        snapshots = self.snapshots[:upto]
        for message in (self.hello, Facts(taken_s=0, boot_s=0, processes=self.facts)):
            holders.update(message)
            history.update(message)
            memory.update(message)
        for number, tick in enumerate(snapshots):
            history.update(tick)
            holders.update(tick)
            words.update(tick)
            memory.note_runs(self.runs, tick)
            history.note_runs(tuple(_earlier(run, len(self.snapshots) - 1 - number) for run in self.runs), tick)
        return View(
            hello=self.hello,
            snapshot=snapshots[-1],
            facts={one.process: one for one in self.facts},
            runs=self.runs,
            assessments=self.assessments,
            faults=self.faults,
            history=history,
            holdings={gpu.uuid: holders.holding(gpu.uuid) for gpu in snapshots[-1].gpus},
            first_s=snapshots[0].taken_s,
            least_free=memory.least_free(),
            last_words=words.lines(),
        )


def _earlier(run: Run, ticks: int) -> Run:
    """The run as it was some ticks before: fewer steps, a higher loss."""
    loss = next((value.value for value in run.values if value.name == "loss"), None)
    if isinstance(loss, float):
        wave = 0.02 * math.sin(ticks / 3.0)
        run = _with(run, values=(StepValue(name="loss", value=loss * (1 + 0.0015 * ticks) + wave),))
    if run.step_seconds is not None:
        wave = 0.01 * math.sin(ticks / 5.0)
        run = _with(run, step_seconds=run.step_seconds * (1 + wave) * (0.8 if ticks > TICKS * 0.55 else 1.0))
    return run


def _with(run: Run, **changes: object) -> Run:
    return msgspec.structs.replace(run, **changes)
