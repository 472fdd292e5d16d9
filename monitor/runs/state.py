"""What the tracker keeps of one run, and the record that it shows."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec import structs

from monitor.runs.grouping import Group
from monitor.runs.unread import why_unread
from monitor.steps.fusion import FusedSteps
from monitor.types.facts import ProcessFacts
from monitor.types.gpu import GpuProcess
from monitor.types.identity import ProcessIdentity
from monitor.types.messages import Snapshot
from monitor.types.process import Pairing, ProcessSample
from monitor.types.record import Missing
from monitor.types.run import Run
from monitor.types.steps import ProgressPoint

MAX_COMMAND_CHARS = 4096
DISK_TICKS = 3
"""So many ticks in a row must all ranks wait for the disk; a single one is ordinary."""
STARTING_S = 600.0
"""A process older than this is not taken to be starting only because its step cannot be read."""
_MAIN = ("trainer", "server")


class OnGpu(NamedTuple):
    """One process on one GPU."""

    pairing: Pairing
    figures: GpuProcess | None


@dataclass(slots=True)
class RunState:
    """One live run."""

    run_id: str
    group: Group
    watched_since_s: float
    name: str = ""
    started_s: float | None = None
    disk_ticks: int = 0
    trail: tuple[str, int] = ("", 0)
    """Key and newest point of the trail that was handed on last."""
    stopped_since_s: float | None = None
    """Wall clock at which all its trainers were first seen stopped by a signal (SIGSTOP, ^Z)."""
    gpu_uuids: set[str] = field(default_factory=set)
    """All GPUs that it was ever seen on."""
    facts: tuple[ProcessFacts, ...] = ()
    everyone: set[ProcessIdentity] = field(default_factory=set)
    """All trainers, servers and launchers that it ever had: those whose end tells how it ended."""

    def regroup(self, group: Group, facts: Mapping[ProcessIdentity, ProcessFacts]) -> None:
        """Members came or went."""
        self.group = group
        self.facts = tuple(facts[member.process] for member in group.members if member.process in facts)
        leading = {member.process for member in group.members if member.role in (*_MAIN, "launcher")}
        self.everyone |= leading
        started = [fact.started_s for fact in self.facts if fact.started_s is not None and fact.process in leading]
        self.started_s = min(started, default=self.started_s)

    def note_states(self, samples: Mapping[ProcessIdentity, ProcessSample], now_s: float) -> None:
        """Note how long all its trainers have been waiting for the disk, or stand still by a signal."""
        states = [
            samples[member.process].state
            for member in self.group.members
            if member.role == "trainer" and member.process in samples
        ]
        self.disk_ticks = self.disk_ticks + 1 if states and all(state == "D" for state in states) else 0
        stopped = bool(states) and all(state == "T" for state in states)
        self.stopped_since_s = (self.stopped_since_s or now_s) if stopped else None

    def run(
        self,
        snapshot: Snapshot,
        samples: Mapping[ProcessIdentity, ProcessSample],
        on_gpu: Mapping[ProcessIdentity, Sequence[OnGpu]],
        fused: FusedSteps | None,
        energy_j: float | None,
    ) -> Run:
        """The run now."""
        group, leader = self.group, self.group.leader
        held = [one for member in group.members for one in on_gpu.get(member.process, ())]
        held_uuids = {one.pairing.gpu_uuid for one in held}
        self.gpu_uuids.update(held_uuids)
        mine = [samples[member.process] for member in group.members if member.process in samples]
        run = Run(
            run_id=self.run_id,
            name=self.name,
            kind=group.kind,
            server=group.server,
            user=leader.user,
            mine=leader.mine,
            members=group.members,
            gpu_uuids=tuple(gpu.uuid for gpu in snapshot.gpus if gpu.uuid in held_uuids),
            gpus_inferred=any(one.pairing.how == "inferred" for one in held),
            gpu_memory_bytes=_sum_bytes(held),
            command=shlex.join(leader.argv)[:MAX_COMMAND_CHARS],
            cwd=leader.cwd,
            container=None
            if leader.container is None
            else leader.container.name or leader.container.container_id or None,
            job_id=job_id(leader),
            started_s=self.started_s,
            watched_since_s=self.watched_since_s,
            waits_for_disk=self.disk_ticks >= DISK_TICKS,
            energy_j=energy_j,
            cpu_ratio=_sum_known(sample.cpu_ratio for sample in mine),
            rss_bytes=_sum_whole(sample.rss_bytes for sample in mine),
            phase="starting" if group.kind == "training" else "not_training",
        )
        run = self._with_steps(run, fused, snapshot.taken_s)
        if self.stopped_since_s is not None and run.phase not in ("ended", "not_training"):
            run = replaced(run, phase="stalled", phase_since_s=self.stopped_since_s)
        return run

    def _with_steps(self, run: Run, fused: FusedSteps | None, now_s: float) -> Run:
        if run.kind == "serving":
            return run  # its bars are prompts and weights being loaded: never training
        unread: tuple[Missing, ...] = ()
        if run.kind == "training" and (fused is None or fused.step is None):
            trainers = {member.process for member in run.members if member.role in ("trainer", "launcher")}
            unread = (why_unread([fact for fact in self.facts if fact.process in trainers]),)
        if unread and (fused is None or fused.phase == "starting") and now_s - (run.started_s or now_s) > STARTING_S:
            # nobody says what it does, but nothing starts for that long: its kind stands in, and is said to do so
            run = replaced(run, phase="training")
            fused = None if fused is None else dataclasses.replace(fused, phase="training")
            unread += (Missing(field="phase", reason=unread[0].reason, detail="only that it runs is known"),)
        if fused is None:
            return replaced(run, missing=unread)
        progress_key, progress = self._new_points(fused)
        missing = fused.missing if not unread else unread + tuple(one for one in fused.missing if one.field != "step")
        return replaced(
            run,
            step=fused.step,
            unit=fused.unit,
            total=fused.total,
            total_source=fused.total_source,
            epoch=fused.epoch,
            step_seconds=fused.step_seconds,
            wall_seconds_per_step=fused.wall_seconds_per_step,
            rate_clock=fused.rate_clock,
            rate_window_s=fused.rate_window_s,
            rate_steps=fused.rate_steps,
            rate_spread_ratio=fused.rate_spread_ratio,
            # "ended" while it lives: its closing words were read and its processes have not gone yet
            phase=fused.phase if run.kind == "training" or fused.step is not None else run.phase,
            phase_since_s=fused.phase_since_s,
            last_step_s=fused.last_step_s,
            values=fused.values,
            sources=fused.sources,
            missing=missing,
            notes=fused.notes,
            confidence=fused.confidence,
            progress_key=progress_key,
            progress=progress,
        )

    def _new_points(self, fused: FusedSteps) -> tuple[str, tuple[ProgressPoint, ...]]:
        """The points that came since the run was shown last; all of them where another counter is used now."""
        if fused.trail is None:
            return "", ()
        key, seen = self.trail
        newest, points = fused.trail.after(seen if key == fused.trail.key else 0)
        self.trail = fused.trail.key, newest
        return fused.trail.key, points


def job_id(fact: ProcessFacts) -> str | None:
    """The Slurm job that a process belongs to."""
    named = next((one.value for one in fact.environment if one.name in ("SLURM_JOB_ID", "SLURM_JOBID")), None)
    return named or (None if fact.container is None else fact.container.slurm_job_id)


def replaced(run: Run, **changes: object) -> Run:
    """A run with other values in some fields."""
    return structs.replace(run, **changes)


def _sum_bytes(held: Sequence[OnGpu]) -> int | None:
    """GPU memory of all processes on all GPUs; unknown as soon as one of them is."""
    figures = [None if one.figures is None else one.figures.used_memory_bytes for one in held]
    known = [figure for figure in figures if figure is not None]
    return sum(known) if figures and len(known) == len(figures) else None


def _sum_known(figures: Iterable[float | None]) -> float | None:
    known = [figure for figure in figures if figure is not None]
    return sum(known) if known else None


def _sum_whole(figures: Iterable[int | None]) -> int | None:
    """Resident memory of all processes; pages that forks share count once each."""
    known = [figure for figure in figures if figure is not None]
    return sum(known) if known else None
