"""One process that is looked at every tick."""

from __future__ import annotations

from dataclasses import dataclass

from monitor.processes.counters import PAGE_BYTES, TICKS_PER_S, Counters, parse_io
from monitor.processes.oom_kills import oom_kill_file, oom_kills
from monitor.processes.proc import ProcDirectory
from monitor.processes.selection import Choice
from monitor.types.facts import ProcessFacts
from monitor.types.identity import ProcessIdentity
from monitor.types.process import ProcessEnd, ProcessSample

MIN_INTERVAL_S = 0.05
"""Two readings closer than this give no CPU share: the counter has steps of 10 ms."""
_BUSY_REFRESH_S = (2.0, 12.0)
_QUIET_REFRESH_S = 60.0
_QUIET_IO_S = 5.0
"""Bytes read and written cost as much as all other counters; beside trainings they are looked at less often."""


@dataclass(slots=True)
class Watched:
    """A watched process, with what must be remembered between two ticks."""

    identity: ProcessIdentity
    choice: Choice
    counters: Counters | None = None
    counted_s: float = 0.0
    cpu_ratio: float | None = None
    facts: ProcessFacts | None = None
    facts_due_s: float = float("-inf")
    gpu_files_open: bool | None = None
    io_readable: bool = True
    io_bytes: tuple[int | None, int | None] = (None, None)
    io_due_s: float = float("-inf")
    oom_file: str | None = None
    oom_kills: int | None = None

    def sample(self, proc: ProcDirectory, now_s: float) -> ProcessSample | None:
        """Read the counters; `None` when the process is gone or its pid belongs to another one by now."""
        pid = self.identity.pid
        counters = proc.counters(pid)
        if counters is None or counters.start_ticks != self.identity.start_ticks:
            return None
        before = self.counters
        if before is None:
            self.counted_s = now_s
        elif now_s - self.counted_s >= MIN_INTERVAL_S:
            ticks = counters.cpu_ticks - before.cpu_ticks
            self.cpu_ratio = max(0, ticks) / TICKS_PER_S / (now_s - self.counted_s)
            self.counted_s = now_s
            if counters.name != before.name or counters.parent_pid != before.parent_pid:
                self.facts_due_s = float("-inf")
        else:
            counters = counters._replace(cpu_ticks=before.cpu_ticks)
        self.counters = counters
        read_bytes, written_bytes = self._io(proc, now_s)
        return ProcessSample(
            process=self.identity,
            parent_pid=counters.parent_pid,
            state=counters.state,
            cpu_ratio=self.cpu_ratio,
            cpu_s=counters.cpu_ticks / TICKS_PER_S,
            rss_bytes=None if counters.state == "Z" else counters.rss_pages * PAGE_BYTES,
            threads=counters.threads,
            read_bytes=read_bytes,
            written_bytes=written_bytes,
            gpu_files_open=self.gpu_files_open,
        )

    def next_refresh_s(self, now_s: float) -> float:
        """When its facts are worth another look: soon for a young run, which still opens its logs, late for helpers."""
        if self.choice.kind in ("worker", "other"):
            return now_s + _QUIET_REFRESH_S
        age_s = now_s - self.identity.start_ticks / TICKS_PER_S
        return now_s + min(max(age_s / 3, _BUSY_REFRESH_S[0]), _BUSY_REFRESH_S[1])

    def note_oom_counter(self, proc: ProcDirectory, cgroup_top: str) -> None:
        """Remember how often its cgroup was killed for memory before we watched."""
        try:
            text = proc.read(self.identity.pid, "cgroup", 16384).decode("utf-8", "replace")
        except OSError:
            return
        self.oom_file = oom_kill_file(text, cgroup_top)
        self.oom_kills = None if self.oom_file is None else oom_kills(self.oom_file)

    def end(self, wall_s: float) -> ProcessEnd:
        """What can be said of its end."""
        kills: int | None = None
        if self.oom_file is not None and self.oom_kills is not None:
            now = oom_kills(self.oom_file)
            kills = None if now is None else max(0, now - self.oom_kills)
        return ProcessEnd(process=self.identity, seen_s=wall_s, host_oom_kills=kills)

    def _io(self, proc: ProcDirectory, now_s: float) -> tuple[int | None, int | None]:
        if not self.io_readable:
            return None, None
        if now_s < self.io_due_s:
            return self.io_bytes
        self.io_due_s = now_s if self.choice.kind == "training" else now_s + _QUIET_IO_S
        self.io_bytes = self._read_io(proc)
        return self.io_bytes

    def _read_io(self, proc: ProcDirectory) -> tuple[int | None, int | None]:
        try:
            found = parse_io(proc.read(self.identity.pid, "io", 1024))
        except OSError:
            self.io_readable = False  # another user's; asked again with the facts
            return None, None
        return found if found is not None else (None, None)
