"""CPU time and memory of a process and everything it started, read from /proc."""

from __future__ import annotations

import os
import re
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


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
    """User and system time of these processes and of their reaped children, in seconds."""
    total = 0
    for pid in pids:
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        total += sum(int(field) for field in stat.rsplit(")", 1)[1].split()[11:15])
    return total / TICKS_PER_S


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
