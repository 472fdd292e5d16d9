"""Compiles the stub driver library. Put the folder of what `build` returns on LD_LIBRARY_PATH of the process."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).with_name("stub.c")
LIBRARY = "libnvidia-ml.so.1"


def compiler() -> str | None:
    """A C compiler, or `None`."""
    return shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")


def build(directory: Path) -> Path:
    """Compile the stub as `directory`/libnvidia-ml.so.1 and return its path.

    Raises:
        FileNotFoundError: There is no C compiler.
        subprocess.CalledProcessError: The compiler failed; its messages are in `stderr`.
    """
    found = compiler()
    if found is None:
        raise FileNotFoundError("no C compiler (gcc, cc or clang)")
    directory.mkdir(parents=True, exist_ok=True)
    target = directory / LIBRARY
    command = [
        found,
        "-O2",
        "-std=gnu11",
        "-shared",
        "-fPIC",
        "-Wall",
        "-o",
        str(target),
        str(SOURCE),
        "-lm",
        "-lpthread",
    ]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return target


if __name__ == "__main__":
    print(build(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
