"""CatBoost's `catboost_info/time_left.tsv`: iteration, milliseconds passed, milliseconds left by its own count."""

from __future__ import annotations

import math

from monitor.clean import clean
from monitor.steps.formats.line_format import EVIDENCE_CHARS, Origin
from monitor.steps.stores.rows import number
from monitor.steps.stores.store import TOP_STEP, LineStore
from monitor.types.steps import StepEvent

NARROW_RATIO = 0.02
"""Rows narrow the total down; until it is known this well none is claimed."""


def is_time_left(name: str, head: bytes) -> bool:  # noqa: ARG001
    """By its header."""
    return head.split(b"\n", 1)[0].strip().split(b"\t") == [b"iter", b"Passed", b"Remaining"]


class TimeLeft(LineStore):
    """Iterations are counted from 0 and written when they are done, so that row 0 is one done.

    The total follows from what is left: CatBoost takes left = passed / done * (total - done), both cut to whole
    milliseconds. Each row allows a range of totals, and all rows together one that is soon narrow.
    """

    def __init__(self) -> None:
        super().__init__()
        self._low, self._high = 0.0, math.inf

    def row(self, line: str, origin: Origin) -> list[StepEvent]:
        """One iteration."""
        cells = [number(cell) for cell in line.split("\t")]
        if len(cells) != 3 or cells[0] is None or cells[1] is None or not 0 <= cells[0] < TOP_STEP:
            return []
        done, passed_ms, left_ms = cells[0] + 1, cells[1], cells[2]
        if left_ms is not None and left_ms >= 0 and passed_ms > 0:
            self._narrow(done, passed_ms, left_ms)
        total = self._planned(done)
        return [
            StepEvent(
                process=origin.process,
                source="catboost",
                where=origin.where,
                series="iter",
                unit="step",
                step=done,
                total=total,
                total_source="" if total is None else "passed and remaining time",
                elapsed_s=passed_ms / 1000,
                seen_s=origin.seen_s,
                confidence=0.8,
                evidence=clean(line, EVIDENCE_CHARS),
            )
        ]

    def _narrow(self, done: float, passed_ms: float, left_ms: float) -> None:
        # A millisecond more on each side: how they are rounded is not promised.
        low = done * (1 + max(0.0, left_ms - 1) / (passed_ms + 1))
        high = done * (1 + (left_ms + 1) / max(passed_ms - 1, 1e-3))
        if low > self._high or high < self._low:
            self._low, self._high = low, high  # trained anew, or with other settings
        else:
            self._low, self._high = max(self._low, low), min(self._high, high)

    def _planned(self, done: float) -> float | None:
        """The roundest count in the range: people choose 1000, not 998."""
        low, high = max(done, self._low), self._high
        if not low <= high or high - low > NARROW_RATIO * high or high > TOP_STEP:
            return None
        for grain in (1000.0, 500.0, 100.0, 50.0, 10.0, 1.0):
            found = math.ceil(low / grain) * grain
            if found <= high:
                return found
        return None
