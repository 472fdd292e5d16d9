"""CPU time and memory of a process and everything it started, read from /proc."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path


def tree(root_pid: int) -> list[int]:
    """`root_pid` and its living descendants, also those in sessions of their own."""
    parents: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = Path(f"/proc/{entry}/stat").read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
            parents.setdefault(int(stat.rsplit(")", 1)[1].split()[1]), []).append(int(entry))
    found, queue = [], [root_pid]
    while queue:
        pid = queue.pop()
        found.append(pid)
        queue.extend(parents.get(pid, ()))
    return found


def cpu_s(pids: list[int]) -> float:
    """Time that the threads of these processes have run, in seconds.

    From the scheduler's own nanoseconds: user and system time in `stat` are sampled by the timer tick, which counts a
    process that wakes at each tick for up to twice its time. A thread that has ended is no longer counted.
    """
    total_ns = 0
    for pid in pids:
        try:
            threads = os.listdir(f"/proc/{pid}/task")
        except OSError:
            continue
        for thread in threads:
            with contextlib.suppress(OSError):
                total_ns += int(Path(f"/proc/{pid}/task/{thread}/schedstat").read_text(encoding="ascii").split()[0])
    return total_ns / 1e9


def pss_bytes(pids: list[int]) -> int:
    """Proportional set size: shared pages counted once, divided among those who share them."""
    total = 0
    for pid in pids:
        try:
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
        except OSError:
            continue
        match = re.search(r"^Pss:\s+(\d+) kB", rollup, re.MULTILINE)
        total += int(match.group(1)) * 1024 if match else 0
    return total
