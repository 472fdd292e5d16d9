"""What an agent of ours is started with, as arguments of `traintop agent` and back. Imports next to nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple


class AgentWish(NamedTuple):
    """Equal wishes can share one agent."""

    interval_s: float = 1.0
    gpus: tuple[str, ...] = ()
    demo: str | None = None
    seed: int = 0
    pid: int | None = None
    """A process that is to be watched whatever it looks like."""

    def arguments(self) -> tuple[str, ...]:
        """In the one order that `told` reads; with our pid, so that the agent takes us for no training."""
        words = ["--front-end", str(os.getpid()), "--interval", f"{self.interval_s:g}"]
        if self.gpus:
            words += ["--gpus", ",".join(self.gpus)]
        if self.demo is not None:
            words += ["--demo", self.demo, "--seed", str(self.seed)]
        if self.pid is not None:
            words += ["--pid", str(self.pid)]
        return tuple(words)


def told(words: Sequence[str]) -> tuple[AgentWish, int] | None:
    """The wish and the pid of its front end, if these are arguments that `arguments` has made; else `None`.

    A front end has checked them already, so its agent can do without the full command line.
    """
    pairs = dict(zip(words[::2], words[1::2], strict=False))
    if (
        len(words) % 2
        or words[:1] != ("--front-end",)
        or pairs.keys()
        - {
            "--front-end",
            "--interval",
            "--gpus",
            "--demo",
            "--seed",
            "--pid",
        }
    ):
        return None
    try:
        return (
            AgentWish(
                interval_s=float(pairs["--interval"]),
                gpus=tuple(pairs["--gpus"].split(",")) if "--gpus" in pairs else (),
                demo=pairs.get("--demo"),
                seed=int(pairs.get("--seed", 0)),
                pid=int(pairs["--pid"]) if "--pid" in pairs else None,
            ),
            int(pairs["--front-end"]),
        )
    except (KeyError, ValueError):
        return None
