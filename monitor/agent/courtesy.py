"""The agent steps back: training comes first for the processor, and when memory runs out the agent goes first."""

from __future__ import annotations

import contextlib
import os

NICENESS = 10
OOM_SCORE = 500
"""Half of the scale of /proc/PID/oom_score_adj, so that the kernel takes the agent long before a training run."""


def step_back() -> None:
    """Lower this process's priority. What is refused is left as it is: no monitor fails over its manners."""
    with contextlib.suppress(OSError, AttributeError):
        os.nice(NICENESS)
    with contextlib.suppress(OSError, ValueError), open("/proc/self/oom_score_adj", "r+", encoding="ascii") as file:
        if int(file.read()) < OOM_SCORE:
            file.seek(0)
            file.write(str(OOM_SCORE))
