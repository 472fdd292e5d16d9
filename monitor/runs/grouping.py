"""Processes into groups: ranks under their launcher, workers and helpers folded in, siblings of a sweep apart. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from monitor.processes.command import read_command
from monitor.processes.programs import server
from monitor.runs.ranks import Rank, rank_of, without_rank
from monitor.types.facts import ProcessFacts
from monitor.types.identity import ProcessIdentity
from monitor.types.run import RunKind, RunMember

_SPAWNED = ("multiprocessing.spawn", "--multiprocessing-fork", "multiprocessing.forkserver", "loky.backend")
_OWN_RUN = ("training", "serving", "notebook")
_MAX_DEPTH = 64


@dataclass(frozen=True, slots=True)
class Known:
    """One live process as grouping sees it."""

    fact: ProcessFacts
    on_gpu: bool = False
    stepping: bool = False
    """It has reported steps."""

    @property
    def kind(self) -> str:
        """What the agent takes it for; a process that counts steps trains, whatever it is called."""
        return "training" if self.stepping and self.fact.kind == "other" else self.fact.kind


@dataclass(frozen=True, slots=True)
class Group:
    """The processes of one run."""

    kind: RunKind
    members: tuple[RunMember, ...]
    anchor: ProcessIdentity
    """Launcher, else the process that started first: what the run is known by."""
    leader: ProcessFacts
    """Rank 0, else the lowest rank, else the first: its command line names the run."""
    server: str | None = None
    sibling_key: tuple[object, ...] = ()
    """Runs with the same key were started from the same place with the same program."""


@dataclass(slots=True)
class _Forest:
    known: Mapping[ProcessIdentity, Known]
    root: dict[ProcessIdentity, ProcessIdentity] = field(default_factory=dict)
    drivers: dict[ProcessIdentity, ProcessIdentity] = field(default_factory=dict)

    def parent(self, process: ProcessIdentity) -> Known | None:
        parent = self.known[process].fact.parent
        return None if parent is None or parent == process else self.known.get(parent)

    def find(self, process: ProcessIdentity) -> ProcessIdentity:
        while self.root.setdefault(process, process) != process:
            process = self.root[process]
        return process

    def join(self, one: ProcessIdentity, other: ProcessIdentity) -> None:
        first, second = sorted((self.find(one), self.find(other)), key=_age)
        self.root[second] = first


def group(known: Iterable[Known]) -> tuple[Group, ...]:
    """All runs among these processes, oldest first. The order of the input does not matter."""
    ordered = sorted(known, key=lambda one: _age(one.fact.process))
    forest = _Forest({one.fact.process: one for one in ordered})
    roles: dict[ProcessIdentity, str] = {}
    for one in ordered:
        if one.kind in _OWN_RUN:
            _climb(forest, one, roles)
    _join_ranks(forest, [one for one in ordered if roles.get(one.fact.process) == "trainer"])
    for driver in sorted(set(forest.drivers.values()), key=_age):
        _judge_driver(forest, driver, roles)
    for one in ordered:
        if one.fact.process not in roles:
            _fold_in(forest, one, roles)
    return _groups(forest, roles)


def _climb(forest: _Forest, one: Known, roles: dict[ProcessIdentity, str]) -> None:
    """Join a process to the run of its ancestors, as far as they belong to it."""
    process = one.fact.process
    roles[process] = {"training": "trainer", "serving": "server"}.get(one.kind, "kernel")
    below = one
    for _ in range(_MAX_DEPTH):
        above = forest.parent(below.fact.process)
        if above is None:
            return
        if above.kind == "launcher":
            if one.kind != "notebook":
                roles[above.fact.process] = "launcher"
                forest.join(process, above.fact.process)
        elif above.kind in _OWN_RUN:
            if not _belongs(one, above):
                if one.kind == "training" == above.kind:
                    forest.drivers[process] = above.fact.process
                return
            if one.kind == "serving" and above.kind == "training":
                roles[process] = "helper"
            elif above.kind == "notebook":
                roles[process] = "worker"
            elif one.kind == "training" and not _same_code(one, above):
                roles[process] = "helper"
            forest.join(process, above.fact.process)
            return
        below = above


def _belongs(one: Known, above: Known) -> bool:
    """Whether a process is part of the run of one above it."""
    if one.kind == "notebook":
        return False
    if above.kind == "notebook":
        return _spawned(one)
    if above.kind == "serving":
        return True
    if one.kind == "serving":
        return True  # an engine inside a training run generates for it
    return _same_code(one, above) or above.on_gpu or above.stepping


def _same_code(one: Known, above: Known) -> bool:
    return _spawned(one) or not one.fact.argv or without_rank(one.fact.argv) == without_rank(above.fact.argv)


def _spawned(one: Known) -> bool:
    return any(mark in word for word in one.fact.argv[:12] for mark in _SPAWNED)


def _judge_driver(forest: _Forest, driver: ProcessIdentity, roles: dict[ProcessIdentity, str]) -> None:
    """A script that starts another: the launcher of one run, or of a sweep (then it is no run of its own)."""
    below = {forest.find(child) for child, above in forest.drivers.items() if above == driver}
    if len(below) == 1:
        roles[driver] = "launcher"
        forest.join(driver, below.pop())
    else:
        roles[driver] = "driver"


def _join_ranks(forest: _Forest, trainers: list[Known]) -> None:
    """Join ranks whose launcher cannot be seen, by what they agree on."""
    meetings: dict[tuple[object, ...], list[tuple[Known, Rank]]] = {}
    for one in trainers:
        rank = rank_of(one.fact)
        for key in rank.meetings:
            meetings.setdefault(key, []).append((one, rank))
        if one.fact.argv and one.fact.argv[0].startswith("ray::"):
            meetings.setdefault(("ray", one.fact.parent), []).append((one, rank))
    for key, ranks in meetings.items():
        numbers = [rank.number for _, rank in ranks]
        if key[0] != "ray" and len(set(numbers)) != len(numbers):
            continue  # the same number twice: two runs that only look alike
        for one, _ in ranks[1:]:
            forest.join(ranks[0][0].fact.process, one.fact.process)


def _fold_in(forest: _Forest, one: Known, roles: dict[ProcessIdentity, str]) -> None:
    """Workers and helpers go to the nearest ancestor that belongs to a run; a GPU's process is never left out."""
    below = one
    for _ in range(_MAX_DEPTH):
        above = forest.parent(below.fact.process)
        if above is None:
            break
        role = roles.get(above.fact.process)
        if role is not None and role not in ("driver", "other"):
            own = "launcher" if one.kind == "launcher" else "worker" if _is_worker(one, above) else "helper"
            roles[one.fact.process] = own
            forest.join(one.fact.process, above.fact.process)
            return
        below = above
    if one.on_gpu:
        roles[one.fact.process] = "other"


