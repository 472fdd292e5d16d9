"""The points of one counter by one clock, in bounded memory, handed on to whoever works out the finish time."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from monitor.types.steps import Phase, ProgressPoint

TrailClock = Literal["text", "elapsed", "watched", "printed"]
MOST_LIVE = 512
"""Points kept of a run that is watched; what works with them joins them to fewer."""


@dataclass
class Trail:
    """Points in the order in which they were taken. Old ones are thinned, the newest half stays dense."""

    counter: str
    """Whose points these are, and since which restart."""
    clock: TrailClock
    most: int
    _serial: int = 0
    _serials: list[int] = field(default_factory=list)
    _points: list[ProgressPoint] = field(default_factory=list)

    @property
    def key(self) -> str:
        """Another counter, segment or clock has another key: their points are never mixed."""
        return f"{self.counter} {self.clock}"

    def add(self, time_s: float, step: float, resolution_s: float, stalled: Phase | None) -> None:
        """Take the next point; `stalled` is what is known to have lain before it."""
        self._serial += 1
        self._serials.append(self._serial)
        self._points.append(
            ProgressPoint(time_s=time_s, step=step, clock=self.clock, resolution_s=resolution_s, stalled=stalled)
        )
        if len(self._points) > self.most:
            self._thin()

    def amend(self, time_s: float, step: float) -> None:
        """Say the newest point better, before anybody has asked for it: more was counted in the same look."""
        if self._points:
            self._points[-1] = msgspec.structs.replace(self._points[-1], time_s=time_s, step=step)

    def after(self, serial: int) -> tuple[int, tuple[ProgressPoint, ...]]:
        """The points after the one with this serial number (0: all that are kept), and the number of the newest."""
        return self._serial, tuple(self._points[bisect_right(self._serials, serial) :])

    def _thin(self) -> None:
        """Leave out every second point of the older half; what it knew of a stall stays with the next."""
        half = len(self._points) // 4 * 2
        kept: list[ProgressPoint] = []
        for first, second in zip(self._points[:half:2], self._points[1:half:2], strict=True):
            carried = second.stalled or first.stalled
            kept.append(second if carried == second.stalled else msgspec.structs.replace(second, stalled=carried))
        self._points[:half] = kept
        self._serials[:half] = self._serials[1:half:2]
