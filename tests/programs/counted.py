"""The truth about a program's steps: the wall-clock time of each, as the program wrote it down. Standard library."""

from __future__ import annotations

import struct
import sys
import time
from pathlib import Path

_TIME = struct.Struct("<d")


class Counted:
    """Appends a time for each step to a file; unbuffered, so that a killed program has told them all."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "ab", buffering=0)  # noqa: SIM115 - kept open as long as the program runs

    def step(self) -> None:
        """A step was made."""
        self._file.write(_TIME.pack(time.time()))


def times_s(path: Path) -> list[float]:
    """When each step was made."""
    data = path.read_bytes()
    return [time_s for (time_s,) in _TIME.iter_unpack(data[: len(data) // _TIME.size * _TIME.size])]


def option(name: str, default: str) -> str:
    """The word after an option of this program's command line."""
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default
