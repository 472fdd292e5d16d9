"""All processes of the machine as they were when last looked at: in slices, and bounded in time."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from monitor.clock import Clock
from monitor.processes.command import read_command
from monitor.processes.counters import TICKS_PER_S, Counters
from monitor.processes.environment import MAX_BLOCK_BYTES, allowed_environment, value_of
from monitor.processes.facts import MAX_COMMAND_BYTES, parse_status, raw_argv
from monitor.processes.family import Relative
from monitor.processes.proc import ProcDirectory
from monitor.processes.selection import MIN_CPU_S, OTHER, Candidate, Choice, choose, sounds_like_service
from monitor.types.facts import ASKED_FOR
from monitor.types.identity import ProcessIdentity

SCAN_EVERY_S = 2.0
"""How often the list of pids is read, and those looked at that are new, young or may still turn out to train."""
FULL_SCAN_EVERY_S = 10.0
FULL_SCAN_SHARE = 0.002
"""All others are looked at again (they may have become something else by exec) at this share of one core at most."""
SLICE_S = 0.02
FIRST_SLICE_S = 0.15
"""The first look may take longer, so that the first frame already has the runs."""
SETTLED_S = 5.0
"""A younger process may still be between fork and exec: it is judged again."""
MAX_MAPS_BYTES = 1 << 20
MAX_ENTRIES = 100_000
ASKED = Choice("training", ASKED_FOR)

_RANKS = ("RANK", "LOCAL_RANK", "WORLD_SIZE")
_LIBRARIES: tuple[tuple[bytes, str], ...] = (
    (b"/libtorch_cpu.so", "libtorch"),
    (b"/libtorch.so", "libtorch"),
    (b"/libtensorflow", "tensorflow"),
    (b"/_pywrap_tensorflow", "tensorflow"),
    (b"/jaxlib/", "jax"),
    (b"/libxgboost.so", "xgboost"),
    (b"/lib_lightgbm.so", "lightgbm"),
    (b"/libpaddle.so", "paddle"),
    (b"/libmindspore", "mindspore"),
    (b"/libcudart.so", "libcudart"),
)


@dataclass(slots=True)
class Entry:
    """One process and what it was taken for."""

    identity: ProcessIdentity
    counters: Counters
    seen_s: float
    """Boot clock of `counters`."""
    cpu_ratio: float | None = None
    judged: bool = False
    settled: bool = False
    mine: bool = False
    candidate: Candidate = field(default_factory=lambda: Candidate(argv=()))
    choice: Choice = OTHER
    ranks: tuple[str, str] = ("", "")
    look_at_ticks: int = int(MIN_CPU_S * TICKS_PER_S)
    """CPU time at which its libraries are looked at (again)."""


class ProcessTable:
    """Keeps every process of the machine, judged once and again when it changed."""

    def __init__(
        self,
        proc: ProcDirectory,
        clock: Clock,
        uid: int,
        own_pids: frozenset[int],
        asked_pids: frozenset[int] = frozenset(),
    ) -> None:
        """`own_pids` are never looked at; `asked_pids` are taken for trainings whatever they look like."""
        self._asked_pids = asked_pids
        self._proc = proc
        self._clock = clock
        self._uid = uid
        self._own_pids = own_pids
        self._entries: dict[int, Entry] = {}
        self._todo: list[int] = []
        self._found: set[int] = set()
        self._unseen: set[int] = set()
        """Kernel threads and what hides: nothing to see until the next full scan."""
        self._due_s = self._full_due_s = float("-inf")
        self._full = False
        self._cost_s = 0.0
        self._first = True

    @property
    def entries(self) -> Mapping[int, Entry]:
        """Every process that was seen, by pid."""
        return self._entries

    def scan(self) -> bool:
        """Go on with the scan when it is due, for one slice. True when one was finished and the table is new."""
        now_s = self._clock.boot_s()
        if not self._todo:
            if now_s < self._due_s:
                return False
            self._begin(now_s)
        began_s = time.perf_counter()
        until_s = began_s + (FIRST_SLICE_S if self._first else SLICE_S)
        while self._todo:
            # From the highest pid down: mostly the newest first. A pid that ended meanwhile costs one failed open.
            for pid in (self._todo.pop() for _ in range(min(16, len(self._todo)))):
                self.look(pid)
            if time.perf_counter() >= until_s:
                break
        self._cost_s += time.perf_counter() - began_s
        if self._todo:
            return False
        for pid in [pid for pid in self._entries if pid not in self._found]:
            del self._entries[pid]
        self._first = False
        self._due_s = now_s + SCAN_EVERY_S
        if self._full:
            self._full_due_s = now_s + max(FULL_SCAN_EVERY_S, self._cost_s / FULL_SCAN_SHARE)
        return True

    def _begin(self, now_s: float) -> None:
        """List the pids and choose those to look at in this scan."""
        pids = sorted(set(self._proc.pids()) - self._own_pids)[:MAX_ENTRIES]
        self._found = set(pids)
        self._full = now_s >= self._full_due_s
        self._cost_s = 0.0
        if self._full:
            self._unseen.clear()
            self._todo = pids
        else:
            self._unseen &= self._found  # who comes later under the pid of one that has gone is new
            self._todo = [pid for pid in pids if pid not in self._unseen and self._undecided(self._entries.get(pid))]

    def _undecided(self, entry: Entry | None) -> bool:
        return entry is None or not entry.settled or self._worth_a_look(entry)

    def look(self, pid: int) -> Entry | None:
        """Read one process now; `None` when it is gone, hidden, a kernel thread or one of ours."""
        counters = self._proc.counters(pid) if pid not in self._own_pids else None
        if counters is None or counters.kernel_thread:
            self._unseen.add(pid)
            self._entries.pop(pid, None)
            return None
        now_s = self._clock.boot_s()
        entry = self._entries.get(pid)
        if entry is None or entry.identity.start_ticks != counters.start_ticks:
            identity = ProcessIdentity(pid=pid, start_ticks=counters.start_ticks)
            entry = self._entries[pid] = Entry(identity, counters, now_s)
        else:
            if now_s - entry.seen_s >= 1.0:
                ticks = counters.cpu_ticks - entry.counters.cpu_ticks
                entry.cpu_ratio = ticks / TICKS_PER_S / (now_s - entry.seen_s)
                entry.seen_s = now_s
            elif counters.name == entry.counters.name:
                return entry
            if counters.name != entry.counters.name:
                entry.judged = False
            entry.counters = counters
        self._judge(entry, now_s)
        return entry

    def look_up(self, pid: int) -> None:
        """Read a process and its ancestors, for a pid that the driver names before a scan has seen it."""
        for _ in range(64):
            if pid in self._entries:
                return
            entry = self.look(pid)
            if entry is None:
                return
            pid = entry.counters.parent_pid

    def relatives(self, gpu_pids: frozenset[int]) -> dict[int, Relative]:
        """Every process as its family judges it."""
        return {
            pid: Relative(
                entry.counters.parent_pid,
                entry.choice,
                entry.candidate.argv,
                pid in gpu_pids,
                entry.ranks,
                entry.choice.kind == "other"
                and entry.choice.python
                and sounds_like_service(read_command(entry.candidate.argv, entry.candidate.executable)),
            )
            for pid, entry in self._entries.items()
        }

    def children(self) -> dict[int, list[int]]:
        """Children by parent."""
        found: dict[int, list[int]] = {}
        for pid, entry in self._entries.items():
            found.setdefault(entry.counters.parent_pid, []).append(pid)
        return found

    def _judge(self, entry: Entry, now_s: float) -> None:
        """Judge a process that is new, young, renamed, or undecided and working."""
        if not (entry.judged and entry.settled):
            entry.settled = now_s - entry.identity.start_ticks / TICKS_PER_S >= SETTLED_S
            entry.judged = True
            self._read_candidate(entry)
        elif not self._worth_a_look(entry):
            return
        candidate = entry.candidate
        libraries = candidate.libraries
        if self._worth_a_look(entry) and entry.counters.cpu_ticks >= entry.look_at_ticks:
            entry.look_at_ticks = entry.counters.cpu_ticks * 4
            libraries = self._libraries(entry.identity.pid) or libraries
        entry.candidate = Candidate(
            argv=candidate.argv,
            executable=candidate.executable,
            mine=entry.mine,
            rank=candidate.rank,
            world_size=candidate.world_size,
            libraries=libraries,
            cpu_ratio=entry.cpu_ratio,
            cpu_s=entry.counters.cpu_ticks / TICKS_PER_S,
        )
        choice = choose(entry.candidate)
        if entry.choice.weak and choice.kind == "other":
            return  # what once worked like a training stays one while it waits
        if choice.kind == "other" and entry.identity.pid in self._asked_pids:
            choice = ASKED
        entry.choice = choice

    def _worth_a_look(self, entry: Entry) -> bool:
        """Whether its behaviour can still change what an own process is taken for."""
        return entry.mine and entry.choice.kind == "other" and entry.choice.python

    def _read_candidate(self, entry: Entry) -> None:
        pid = entry.identity.pid
        try:
            argv = raw_argv(self._proc.read(pid, "cmdline", MAX_COMMAND_BYTES))
            uid = parse_status(self._proc.read(pid, "status")).uid if argv else None
        except OSError:
            argv, uid = (), None
        if argv != entry.candidate.argv:
            entry.choice = OTHER  # an exec: what it was before says nothing
        entry.mine = uid is not None and uid == self._uid
        executable = ""
        rank = local_rank = world_size = ""
        if entry.mine:
            try:
                executable = self._proc.link(pid, "exe")
            except OSError:
                executable = ""
            if read_command(argv, executable).python:
                rank, local_rank, world_size = self._ranks(pid)
        entry.ranks = (rank, local_rank)
        entry.candidate = Candidate(
            argv=argv,
            executable=executable,
            mine=entry.mine,
            rank=rank if rank and world_size else local_rank,
            world_size=world_size,
            libraries=entry.candidate.libraries,
        )

    def _ranks(self, pid: int) -> tuple[str, str, str]:
        try:
            environment = allowed_environment(self._proc.read(pid, "environ", MAX_BLOCK_BYTES))
        except OSError:
            return "", "", ""
        rank, local_rank, world_size = (value_of(environment, name)[:16] for name in _RANKS)
        return rank, local_rank, world_size

    def _libraries(self, pid: int) -> tuple[str, ...]:
        try:
            text = self._proc.read(pid, "maps", MAX_MAPS_BYTES)
        except OSError:
            return ()
        return tuple(dict.fromkeys(name for mark, name in _LIBRARIES if mark in text))
