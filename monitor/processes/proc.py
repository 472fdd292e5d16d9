"""The files of /proc, read in bounded pieces. Everything here may fail at any moment: processes end while we look."""

from __future__ import annotations

import os

from monitor.processes.counters import Counters, parse_stat


class ProcDirectory:
    """A mounted procfs, or a tree of files that looks like one."""

    def __init__(self, root: str = "/proc") -> None:
        self.root = root

    def pids(self) -> list[int]:
        """Every pid that is listed; none where there is no procfs."""
        try:
            return [int(name) for name in os.listdir(self.root) if name.isdecimal()]
        except OSError:
            return []

    def read(self, pid: int, name: str, limit_bytes: int = 65536) -> bytes:
        """A file of a process, at most `limit_bytes` of it.

        Raises:
            OSError: the process is gone (also in the middle of reading) or the file is not for us.
        """
        return read_bounded(f"{self.root}/{pid}/{name}", limit_bytes)

    def link(self, pid: int, name: str) -> str:
        """Where a link of a process leads, raw.

        Raises:
            OSError: the process is gone or the link is not for us.
        """
        return os.readlink(f"{self.root}/{pid}/{name}")

    def names(self, pid: int, name: str) -> list[str]:
        """What a directory of a process holds.

        Raises:
            OSError: the process is gone or the directory is not for us.
        """
        return os.listdir(f"{self.root}/{pid}/{name}")

    def counters(self, pid: int) -> Counters | None:
        """The counters of a process; `None` when it is gone or hidden."""
        try:
            descriptor = os.open(f"{self.root}/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            return parse_stat(os.read(descriptor, 1024))
        except OSError:
            return None
        finally:
            os.close(descriptor)

    def exists(self, pid: int) -> bool:
        """Whether the directory of a process is there, readable or not."""
        try:
            os.stat(f"{self.root}/{pid}")
        except PermissionError:
            return True
        except OSError:
            return False
        return True


def read_bounded(path: str, limit_bytes: int) -> bytes:
    """At most `limit_bytes` of a file of /proc or /sys.

    Raises:
        OSError: it cannot be opened or read.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        parts: list[bytes] = []
        left = limit_bytes
        while left > 0 and (part := os.read(descriptor, min(left, 65536))):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)
