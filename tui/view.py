"""Everything a screen, a text or a JSON output shows, as one frozen value, built from the stream alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from advisor.assess import Assessor
from advisor.assessment import Assessment
from monitor.history.failed_gpus import FailedGpus
from monitor.history.history import History
from monitor.history.holders import GpuHolders, Holding
from monitor.history.last_words import LastWords
from monitor.history.least_free import LeastFree, RunMemory
from monitor.node import NodeState
from monitor.runs.tracker import RunTracker
from monitor.store.last_seen import SinceLastSeen, counters, since
from monitor.store.stored import LastSeen
from monitor.types.facts import ProcessFacts
from monitor.types.identity import ProcessIdentity
from monitor.types.messages import Bye, Fault, Hello, Message, Snapshot, Text
from monitor.types.run import Run


@dataclass(frozen=True)
class View:
    """One moment as shown. `history` is shared and only read by whoever shows it."""

    hello: Hello | None = None
    snapshot: Snapshot | None = None
    facts: Mapping[ProcessIdentity, ProcessFacts] = field(default_factory=dict)
    runs: tuple[Run, ...] = ()
    """Own runs first, then by kind and by what they hold; ended ones last. Their GPUs include failed ones."""
    assessments: Mapping[str, Assessment] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    texts: Mapping[ProcessIdentity, Text] = field(default_factory=dict)
    bye: Bye | None = None
    history: History = field(default_factory=History)
    holdings: Mapping[str, Holding] = field(default_factory=dict)
    """By GPU: whether it is free, else who holds it and since when."""
    first_s: float | None = None
    """Wall clock of the first snapshot: since when this is watched."""
    since: Mapping[str, SinceLastSeen] = field(default_factory=dict)
    """By GPU: what its counters did between the last session and this one."""
    least_free: Mapping[str, LeastFree] = field(default_factory=dict)
    """By run: the least memory that was free on one of its GPUs, as sampled while watched."""
    last_words: Mapping[ProcessIdentity, tuple[str, ...]] = field(default_factory=dict)
    """By process that ended: what it wrote last."""

    @property
    def taken_s(self) -> float | None:
        """The stream's wall clock now."""
        return None if self.snapshot is None else self.snapshot.taken_s


class ViewBuilder:
    """Feeds every message to the reducers, in order; same messages, same view. Live, demo, replay and remote alike."""

    note = ""
    """Something about the start that a person should know; a sentence."""

    def __init__(self, last_seen: tuple[LastSeen, ...] = ()) -> None:
        self.node = NodeState()
        self.tracker = RunTracker()
        self.history = History()
        self.holders = GpuHolders()
        self.run_memory = RunMemory()
        self.last_words = LastWords()
        self.failed_gpus = FailedGpus()
        self.assessor = Assessor()
        self._first_s: float | None = None
        self._last_seen = last_seen
        self._since: dict[str, SinceLastSeen] = {}

    def update(self, message: Message) -> None:
        """Take one message."""
        self.node.update(message)
        self.tracker.update(message)
        self.history.update(message)
        self.holders.update(message)
        self.run_memory.update(message)
        self.last_words.update(message)
        if isinstance(message, Snapshot):
            if self._first_s is None:
                self._first_s = message.taken_s
            runs = self.tracker.runs()
            self.history.note_runs(runs, message)
            self.run_memory.note_runs(runs, message)
            self.failed_gpus.note_runs(runs, message)
            self.assessor.update(message, runs)
            if self._last_seen and self.node.hello is not None:
                self._look_back(counters(self.node.hello, message))

    def save(self) -> None:
        """Leave word for the next session, where there is a place for it; here there is none."""

    def _look_back(self, now: tuple[LastSeen, ...]) -> None:
        """Compare each GPU once, when it answers for the first time."""
        self._since.update((one.uuid, one) for one in since(self._last_seen, now))
        compared = self._since.keys()
        self._last_seen = tuple(gpu for gpu in self._last_seen if gpu.uuid not in compared)

    def view(self) -> View:
        """What the messages so far amount to."""
        node = self.node
        return View(
            hello=node.hello,
            snapshot=node.snapshot,
            facts=dict(node.facts),
            runs=self.failed_gpus.with_failed(self.tracker.runs()),
            assessments=self.assessor.assessments(),
            faults=node.faults(),
            texts=dict(node.texts),
            bye=node.bye,
            history=self.history,
            holdings={gpu.uuid: self.holders.holding(gpu.uuid) for gpu in node.snapshot.gpus} if node.snapshot else {},
            first_s=self._first_s,
            since=dict(self._since),
            least_free=self.run_memory.least_free(),
            last_words=self.last_words.lines(),
        )
