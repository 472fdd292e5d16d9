"""How often the kernel killed for memory in a process's cgroup: tells "killed by the system" from "crashed"."""

from __future__ import annotations

import os

from monitor.processes.containers import cgroup_paths
from monitor.processes.proc import read_bounded


def oom_kill_file(cgroup_text: str, top: str = "/sys/fs/cgroup") -> str | None:
    """The file with the counter of the cgroup that a /proc/PID/cgroup names: version 2, hybrid, then version 1."""
    paths = cgroup_paths(cgroup_text)
    places: list[str] = []
    unified = paths.get("", "").rstrip("/")
    if "" in paths:
        places += [f"{top}{unified}/memory.events", f"{top}/unified{unified}/memory.events"]
    if "memory" in paths:
        places.append(f"{top}/memory{paths['memory'].rstrip('/')}/memory.oom_control")
    for place in places:
        if ".." not in place.split("/") and os.path.isfile(place):
            return place
    return None


def oom_kills(path: str) -> int | None:
    """The counter in such a file; `None` when it is gone or has none."""
    try:
        text = read_bounded(path, 4096)
    except OSError:
        return None
    for line in text.splitlines():
        words = line.split()
        if len(words) == 2 and words[0] == b"oom_kill" and words[1].isdigit():
            return int(words[1])
    return None
