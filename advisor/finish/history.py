"""The steps of one run in bounded memory: stretches of time, joined by twos when they become too many."""

from __future__ import annotations

from typing import NamedTuple

from monitor.types.steps import ProgressPoint

MAX_STRETCHES = 384
MOST = 1e15
"""No count and no clock of a run is larger."""
LEAST_STEPS = 1e-6
"""Fractions of an epoch count as steps here; anything smaller is rounding."""


NOTABLE_RATIO = 3.0
USUAL_SHARE = 0.1


class Stretch(NamedTuple):
    """From one point of the counter to the next."""

    seconds: float
    first: float
    """The count that it begins with."""
    steps: float
    label: str
    """evaluating, saving, generating: known to lie in it; else empty."""

    @property
    def last(self) -> float:
        """The count that it ends with."""
        return self.first + self.steps


class History:
    """Stretches of one counter in order. A step that went back, or another key, begins a new segment."""

    def __init__(self) -> None:
        self.stretches: list[Stretch] = []
        self.starts: list[float] = []
        """The counts at which segments began, the newest last; at most 8."""
        self.resolution_s = 0.0
        self.last_s: float | None = None
        self.step: float | None = None
        self.added = 0
        self.notable = 0
        """Stretches so far that took much longer than those before them, and segments begun."""
        self._usual_s = 0.0
        self._label = ""

    def begin(self) -> None:
        """The counter began anew (restart, resume, another source): what lies between is no step time."""
        self.last_s = self.step = None
        self._label = ""

    def add(self, point: ProgressPoint) -> None:
        """Take the next point. One without a new step only tells what is going on."""
        if not (abs(point.step) <= MOST and abs(point.time_s) <= MOST):
            return
        self.resolution_s = max(0.0, point.resolution_s)
        label = point.stalled or self._label
        if self.step is None or self.last_s is None or point.step < self.step or point.time_s < self.last_s:
            self.starts = [*self.starts[-7:], point.step]
            self.notable += 1
        else:
            steps, seconds = point.step - self.step, point.time_s - self.last_s
            if steps < LEAST_STEPS:
                self._label = label
                return
            self.stretches.append(Stretch(seconds, self.step, steps, label))
            self.added += 1
            self.notable += seconds > NOTABLE_RATIO * self._usual_s
            self._usual_s += USUAL_SHARE * (seconds - self._usual_s)
            if len(self.stretches) > MAX_STRETCHES:
                self.stretches = _joined(self.stretches)
        self._label = ""
        self.last_s, self.step = point.time_s, point.step


def _joined(stretches: list[Stretch]) -> list[Stretch]:
    """Half as many: the shorter ones of each neighbourhood join, so that all cover about as many steps."""
    most = 2.5 * sum(s.steps for s in stretches) / len(stretches)
    out: list[Stretch] = []
    for one in stretches:
        before = out[-1] if out else None
        if before is not None and abs(before.last - one.first) < LEAST_STEPS and before.steps + one.steps <= most:
            out[-1] = Stretch(
                before.seconds + one.seconds, before.first, before.steps + one.steps, before.label or one.label
            )
        else:
            out.append(one)
    return out if len(out) < len(stretches) else out[len(out) // 4 :]
