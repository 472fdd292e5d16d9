"""Where we stand ourselves: in which pid namespace, in a container or not, and whether /proc hides processes."""

from __future__ import annotations

import os
from dataclasses import dataclass

from monitor.processes.proc import read_bounded

INITIAL_PID_NAMESPACE = "pid:[4026531836]"
"""The inode of the first pid namespace is fixed in the kernel (PROC_PID_INIT_INO, include/linux/proc_ns.h)."""


@dataclass(frozen=True, slots=True)
class Namespace:
    """Our own place."""

    pid_namespace: str = ""
    """As /proc/self/ns/pid names it; empty when it cannot be read."""
    nested: bool | None = None
    """Whether our pids differ from the host's, which the driver may use; `None` when unknown."""
    in_container: bool = False
    hides_others: bool = False
    """/proc is mounted with hidepid: processes of other users do not show."""


def _own_levels(root: str) -> int:
    """How many pid namespaces deep we are, as far as this procfs shows."""
    try:
        for line in read_bounded(f"{root}/self/status", 65536).splitlines():
            if line.startswith(b"NSpid:"):
                return len(line.split()) - 1
    except OSError:
        pass
    return 1


def _hides_others(root: str) -> bool:
    try:
        lines = read_bounded(f"{root}/self/mountinfo", 1 << 20).decode("utf-8", "replace").splitlines()
    except OSError:
        return False
    for line in reversed(lines):  # the last mount on a place is the one that shows
        before, mark, after = line.partition(" - ")
        words = before.split()
        if not mark or len(words) < 6 or words[4] != "/proc" or not after.startswith("proc "):
            continue
        options = ",".join((words[5], *after.split()[2:])).split(",")
        return any(option.startswith("hidepid=") and option not in ("hidepid=0", "hidepid=off") for option in options)
    return False


def _in_container(root: str, top: str) -> bool:
    if os.path.exists(f"{top}/.dockerenv") or os.path.exists(f"{top}/run/.containerenv"):
        return True
    try:
        text = read_bounded(f"{root}/1/cgroup", 65536)
    except OSError:
        return False
    return any(mark in text for mark in (b"docker", b"kubepods", b"libpod", b"containerd", b"/lxc"))


def read_namespace(root: str = "/proc", top: str = "") -> Namespace:
    """Look at ourselves. `root` is the procfs, `top` the folder that stands for / (both for tests)."""
    try:
        inode = os.readlink(f"{root}/self/ns/pid")
    except OSError:
        inode = ""
    nested: bool | None = None
    if inode or _own_levels(root) > 1:
        nested = inode != INITIAL_PID_NAMESPACE or _own_levels(root) > 1
    return Namespace(inode, nested, _in_container(root, top), _hides_others(root))
