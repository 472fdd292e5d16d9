"""Follows runs through the stream: a deterministic reducer. Same messages, same runs; its clock is the stream's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from monitor.runs.census import Census
from monitor.runs.ended import EndedRuns
from monitor.runs.energy import EnergyMeter
from monitor.runs.grouping import Group, Known, group
from monitor.runs.identity import RunIds, sweep_id
from monitor.runs.naming import Nameable, name_runs, sweep_name
from monitor.runs.progress import Progress
from monitor.runs.state import RunState, replaced
from monitor.runs.unseen import unseen_runs
from monitor.types.identity import ProcessIdentity
from monitor.types.messages import Facts, Hello, Message, Snapshot
from monitor.types.run import Run

_KINDS = {"training": 0, "notebook": 1, "serving": 2, "other": 3}


class RunTracker:
    """Groups processes into runs, names them, reads their steps together and keeps how they ended."""

    def __init__(self) -> None:
        self._boot_id = ""
        self._begin()

    def _begin(self) -> None:
        self._census = Census()
        self._progress = Progress()
        self._energy = EnergyMeter()
        self._ids = RunIds()
        self._live: dict[str, RunState] = {}
        self._ended = EndedRuns()
        self._sweeps: set[tuple[object, ...]] = set()
        self._stepping: frozenset[ProcessIdentity] = frozenset()
        self._unseen_since_s: dict[int, float] = {}
        self._runs: tuple[Run, ...] = ()

    def update(self, message: Message) -> None:
        """Take one message."""
        if isinstance(message, Snapshot):
            self._take(message)
        elif isinstance(message, Facts):
            self._census.note_facts(message)
        elif isinstance(message, Hello) and message.boot_id != self._boot_id:
            if self._boot_id:
                self._begin()  # the machine was started anew: nobody of before lives
            self._boot_id = message.boot_id

    def runs(self) -> tuple[Run, ...]:
        """All runs: own first, training before notebooks, servers and others, more GPUs first, ended ones last."""
        return self._runs

    def _take(self, snapshot: Snapshot) -> None:
        self._progress.update(snapshot.steps, snapshot.taken_s, snapshot.boot_s)
        changed = self._census.take(snapshot)
        if changed or self._progress.stepping != self._stepping:
            self._stepping = frozenset(self._progress.stepping)
            self._regroup(snapshot)
        self._ended.refine(snapshot, self._census, self._progress)
        self._measure_energy(snapshot)
        live = [self._show(state, snapshot) for state in self._live.values()]
        live += unseen_runs(snapshot, self._boot_id, self._unseen_since_s)
        self._runs = self._grouped(live)

    def _regroup(self, snapshot: Snapshot) -> None:
        census = self._census
        known = (
            Known(fact, on_gpu=fact.process in census.on_gpu, stepping=fact.process in self._progress.stepping)
            for fact in census.present()
        )
        groups = group(known)
        before, self._live = self._live, {}
        for run_id, found in self._ids.assign(groups, self._boot_id):
            state = before.pop(run_id, None) or self._ended.revive(run_id)
            if state is None:
                state = RunState(run_id, found, snapshot.taken_s)
            state.regroup(found, census.facts)
            self._live[run_id] = state
        for state in before.values():
            self._end(state, snapshot)
        self._name()
        self._forget(groups)

    def _end(self, state: RunState, snapshot: Snapshot) -> None:
        main = [member for member in state.group.members if member.role in ("trainer", "server")]
        if any(self._census.lives(member.process) for member in main):
            return  # its processes were found to belong to another run, or to none: nothing ended
        fused = self._progress.reading(state.group.members)
        run = state.run(snapshot, {}, {}, fused, self._energy.energy_j(state.run_id))
        last = next((shown for shown in self._runs if shown.run_id == state.run_id), run)
        held = tuple(gpu.uuid for gpu in snapshot.gpus if gpu.uuid in state.gpu_uuids)
        run = replaced(run, gpu_uuids=held, gpus_inferred=last.gpus_inferred, waits_for_disk=False)
        self._ended.add(state, run, snapshot, self._census, self._progress)

    def _name(self) -> None:
        states = self._live.values()
        names = name_runs([_nameable(state) for state in states], [_nameable(state) for state in self._ended.states()])
        for state in states:
            state.name = names[state.run_id]
        keys = Counter(state.group.sibling_key for state in states if state.group.sibling_key)
        self._sweeps.update(key for key, count in keys.items() if count > 1)

    def _forget(self, groups: Iterable[Group]) -> None:
        """Drop what belongs to nobody who lives or is remembered."""
        kept = {member.process for one in groups for member in one.members} | self._ended.processes()
        self._ids.keep(kept)
        self._energy.keep(self._live.keys() | self._ended.keys().keys())
        for process in [one for one in self._progress.stepping if one not in kept and not self._census.lives(one)]:
            self._progress.forget(process)
        self._sweeps &= {state.group.sibling_key for state in self._live.values()} | set(self._ended.keys().values())

    def _measure_energy(self, snapshot: Snapshot) -> None:
        holders: dict[str, set[str]] = {}
        for state in self._live.values():
            for member in state.group.members:
                for one in self._census.on_gpu.get(member.process, ()):
                    if one.figures is None or one.figures.kind != "G":
                        holders.setdefault(one.pairing.gpu_uuid, set()).add(state.run_id)
        for pairing in snapshot.pairings:
            if pairing.process is None and pairing.how != "gone":
                holders.setdefault(pairing.gpu_uuid, set()).add(f"unseen {pairing.driver_pid}")
        frozen = {uuid: frozenset(run_ids) for uuid, run_ids in holders.items()}
        self._energy.update(snapshot.gpus, frozen, snapshot.boot_s)

    def _show(self, state: RunState, snapshot: Snapshot) -> Run:
        census = self._census
        state.note_states(census.samples, snapshot.taken_s)
        fused = self._progress.reading(state.group.members)
        return state.run(snapshot, census.samples, census.on_gpu, fused, self._energy.energy_j(state.run_id))

    def _grouped(self, live: list[Run]) -> tuple[Run, ...]:
        """Sorted, siblings of a sweep marked, ended ones behind with names of their own."""
        live.sort(key=_place)
        ended = self._ended.runs({run.name for run in live})
        keys = {state.run_id: state.group.sibling_key for state in self._live.values()} | self._ended.keys()
        counts = Counter(keys.values())
        leaders = {
            state.group.sibling_key: state.group.leader for state in (*self._ended.states(), *self._live.values())
        }
        sweeps = {
            key: (sweep_id(self._boot_id, key), sweep_name(leader, counts[key]))
            for key, leader in leaders.items()
            if key in self._sweeps
        }
        shown: list[Run] = []
        for run in (*live, *ended):
            sweep = sweeps.get(keys.get(run.run_id, ()))
            shown.append(run if sweep is None else replaced(run, group_id=sweep[0], group_name=sweep[1]))
        return tuple(shown)


def _nameable(state: RunState) -> Nameable:
    leader = state.group.leader
    job = next((one.value for one in leader.environment if one.name == "SLURM_JOB_NAME"), None)
    return Nameable(state.run_id, state.group.kind, leader, state.group.server, job)


def _place(run: Run) -> tuple[bool, int, int, float, str]:
    """Own runs first, the newest on top, because whoever started one wants to see it; others' by what they hold."""
    started_s = run.started_s if run.started_s is not None else run.watched_since_s
    if run.mine:
        return False, _KINDS[run.kind], 0, -started_s, run.run_id
    return True, _KINDS[run.kind], -len(run.gpu_uuids), started_s, run.run_id
