"""The processes that train, serve, hold a notebook or a GPU, with their launchers and helpers."""

from __future__ import annotations

import os
import time

from monitor.clock import Clock
from monitor.processes.environment import value_of
from monitor.processes.facts import FactsReader
from monitor.processes.family import CHOSEN, members
from monitor.processes.namespace import Namespace, read_namespace
from monitor.processes.open_files import read_descriptors
from monitor.processes.pairing import Holder, LocalProcess, pair
from monitor.processes.proc import ProcDirectory
from monitor.processes.table import Entry, ProcessTable
from monitor.processes.visible_devices import visible_devices
from monitor.processes.watched import Watched
from monitor.sources import ProcessReading
from monitor.types.facts import ProcessFacts
from monitor.types.gpu import GpuIdentity, GpuSample
from monitor.types.identity import ProcessIdentity
from monitor.types.process import Pairing, ProcessEnd, ProcessSample

MAX_WATCHED = 4096
MAX_CHILDREN = 256
FACTS_SLICE_S = 0.004
FIRST_FACTS_SLICE_S = 0.1
"""Facts of processes that have none yet may take longer, so that the first frame has names."""


class ProcessReader:
    """Implements `monitor.sources.ProcessSource` over a procfs. No method raises for anything a process does."""

    def __init__(
        self,
        clock: Clock,
        own_pids: frozenset[int] = frozenset(),
        proc_root: str = "/proc",
        uid: int | None = None,
        cgroup_root: str = "/sys/fs/cgroup",
        namespace: Namespace | None = None,
        asked_pids: frozenset[int] = frozenset(),
    ) -> None:
        """Whom to leave out, whom to watch in any case, and what tests replace.

        `own_pids` are our agent and front end, no run; `asked_pids` are watched whatever they look like.
        """
        uid = uid if uid is not None else getattr(os, "geteuid", lambda: -1)()
        self._clock = clock
        self._uid = uid
        self._real = proc_root == "/proc"
        self._cgroup_root = cgroup_root
        self._proc = ProcDirectory(proc_root)
        self._table = ProcessTable(self._proc, clock, uid, own_pids, asked_pids)
        self._facts = FactsReader(self._proc, clock, uid)
        self._namespace = namespace if namespace is not None else read_namespace(proc_root)
        self._watched: dict[ProcessIdentity, Watched] = {}
        self._on_gpu: frozenset[int] | None = None
        self._holders: dict[ProcessIdentity, tuple[int, bool]] = {}
        """Own processes in a nested pid namespace: CPU ticks when they were looked at, and whether they hold a GPU."""

    @property
    def namespace(self) -> Namespace:
        """Where we stand ourselves."""
        return self._namespace

    def read(self, gpu_pids: frozenset[int]) -> ProcessReading:
        """Look at the processes that the driver names and at those that train, serve or hold a notebook."""
        scanned = self._table.scan()
        on_gpu = gpu_pids if self._namespace.nested is False else self._holding_pids(scanned)
        if on_gpu != self._on_gpu or scanned:
            for pid in on_gpu:
                self._table.look_up(pid)
            self._choose(on_gpu)
            self._on_gpu = on_gpu
        samples, ended = self._sample()
        return ProcessReading(samples=samples, facts=self._refresh_facts(), ended=ended)

    def pair(self, gpus: tuple[GpuSample, ...]) -> tuple[Pairing, ...]:
        """Say whom each pid that the driver names belongs to here."""
        pids = {process.pid for gpu in gpus for process in gpu.processes or ()}
        local = {pid: self._local(pid) for pid in pids}
        holders = [] if self._namespace.nested is False else self._partners(gpus)
        return pair(gpus, local, holders, self._namespace)

    def _choose(self, on_gpu: frozenset[int]) -> None:
        """Decide whom to watch. Who is watched stays so until it ends."""
        entries = self._table.entries
        for pid, choice in members(self._table.relatives(on_gpu)).items():
            identity = entries[pid].identity
            watched = self._watched.get(identity)
            if watched is None:
                if len(self._watched) < MAX_WATCHED:
                    self._watched[identity] = Watched(identity, choice)
            elif watched.choice != choice:
                if watched.choice.kind != choice.kind:
                    watched.facts_due_s = float("-inf")
                watched.choice = choice

    def _sample(self) -> tuple[tuple[ProcessSample, ...], tuple[ProcessEnd, ...]]:
        now_s = self._clock.boot_s()
        samples: list[ProcessSample] = []
        ended: list[ProcessEnd] = []
        for watched in list(self._watched.values()):
            sample = watched.sample(self._proc, now_s)
            if sample is not None:
                samples.append(sample)
                continue
            ended.append(watched.end(self._clock.wall_s()))
            del self._watched[watched.identity]
            self._facts.forget(watched.identity)
            self._holders.pop(watched.identity, None)
            self._table.look(watched.identity.pid)
            self._on_gpu = None  # whoever has its pid now is judged in the next tick
        return tuple(samples), tuple(ended)

    def _refresh_facts(self) -> tuple[ProcessFacts, ...]:
        now_s = self._clock.boot_s()
        due = [watched for watched in self._watched.values() if watched.facts_due_s <= now_s]
        due.sort(
            key=lambda watched: (watched.facts is not None, watched.choice.kind not in CHOSEN, watched.facts_due_s)
        )
        children = self._table.children() if due else {}
        began_s = time.perf_counter()
        for watched in due:
            allowed_s = FIRST_FACTS_SLICE_S if watched.facts is None else FACTS_SLICE_S
            if time.perf_counter() - began_s > allowed_s:
                break
            self._read_facts(watched, tuple(sorted(children.get(watched.identity.pid, ()))[:MAX_CHILDREN]), now_s)
        return tuple(watched.facts for watched in self._watched.values() if watched.facts is not None)

    def _read_facts(self, watched: Watched, children: tuple[int, ...], now_s: float) -> None:
        counters = watched.counters
        if counters is None:
            return
        parent = self._table.entries.get(counters.parent_pid)
        if watched.facts is None:
            watched.note_oom_counter(self._proc, self._cgroup_root)
        facts, gpu = self._facts.read(
            watched.identity,
            counters,
            watched.choice,
            None if parent is None else parent.identity,
            children,
            watched.facts,
        )
        again = self._proc.counters(watched.identity.pid)
        if again is None or again.start_ticks != watched.identity.start_ticks:
            return  # it ended while we read, and what was read may be its successor's; the next tick says so
        watched.facts, watched.gpu_files_open, watched.io_readable = facts, gpu, True
        watched.facts_due_s = watched.next_refresh_s(now_s)

    def _local(self, pid: int) -> LocalProcess:
        """What is known here of a pid that the driver names."""
        entry = self._table.entries.get(pid)
        watched = None if entry is None else self._watched.get(entry.identity)
        if entry is None or watched is None:  # who is watched was read in this tick
            entry = self._table.look(pid)
        if entry is None:
            return LocalProcess(None, self._exists(pid))
        counters = entry.counters if watched is None or watched.counters is None else watched.counters
        zombie = counters.state == "Z"
        if self._namespace.nested is False:
            return LocalProcess(entry.identity, True, None, zombie)
        return LocalProcess(entry.identity, True, self._holds_gpu(entry), zombie)

    def _exists(self, pid: int) -> bool:
        """Whether the kernel knows a pid that /proc does not show. Sends no signal."""
        if self._proc.exists(pid):
            return True
        if not self._real or not hasattr(os, "pidfd_open"):
            return self._namespace.hides_others
        try:
            os.close(os.pidfd_open(pid))
        except ProcessLookupError:
            return False
        except OSError:  # an old kernel, or a sandbox that forbids the call
            return self._namespace.hides_others
        return True

    def _holds_gpu(self, entry: Entry) -> bool | None:
        """Whether a process holds a GPU open; looked at again only when it has worked since."""
        known = self._holders.get(entry.identity)
        ticks = entry.counters.cpu_ticks
        if known is not None and (known[1] or ticks < 2 * known[0] + 20):
            return known[1]
        try:
            holds = bool(read_descriptors(self._proc, entry.identity.pid).gpu)
        except OSError:
            return None
        self._holders[entry.identity] = (ticks, holds)
        return holds

    def _holding_pids(self, scanned: bool) -> frozenset[int]:
        """In a nested pid namespace: own processes with a GPU open, but not forks, which inherit the descriptors."""
        if not scanned and self._on_gpu is not None:
            return self._on_gpu
        entries = self._table.entries
        self._holders = {
            identity: known
            for identity, known in self._holders.items()
            if (entry := entries.get(identity.pid)) is not None and entry.identity == identity
        }
        holding = {pid for pid, entry in entries.items() if entry.mine and self._holds_gpu(entry)}
        return frozenset(pid for pid in holding if not self._is_fork(entries[pid], holding))

    def _is_fork(self, entry: Entry, holding: set[int]) -> bool:
        parent = self._table.entries.get(entry.counters.parent_pid)
        return (
            parent is not None
            and parent.identity.pid in holding
            and parent.candidate.argv == entry.candidate.argv
            and parent.ranks == entry.ranks
        )

    def _partners(self, gpus: tuple[GpuSample, ...]) -> list[Holder]:
        """Own processes that hold a GPU open, with the GPUs they may use where that is certain."""
        identities = tuple(GpuIdentity(uuid=gpu.uuid, index=index, name="") for index, gpu in enumerate(gpus))
        found: list[Holder] = []
        for pid in self._holding_pids(scanned=False):
            entry = self._table.entries.get(pid)
            if entry is None:
                continue
            watched = self._watched.get(entry.identity)
            facts = watched.facts if watched is not None else None
            found.append(Holder(entry.identity, _usable(facts, identities)))
        return found


def _usable(facts: ProcessFacts | None, gpus: tuple[GpuIdentity, ...]) -> frozenset[str] | None:
    """The GPUs a process is limited to, where its environment says so beyond doubt: by UUID, or by PCI order."""
    if facts is None:
        return None
    visible = value_of(facts.environment, "CUDA_VISIBLE_DEVICES")
    order = value_of(facts.environment, "CUDA_DEVICE_ORDER")
    by_uuid = all(entry.strip().upper().startswith(("GPU-", "MIG-")) for entry in visible.split(","))
    only_whole = all(not gpu.uuid.startswith("MIG-") for gpu in gpus)
    if not visible or not (by_uuid or (order == "PCI_BUS_ID" and only_whole)):
        return None
    return frozenset(visible_devices(gpus, visible, order).uuids) or None
