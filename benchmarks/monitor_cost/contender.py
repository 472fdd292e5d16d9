"""The commands that are measured, and how to tell from the screen that they have arrived."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Contender:
    """One monitor: its command line and the patterns on its screen."""

    name: str
    argv: tuple[str, ...]
    first_figures: str
    """Memory used of a GPU is on the screen."""
    full_frame: str
    """The last part of the screen is there."""


def contenders() -> list[Contender]:
    """This checkout's traintop, and those peers that are installed beside this interpreter."""
    checkout = Path(__file__).resolve().parents[2]
    beside = Path(sys.executable).parent
    found = [
        Contender(
            "traintop",
            (sys.executable, str(checkout / "traintop" / "__main__.py")),
            r"\d+\.\d/\d+\.\d|\d+% +\d+° +\d+\.\d",
            r"↑↓ select",
        )
    ]
    for name, arguments, first, full in (
        ("nvitop", ("-m", "full"), r"\d+(\.\d+)?[MG]iB */ *\d", r"Driver Version"),
        ("gpustat", ("-i", "1"), r"\d+ */ *\d+ MB", r"\d+ */ *\d+ MB"),
    ):
        path = shutil.which(name, path=f"{beside}") or shutil.which(name)
        if path:
            found.append(Contender(name, (path, *arguments), first, full))
    return found
