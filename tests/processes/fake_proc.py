"""A folder that looks like /proc, with processes that tests make up."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from monitor.clock import ManualClock
from monitor.processes.namespace import INITIAL_PID_NAMESPACE, Namespace
from monitor.processes.reader import ProcessReader

ME = 1000
OTHER_USER = 2000
HERE = Namespace(pid_namespace=INITIAL_PID_NAMESPACE, nested=False)
NESTED = Namespace(pid_namespace="pid:[4026532001]", nested=True, in_container=True)


def stat_line(
    pid: int,
    name: bytes,
    *,
    parent: int = 1,
    state: str = "S",
    ticks: int = 0,
    start: int = 100,
    threads: int = 1,
    rss: int = 1000,
    flags: int = 0x400000,
) -> bytes:
    """A line as the kernel writes it (proc(5))."""
    after = (
        f"{state} {parent} {pid} {pid} 0 -1 {flags} 1 0 0 0 {ticks} 0 0 0 20 0 {threads} 0 {start} 9999 {rss} "
        + "0 " * 28
    )
    return str(pid).encode() + b" (" + name + b") " + after.encode() + b"\n"


class FakeProc:
    """Writes and changes the files of made-up processes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)

    def add(
        self,
        pid: int,
        argv: Sequence[str | bytes],
        *,
        name: bytes | None = None,
        parent: int = 1,
        uid: int = ME,
        ticks: int = 0,
        start: int = 100,
        state: str = "S",
        flags: int = 0x400000,
        environ: Mapping[str, str] | None = None,
        maps: str = "",
        cgroup: str = "0::/user.slice\n",
        exe: str | None = None,
        files: Mapping[int, str] | None = None,
    ) -> Path:
        """A process; `files` are its descriptors, each open for writing."""
        folder = self.root / str(pid)
        (folder / "fd").mkdir(parents=True, exist_ok=True)
        (folder / "fdinfo").mkdir(exist_ok=True)
        words = [word if isinstance(word, bytes) else word.encode() for word in argv]
        comm = name if name is not None else (words[0].rsplit(b"/", 1)[-1][:15] if words else b"x")
        (folder / "stat").write_bytes(
            stat_line(pid, comm, parent=parent, ticks=ticks, start=start, state=state, flags=flags)
        )
        (folder / "cmdline").write_bytes(b"".join(word + b"\0" for word in words))
        (folder / "status").write_text(f"Name:\tx\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\nNSpid:\t{pid}\n")
        (folder / "cgroup").write_text(cgroup)
        (folder / "io").write_text(
            "rchar: 1\nwchar: 1\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 0\n"
        )
        (folder / "maps").write_text(maps)
        (folder / "environ").write_bytes(b"".join(f"{k}={v}".encode() + b"\0" for k, v in (environ or {}).items()))
        executable = exe if exe is not None else (words[0].decode("utf-8", "replace") if words else "/bin/x")
        for link, target in (("cwd", "/home/me/run"), ("exe", executable)):
            (folder / link).unlink(missing_ok=True)
            os.symlink(target, folder / link)
        for descriptor, target in (files or {}).items():
            os.symlink(target, folder / "fd" / str(descriptor))
            (folder / "fdinfo" / str(descriptor)).write_text("pos:\t0\nflags:\t0100001\nmnt_id:\t1\n")
        return folder

    def tick(self, pid: int, *, ticks: int, start: int = 100, name: bytes = b"python", parent: int = 1) -> None:
        """Give a process CPU time."""
        line = stat_line(pid, name, ticks=ticks, start=start, parent=parent)
        (self.root / str(pid) / "stat").write_bytes(line)

    def remove(self, pid: int) -> None:
        """It has ended."""
        shutil.rmtree(self.root / str(pid))


def reader(
    proc: FakeProc, clock: ManualClock, *, namespace: Namespace = HERE, own: frozenset[int] = frozenset()
) -> ProcessReader:
    """A reader over made-up processes, run by user `ME`."""
    return ProcessReader(
        clock, own, proc_root=str(proc.root), uid=ME, cgroup_root=str(proc.root / "cgroup"), namespace=namespace
    )
