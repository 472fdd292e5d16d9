"""What an own process holds open that text may come out of, and whether it holds a GPU. We open none of it here."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from monitor.clean import clean
from monitor.processes.proc import ProcDirectory
from monitor.types.facts import OpenFile

MAX_DESCRIPTORS = 256
"""Links looked at; libraries open the GPU and scripts their logs early, so the low numbers hold both."""
MAX_FILES = 64
"""Regular files whose flags are read."""
_GPU = re.compile(r"/dev/(?:nvidia(?:\d+|ctl|-uvm)|dxg)$")
_ROLES = {1: "stdout", 2: "stderr"}
_DELETED = " (deleted)"
_SKIPPED = ("/dev/", "/proc/", "/sys/", "/memfd:", "/run/user/", "anon_inode:", "socket:", "pipe:", "/SYSV")
_NOT_TEXT = (
    ".so",
    ".bin",
    ".safetensors",
    ".pt",
    ".pth",
    ".ckpt",
    ".npy",
    ".arrow",
    ".parquet",
    ".lock",
    ".db",
    ".sqlite",
)


@dataclass(frozen=True, slots=True)
class Descriptors:
    """What the descriptors of one process say."""

    files: tuple[OpenFile, ...] = ()
    gpu: bool | None = None
    """Whether a GPU device is open; `None` when the descriptors cannot be read."""


def _kind(target: str) -> str:
    if target.startswith("pipe:"):
        return "pipe"
    if target.startswith("socket:"):
        return "socket"
    if target.startswith(("/dev/pts/", "/dev/tty", "/dev/console")):
        return "terminal"
    if target == "/dev/null":
        return "null"
    if target.startswith("/dev/shm/"):  # noqa: S108 - a name that is compared
        return "deleted_file" if target.endswith(_DELETED) else "file"
    if target.startswith("/") and not target.startswith(_SKIPPED):
        return "deleted_file" if target.endswith(_DELETED) else "file"
    return "other"


def _for_writing(proc: ProcDirectory, pid: int, descriptor: int) -> bool:
    """Whether the flags in fdinfo (octal, as open(2) takes them) allow writing."""
    try:
        text = proc.read(pid, f"fdinfo/{descriptor}", 1024)
    except OSError:
        return False
    for line in text.splitlines():
        if line.startswith(b"flags:"):
            try:
                return int(line.split()[1], 8) & os.O_ACCMODE in (os.O_WRONLY, os.O_RDWR)
            except (ValueError, IndexError):
                return False
    return False


def read_descriptors(proc: ProcDirectory, pid: int) -> Descriptors:
    """Output of an own process: descriptors 1 and 2 whatever they are, and files open for writing.

    A named FIFO looks like a file here: only a `stat` would tell, and that blocks on a dead network file system.
    Whoever reads the file finds out, because it opens without blocking.

    Raises:
        OSError: the process is gone, or its descriptors are not for us.
    """
    numbers = sorted(int(name) for name in proc.names(pid, "fd") if name.isdecimal())[:MAX_DESCRIPTORS]
    files: list[OpenFile] = []
    gpu = False
    looked_at = 0
    for descriptor in numbers:
        try:
            target = proc.link(pid, f"fd/{descriptor}")
        except OSError:
            continue  # closed between the two calls
        gpu = gpu or _GPU.match(target) is not None
        kind = _kind(target)
        role = _ROLES.get(descriptor)
        if role is None:
            bare = target.removesuffix(_DELETED)
            text = kind in ("file", "deleted_file") and not target.startswith("/dev/shm/")  # noqa: S108 - as above
            if not text or bare.endswith(_NOT_TEXT) or looked_at >= MAX_FILES:
                continue
            looked_at += 1
            if not _for_writing(proc, pid, descriptor):
                continue
        files.append(
            OpenFile(
                descriptor=descriptor,
                kind=kind,
                path=clean(target.removesuffix(_DELETED) if kind == "deleted_file" else target, 4096),
                role=role or "log",
            )
        )
    return Descriptors(tuple(files), gpu)