def _is_worker(one: Known, above: Known) -> bool:
    return one.kind == "worker" or (bool(one.fact.argv) and one.fact.argv == above.fact.argv)


def _groups(forest: _Forest, roles: dict[ProcessIdentity, str]) -> tuple[Group, ...]:
    families: dict[ProcessIdentity, list[Known]] = {}
    for process, role in roles.items():
        if role == "driver" and not forest.known[process].on_gpu:
            continue
        families.setdefault(forest.find(process), []).append(forest.known[process])
    made = (_make(forest, family, roles) for _, family in sorted(families.items(), key=lambda item: _age(item[0])))
    return tuple(one for one in made if one is not None)


def _make(forest: _Forest, family: list[Known], roles: dict[ProcessIdentity, str]) -> Group | None:
    main = [one for one in family if roles[one.fact.process] in ("trainer", "server", "kernel", "other", "driver")]
    main = main or [
        one for one in family if one.on_gpu
    ]  # only helpers of each other: a GPU's process is never left out
    if not main:
        return None
    ranks = {one.fact.process: rank_of(one.fact).number for one in family}
    launchers = [one for one in family if roles[one.fact.process] == "launcher"]
    if any(one.kind != "launcher" for one in launchers):
        launchers = []  # a script may start one training after another: each of them is a run of its own
    leader = min(main, key=lambda one: (_number(ranks[one.fact.process]), _age(one.fact.process)))
    kinds: dict[str, RunKind] = {"trainer": "training", "driver": "training", "server": "serving", "kernel": "notebook"}
    kind = kinds.get(roles[leader.fact.process], "other")
    anchor = min((one.fact.process for one in launchers or main), key=_age)
    order = {"launcher": 0, "trainer": 1, "server": 1, "kernel": 1, "other": 1, "driver": 1, "worker": 2, "helper": 3}
    named = {"kernel": "trainer", "other": "trainer", "driver": "trainer"}
    members = sorted(
        family,
        key=lambda one: (order[roles[one.fact.process]], _number(ranks[one.fact.process]), _age(one.fact.process)),
    )
    return Group(
        kind=kind,
        anchor=anchor,
        leader=leader.fact,
        server=_server_name(family) if kind == "serving" else None,
        sibling_key=_sibling_key(forest, anchor, leader.fact) if kind == "training" else (),
        members=tuple(
            RunMember(
                process=one.fact.process,
                role=named.get(roles[one.fact.process], roles[one.fact.process]),
                rank=ranks[one.fact.process] if roles[one.fact.process] == "trainer" else None,
            )
            for one in members
        ),
    )


def _server_name(family: list[Known]) -> str | None:
    for one in family:
        name = server(read_command(one.fact.argv, one.fact.executable or ""))
        if name:
            return name
    return None


def _sibling_key(forest: _Forest, anchor: ProcessIdentity, leader: ProcessFacts) -> tuple[object, ...]:
    """Where a run was started from and with what; empty where nothing can be told."""
    command = read_command(leader.argv, leader.executable or "")
    program = command.module or command.script or command.program
    array = next((one.value for one in leader.environment if one.name == "SLURM_ARRAY_JOB_ID"), None)
    if not program:
        return ()
    if array:
        return ("array", array, program)
    driver = forest.drivers.get(anchor)
    above = driver or forest.known[anchor].fact.parent
    if above is None or above.pid <= 1:  # started with nohup: the shell that did it is gone
        return ("orphans", leader.user, leader.cwd, program)
    return ("parent", above.pid, above.start_ticks, program)


def _number(rank: int | None) -> int:
    return 1 << 30 if rank is None else rank


def _age(process: ProcessIdentity) -> tuple[int, int]:
    return process.start_ticks, process.pid
