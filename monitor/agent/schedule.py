"""When the next tick is due. Due times are start + n × interval, so a late tick never shifts the ones after it."""

from __future__ import annotations

import math
import threading
from typing import Protocol


class Schedule:
    """Due times by one clock. What is late is told; ticks that were missed meanwhile are dropped, not made up for."""

    def __init__(self, start_s: float, interval_s: float) -> None:
        if not (interval_s > 0 and math.isfinite(interval_s)):
            raise ValueError("the interval must be a positive number of seconds")
        self.interval_s = interval_s
        self.dropped = 0
        """Ticks that were skipped because the one before was still going on."""
        self._start_s = start_s
        self._index = 0

    @property
    def due_s(self) -> float:
        """When the next tick is due."""
        return self._start_s + self._index * self.interval_s

    def take(self, now_s: float, stride: int = 1) -> float:
        """Take the tick that is due and return by how much it is late, in seconds.

        The next one is due `stride` intervals later, or at the first due time after `now_s` when that has passed.
        """
        late_s = max(0.0, now_s - self.due_s)
        planned = self._index + max(1, stride)
        first_ahead = math.floor((now_s - self._start_s) / self.interval_s) + 1
        self.dropped += max(0, first_ahead - planned)
        self._index = max(planned, first_ahead)
        return late_s


class Waiter(Protocol):
    """Waits for a time or for a wake-up, whichever comes first."""

    def wait(self, timeout_s: float) -> None:
        """Return after `timeout_s` or as soon as somebody woke this waiter, also when that was before the call."""

    def wake(self) -> None:
        """End the wait that goes on, or else the next one."""


class EventWaiter:
    """A waiter on real time."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def wait(self, timeout_s: float) -> None:
        """Wait; a wake-up is used up by it."""
        self._event.wait(max(0.0, timeout_s))
        self._event.clear()

    def wake(self) -> None:
        """End the wait."""
        self._event.set()
