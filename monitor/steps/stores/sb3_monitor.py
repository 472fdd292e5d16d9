"""Stable-Baselines3's `monitor.csv`: a row an episode, with reward, length in steps, and seconds so far."""

from __future__ import annotations

import json

from monitor.clean import clean
from monitor.steps.formats.line_format import EVIDENCE_CHARS, Origin
from monitor.steps.stores.rows import number, wall_s
from monitor.steps.stores.store import TOP_STEP, LineStore
from monitor.types.steps import StepEvent, StepValue


def is_monitor(name: str, head: bytes) -> bool:  # noqa: ARG001
    """By its first two lines: a comment with the time of the start, and the columns."""
    lines = head.split(b"\n", 2)
    return len(lines) > 1 and lines[0].startswith(b"#{") and lines[1].strip().split(b",")[:3] == [b"r", b"l", b"t"]


class Monitor(LineStore):
    """Steps are the sum of all lengths, so that no row may be missed."""

    needs_all = True

    def __init__(self) -> None:
        super().__init__()
        self._start_s: float | None = None
        self._steps = 0.0

    def row(self, line: str, origin: Origin) -> list[StepEvent]:
        """The comment, the header, or one episode."""
        if line.startswith("#"):
            try:
                fields = json.loads(line[1:])
            except (ValueError, RecursionError):
                return []
            self._start_s = wall_s(fields.get("t_start")) if isinstance(fields, dict) else None
            return []
        cells = [number(cell) for cell in line.split(",")[:3]]
        if len(cells) != 3 or cells[1] is None or cells[2] is None or not 0 <= cells[1] < TOP_STEP:
            return []
        reward, length, seconds = cells[0], cells[1], cells[2]
        self._steps += length
        stamped = self._start_s is not None and 0 <= seconds < 1e9
        return [
            StepEvent(
                process=origin.process,
                source="sb3_monitor",
                where=origin.where,
                series="l",
                unit="step",
                step=self._steps,
                event_s=(self._start_s or 0.0) + seconds if stamped else None,
                event_clock="text" if stamped else "none",
                elapsed_s=seconds,
                seen_s=origin.seen_s,
                values=() if reward is None else (StepValue(name="reward", value=reward),),
                # One environment's steps: with several, the run's own count is a multiple.
                confidence=0.5,
                evidence=clean(line, EVIDENCE_CHARS),
            )
        ]
