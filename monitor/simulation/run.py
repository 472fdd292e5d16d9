"""One simulated run: when it lives, what it asks of its GPUs, and the processes it consists of."""

from __future__ import annotations

from dataclasses import dataclass, replace

import msgspec

from monitor.simulation.noise import noise, seed_of, slow_noise
from monitor.simulation.plans import GIB, EndKind, RunPlan
from monitor.simulation.timeline import Moment, Timeline
from monitor.types.facts import Container, EnvironmentVariable, OpenFile, ProcessFacts
from monitor.types.identity import ProcessIdentity

PID_FLOOR = 5_000_000
"""Above the largest pid that Linux can give (4,194,304), so no signal to a simulated process reaches anybody."""

PIDS_PER_RUN = 1000

_MIB2 = 2 * 1024**2
_USERS = {"alice": 2001, "bob": 2002, "carol": 2003, "dave": 2004, "erin": 2005}
_SPINNING = (1.0, 0.3)
"""Load and intensity of ranks that wait for one that is gone: their collective spins, at little power."""


@dataclass(frozen=True)
class Viewer:
    """Whom own runs belong to, and when the simulation began."""

    user: str
    uid: int
    start_wall_s: float
    start_boot_s: float


@dataclass(frozen=True)
class SimulatedProcess:
    """One process and what does not change about it."""

    facts: ProcessFacts
    parent_pid: int
    gpu: int | None
    """Position of its GPU in the profile."""
    cpu_ratio: float
    rss_bytes: int
    threads: int
    seed: int

    @property
    def pid(self) -> int:
        """Its pid, at or above `PID_FLOOR`."""
        return self.facts.process.pid


class SimulatedRun:
    """A plan come to life. All answers are functions of the time since the simulation's start."""

    def __init__(self, plan: RunPlan, number: int, seed: int, viewer: Viewer) -> None:
        self.plan = plan
        self.seed = seed_of(seed, "run", number)
        self.timeline = Timeline(plan)
        last_step_s = plan.starts_s + self.timeline.duration_s
        self.ends_s = last_step_s if plan.ends_s is None else min(plan.ends_s, last_step_s)
        self.how: EndKind = "finished" if self.ends_s == last_step_s else plan.ends_how
        self.processes = _processes(plan, PID_FLOOR + number * PIDS_PER_RUN, self.seed, viewer)
        self._latest: tuple[float, Moment | None] = (float("nan"), None)

    @property
    def main(self) -> SimulatedProcess:
        """The process that writes the run's output."""
        return next(process for process in self.processes if process.facts.kind not in ("launcher", "worker"))

    def moment(self, at_s: float) -> Moment | None:
        """Where it stands, or `None` before its start and from its end on."""
        latest_s, latest = self._latest
        if latest_s == at_s:
            return latest
        latest = self._moment(at_s)
        self._latest = (at_s, latest)
        return latest

    def _moment(self, at_s: float) -> Moment | None:
        plan = self.plan
        if not plan.starts_s <= at_s < self.ends_s:
            return None
        if plan.freezes_s is None or at_s < plan.freezes_s:
            return self.timeline.at(at_s - plan.starts_s)
        last = self.timeline.at(plan.freezes_s - plan.starts_s)
        return Moment("stalled", last.step, at_s - plan.freezes_s, 0.0, last.evaluations)

    def load(self, at_s: float, rank: int) -> tuple[float, float]:
        """Utilisation it causes on its GPU and how intense that is, both as ratios."""
        moment = self.moment(at_s)
        if moment is None:
            return 0.0, 0.0
        plan = self.plan
        if plan.kind == "serving":
            traffic = 0.5 + 0.5 * slow_noise(self.seed, at_s / 9.0)
            return plan.load_ratio * traffic, plan.intensity_ratio
        if moment.phase == "starting":
            return (0.04 if moment.part > 0.5 else 0.0), 0.3
        if moment.phase == "stalled":
            return _SPINNING
        if moment.phase == "evaluating":
            return plan.load_ratio * 0.62, plan.intensity_ratio * 0.8
        if moment.phase == "saving":
            return 0.02, 0.3
        return plan.load_ratio * (1.0 + 0.025 * noise(self.seed + rank, int(at_s * 2))), plan.intensity_ratio

    def memory_bytes(self, at_s: float, rank: int) -> int:
        """Device memory of one rank: grows while it starts, jumps at the first step and the first evaluation."""
        moment = self.moment(at_s)
        if moment is None:
            return 0
        plan = self.plan.memory
        if moment.phase == "starting":
            if moment.part < 0.3:
                return 0
            loaded = min(1.0, (moment.part - 0.3) / 0.5)
            return _rounded(plan.context_bytes + plan.weights_bytes * loaded)
        if not moment.step and self.plan.total:
            return _rounded(plan.context_bytes + plan.weights_bytes)
        used = float(max(plan.training_bytes, plan.evaluation_bytes if moment.evaluations else 0))
        growing_s = at_s - self.plan.starts_s - self.plan.startup_s
        used += plan.growth_bytes_per_s * growing_s
        return _rounded(used * (1.0 + 0.0008 * noise(self.seed, rank)))


