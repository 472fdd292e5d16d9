"""What works on this machine beside the driver, for `doctor` and for a viewer on another machine."""

from __future__ import annotations

import os

from monitor.types.messages import Ability


def host_abilities(proc_root: str = "/proc", uid: int | None = None) -> tuple[Ability, ...]:
    """The process table, other users' processes, and pressure figures. `proc_root` and `uid` are for tests."""
    uid = getattr(os, "geteuid", lambda: -1)() if uid is None else uid
    return (_process_table(proc_root), _other_users(proc_root, uid), _pressure(proc_root))


def _process_table(proc_root: str) -> Ability:
    works = os.path.exists(os.path.join(proc_root, "self", "stat"))
    return Ability(
        name="processes",
        works=works,
        detail=f"read from {proc_root}" if works else f"{proc_root} is not there",
        remedy="" if works else "Mount the proc file system.",
    )


def _other_users(proc_root: str, uid: int) -> Ability:
    """Whether the owner of process 1 can be seen, which `hidepid` hides from all but root (proc(5))."""
    name = "processes of other users"
    if uid == 0 or os.path.exists(os.path.join(proc_root, "1", "stat")):
        return Ability(name=name, works=True, detail="name, user and figures; what they write is for their owners")
    return Ability(
        name=name,
        works=False,
        detail="/proc is mounted with hidepid: only own processes are seen",
        remedy="Ask the administrator for the group that the mount option gid= names.",
    )


def _pressure(proc_root: str) -> Ability:
    """Pressure stall information: Linux 4.20, and not switched off (Documentation/accounting/psi.rst)."""
    name = "pressure stall figures"
    try:
        with open(os.path.join(proc_root, "pressure", "cpu"), "rb") as file:
            file.read(64)
    except OSError as error:
        return Ability(
            name=name,
            works=False,
            detail=f"the kernel gives none: {error.strerror}",
            remedy="Start the kernel with psi=1.",
        )
    return Ability(name=name, works=True)
