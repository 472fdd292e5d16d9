"""The real trainings: bf16, over the memory, near its limit, fp32. During the first the driver is looked at."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.on_gpu.capture import Capture
from benchmarks.on_gpu.parts import Deadline, Row
from benchmarks.on_gpu.training_process import Session, Torch, TrainingProcess

SESSIONS = (
    Session("bf16", "bf16", 55.0),
    Session("over the memory", "bf16", 35.0, grow_to=2.0),
    Session("near the limit", "bf16", 35.0, grow_to=0.95),
    Session("fp32", "fp32", 20.0),
)
"""The most telling first: what comes last is cut when the time is up."""
START_S = 40.0
"""At most this until the first step: torch is imported from a cold disk, CUDA makes its context."""
LEAST_S = 3.0
"""A session that would get less is left out."""
AFTER_S = 3.0
"""Recorded after a session, so that its end is seen."""
END_SLACK_S = 8.0
"""The last step, an evaluation and the interpreter's end."""
OUT_OF_MEMORY = "OutOfMemoryError"


class Sessions:
    """Runs one session after the other. `under_load` is called once, in the first session, when steps are made."""

    def __init__(
        self,
        capture: Capture,
        torch: Torch,
        python: str,
        gpu_uuid: str,
        folder: Path,
        sizes: tuple[str, ...],
        under_load: Callable[[int, Deadline], None],
    ) -> None:
        self._capture = capture
        self._torch = torch
        self._python = python
        self._gpu_uuid = gpu_uuid
        self._folder = folder
        self._sizes = sizes
        self._under_load: Callable[[int, Deadline], None] | None = under_load

    def run(self, session: Session, deadline: Deadline, at_most_s: float) -> Row:
        """One session, ended for certain; a row that tells how it went.

        Raises:
            OSError: it cannot be started.
        """
        row: Row = {"session": session.name, "dtype": session.dtype, "grow_to": session.grow_to}
        seconds = min(session.seconds, at_most_s, deadline.remaining_s - AFTER_S)
        if seconds < min(LEAST_S, at_most_s):
            return {**row, "verdict": "unknown", "left_out": "The time was up."}
        begun_s = time.monotonic()
        folder = self._folder / session.name.replace(" ", "_")
        training = self._capture.adopt(
            lambda: TrainingProcess(self._python, session, seconds, folder, self._gpu_uuid, self._sizes)
        )
        try:
            training.wait(min(START_S, deadline.remaining_s), for_step=True)
            if training.last_step():
                row["first_step_after_s"] = round(time.monotonic() - begun_s, 2)
            own = deadline.within(seconds)
            if self._under_load is not None and training.last_step():
                look, self._under_load = self._under_load, None
                look(training.pid, own)
            # The training counts its seconds from its model being there, so it ends within this by itself.
            training.wait(min(own.remaining_s + END_SLACK_S, deadline.remaining_s))
            ended_itself = not training.is_running
        finally:
            training.end()
        time.sleep(min(AFTER_S, deadline.remaining_s))
        return {
            **row,
            "seconds": round(time.monotonic() - begun_s, 1),
            **self._outcome(session, training, ended_itself),
        }

    def _outcome(self, session: Session, training: TrainingProcess, ended_itself: bool) -> Row:
        tail = training.tail()
        ran_out = any(OUT_OF_MEMORY in line for line in tail)
        meant_to = session.grow_to > 1
        if not ended_itself or (session.grow_to and not self._torch.cuda):
            verdict = "unknown"
        elif meant_to:
            verdict = "holds" if ran_out else "differs"
        else:
            verdict = "holds" if training.exit_status == 0 else "differs"
        return {
            "expected": "it runs out of memory" if meant_to else "it ends by itself with status 0",
            "verdict": verdict,
            "device": self._torch.device,
            "last_step": training.last_step(),
            "ended_itself": ended_itself,
            "exit_status": training.exit_status,
            "ran_out_of_memory": ran_out,
            "tail": tail,
        }
