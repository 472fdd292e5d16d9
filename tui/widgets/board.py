"""What belongs together on the screen: GPUs with their runs and holders, runs with their letters. Built once a view."""

from __future__ import annotations

import string
from collections.abc import Iterable
from dataclasses import dataclass, field

from monitor.history.holders import Holding
from monitor.types.facts import ProcessFacts
from monitor.types.gpu import GpuIdentity, GpuSample
from monitor.types.identity import ProcessIdentity
from monitor.types.process import Pairing
from monitor.types.run import Run
from tui.outputs.chosen import named_gpus
from tui.view import View


class Letters:
    """A letter for each run, kept while the run is shown, so that an eye can follow it."""

    def __init__(self) -> None:
        self._given: dict[str, str] = {}

    def give(self, run_ids: Iterable[str]) -> dict[str, str]:
        """The letters of these runs; those of runs that are gone become free again."""
        wanted = list(run_ids)
        present = set(wanted)
        self._given = {run_id: letter for run_id, letter in self._given.items() if run_id in present}
        taken = set(self._given.values())
        unused = (name for name in _names() if name not in taken)
        for run_id in wanted:
            if run_id not in self._given:
                self._given[run_id] = next(unused)
        return self._given


def _names() -> Iterable[str]:
    yield from string.ascii_uppercase
    for first in string.ascii_uppercase:
        for second in string.ascii_uppercase:
            yield first + second
    number = 0
    while True:
        number += 1
        yield f"#{number}"


@dataclass(frozen=True)
class Holder:
    """Somebody who holds a GPU without being part of a run."""

    words: str
    memory_bytes: int | None = None


@dataclass(frozen=True)
class GpuRow:
    """One GPU with all that its line says."""

    identity: GpuIdentity
    sample: GpuSample | None
    runs: tuple[Run, ...] = ()
    letters: tuple[str, ...] = ()
    others: tuple[Holder, ...] = ()
    free: bool = False
    holding: Holding | None = None
    label: str = ""
    """The number people know it by: "3", or "3:1" for a MIG instance."""

    @property
    def uuid(self) -> str:
        """The GPU's identity."""
        return self.identity.uuid

    @property
    def total_bytes(self) -> int | None:
        """Memory of the card, by the latest reading."""
        sample = self.sample
        return (sample.memory_total_bytes if sample else None) or self.identity.memory_total_bytes

    @property
    def memory_ratio(self) -> float | None:
        """Share of the memory that is used."""
        total = self.total_bytes
        if self.sample is None or self.sample.memory_used_bytes is None or not total:
            return None
        return self.sample.memory_used_bytes / total

    @property
    def limit_w(self) -> float | None:
        """The power limit now."""
        return (self.sample.power_limit_w if self.sample else None) or self.identity.power_limit_w

    @property
    def well(self) -> bool:
        """Whether the driver answers for it."""
        return self.sample is not None and self.sample.state == "ok"


@dataclass(frozen=True)
class Board:
    """A view with its joins made."""

    view: View
    gpus: tuple[GpuRow, ...] = ()
    letters: dict[str, str] = field(default_factory=dict)
    free_count: int | None = None
    """GPUs that nobody uses; `None` where that cannot be told."""
    by_uuid: dict[str, GpuRow] = field(default_factory=dict)
    """The same GPUs by their identity."""

    def row(self, uuid: str) -> GpuRow | None:
        """The GPU with this identity."""
        return self.by_uuid.get(uuid)

    def run(self, run_id: str) -> Run | None:
        """The run with this identity."""
        return next((run for run in self.view.runs if run.run_id == run_id), None)

    def facts(self, process: ProcessIdentity) -> ProcessFacts | None:
        """What is known of a process."""
        return self.view.facts.get(process)

    @property
    def driver_waits_s(self) -> float | None:
        """For how long the driver has not answered; `None` while it does."""
        timings = self.view.snapshot.timings if self.view.snapshot else ()
        return next((one.waiting_s for one in timings if one.source == "driver" and one.waiting_s is not None), None)

    @property
    def now_s(self) -> float:
        """The stream's wall clock."""
        return self.view.taken_s or 0.0

    @property
    def utc_offset_s(self) -> int | None:
        """The node's zone."""
        return None if self.view.hello is None else self.view.hello.utc_offset_s


def build_board(view: View, letters: Letters, only: tuple[str, ...] = ()) -> Board:
    """Join a view. `only` keeps some GPUs: indexes, UUIDs (or their beginnings), or "mine"."""
    given = letters.give(run.run_id for run in view.runs)
    identities = view.hello.gpus if view.hello else ()
    snapshot = view.snapshot
    samples = {sample.uuid: sample for sample in snapshot.gpus} if snapshot else {}
    by_gpu: dict[str, list[Run]] = {}
    for run in view.runs:
        if run.ended is None:
            for uuid in run.gpu_uuids:
                by_gpu.setdefault(uuid, []).append(run)
    members = {member.process for run in view.runs for member in run.members}
    pairings: dict[str, list[Pairing]] = {}
    for pairing in snapshot.pairings if snapshot else ():
        pairings.setdefault(pairing.gpu_uuid, []).append(pairing)
    indexes = {identity.uuid: identity.index for identity in identities}
    rows = []
    for identity in named_gpus(view, only) if only else identities:
        runs = tuple(by_gpu.get(identity.uuid, ()))
        sample = samples.get(identity.uuid)
        holding = view.holdings.get(identity.uuid)
        others = _others(view, sample, pairings.get(identity.uuid, []), members, holding)
        rows.append(
            GpuRow(
                identity,
                sample,
                runs,
                tuple(given[run.run_id] for run in runs),
                others,
                holding is not None and holding.state == "free",
                holding,
                _label(identity, indexes),
            )
        )
    known = [row for row in rows if not row.identity.mig_enabled]
    free = sum(row.free for row in known) if snapshot and snapshot.gpus else None
    return Board(view, tuple(rows), given, free, {row.uuid: row for row in rows})


def _label(identity: GpuIdentity, indexes: dict[str, int]) -> str:
    if identity.mig_parent_uuid is None:
        return str(identity.index)
    parent = indexes.get(identity.mig_parent_uuid)
    return f"{'' if parent is None else parent}:{identity.index}"


def _others(
    view: View,
    sample: GpuSample | None,
    pairings: list[Pairing],
    members: set[ProcessIdentity],
    holding: Holding | None,
) -> tuple[Holder, ...]:
    if sample is None:
        return ()
    by_pid = {pairing.driver_pid: pairing for pairing in pairings}
    holders = []
    for process in sample.processes:
        pairing = by_pid.get(process.pid)
        identity = pairing.process if pairing else None
        if identity in members:
            continue
        facts = view.facts.get(identity) if identity else None
        if facts is not None:
            words = " ".join(part for part in (facts.user, facts.name) if part)
        elif pairing is not None and pairing.how == "other_namespace":
            words = f"pid {process.pid} in another container"
        elif pairing is not None and pairing.how == "hidden":
            words = f"pid {process.pid}, hidden by the system"
        elif pairing is not None and pairing.how == "gone":
            words = f"pid {process.pid}, gone"
        else:
            words = f"pid {process.pid}"
        holders.append(Holder(words, process.used_memory_bytes))
    if not holders and holding is not None and holding.unseen_bytes:
        holders.append(Holder("a process that cannot be seen", holding.unseen_bytes))
    return tuple(holders)