def _rounded(size: float) -> int:
    return int(size) // _MIB2 * _MIB2


def _processes(plan: RunPlan, first_pid: int, seed: int, viewer: Viewer) -> tuple[SimulatedProcess, ...]:
    """Launcher, then each rank with its workers. Without a launcher the first rank starts the others."""
    made: list[SimulatedProcess] = []
    ranks: list[int | None] = list(plan.gpus) or [None]
    starter: ProcessIdentity | None = None
    if plan.launcher:
        starter = _identity(plan, first_pid, viewer)
        facts = _facts(plan, viewer, starter, None, plan.launcher, "launcher", ())
        made.append(SimulatedProcess(facts, 1, None, 0.01, GIB // 4, 9, seed))
    for rank, gpu in enumerate(ranks):
        identity = _identity(plan, first_pid + 1 + rank * (1 + plan.workers), viewer)
        argv = tuple(part.replace("{rank}", str(rank)) for part in plan.argv)
        environment = _environment(plan, rank, len(ranks))
        facts = _facts(plan, viewer, identity, starter, argv, plan.kind, environment)
        parent_pid = starter.pid if starter else 1
        starter = starter or identity
        made.append(
            SimulatedProcess(facts, parent_pid, gpu, plan.rank_cpu_ratio, plan.rank_rss_bytes, 41, seed_of(seed, rank))
        )
        for worker in range(plan.workers):
            child = _identity(plan, identity.pid + 1 + worker, viewer, later_s=min(20.0, plan.startup_s * 0.8))
            facts = _facts(plan, viewer, child, identity, argv, "worker", environment)
            rss_bytes = plan.rank_rss_bytes // 5
            made.append(
                SimulatedProcess(
                    facts, identity.pid, None, plan.worker_cpu_ratio, rss_bytes, 2, seed_of(seed, rank, worker)
                )
            )
    return _with_children(made)


def _with_children(made: list[SimulatedProcess]) -> tuple[SimulatedProcess, ...]:
    children: dict[int, list[int]] = {}
    for process in made:
        children.setdefault(process.parent_pid, []).append(process.pid)
    return tuple(
        replace(process, facts=msgspec.structs.replace(process.facts, children=tuple(children.get(process.pid, ()))))
        for process in made
    )


def _identity(plan: RunPlan, pid: int, viewer: Viewer, later_s: float = 0.0) -> ProcessIdentity:
    started_s = max(0.01, viewer.start_boot_s + plan.starts_s + later_s)
    return ProcessIdentity(pid=pid, start_ticks=int(started_s * 100))


def _facts(
    plan: RunPlan,
    viewer: Viewer,
    identity: ProcessIdentity,
    parent: ProcessIdentity | None,
    argv: tuple[str, ...],
    kind: str,
    environment: tuple[EnvironmentVariable, ...],
) -> ProcessFacts:
    mine = plan.user is None
    home = plan.cwd.replace("/home/you", f"/home/{viewer.user}") if mine else plan.cwd
    return ProcessFacts(
        process=identity,
        name=argv[0].rsplit("/", 1)[-1] if argv else "python",
        parent=parent,
        uid=viewer.uid if mine else _USERS.get(plan.user or "", 2099),
        user=viewer.user if mine else plan.user,
        mine=mine,
        argv=argv,
        cwd=home,
        executable="/usr/bin/python3",
        environment=environment,
        container=_container(plan),
        started_s=viewer.start_wall_s + plan.starts_s,
        namespace_pids=(identity.pid,),
        open_files=_open_files(plan, home) if mine and kind not in ("launcher", "worker") else (),
        kind=kind,
        why="simulated",
    )


def _container(plan: RunPlan) -> Container | None:
    if plan.slurm_job_id:
        return Container(runtime="slurm", slurm_job_id=plan.slurm_job_id)
    if plan.container:
        return Container(runtime="docker", container_id=f"{seed_of(plan.container):08x}0000", name=plan.container)
    return None


def _environment(plan: RunPlan, rank: int, ranks: int) -> tuple[EnvironmentVariable, ...]:
    """What the allow-list lets through of an own process; nothing of another user's."""
    if plan.user is not None:
        return ()
    values: list[tuple[str, str]] = []
    if plan.launcher:
        values += [("RANK", str(rank)), ("LOCAL_RANK", str(rank)), ("WORLD_SIZE", str(ranks))]
    if plan.gpus:
        values.append(("CUDA_VISIBLE_DEVICES", ",".join(map(str, plan.gpus))))
    if plan.slurm_job_id:
        values.append(("SLURM_JOB_ID", plan.slurm_job_id))
    return tuple(EnvironmentVariable(name=name, value=value) for name, value in values)


def _open_files(plan: RunPlan, home: str) -> tuple[OpenFile, ...]:
    return tuple(
        OpenFile(descriptor=descriptor, kind="file", path=f"{home}/logs/{plan.name}.{suffix}", role=role)
        for descriptor, suffix, role in ((1, "out", "stdout"), (2, "err", "stderr"))
    )
