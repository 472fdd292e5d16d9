"""Clocks, injected so that tests can turn them by hand."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """The two clocks of the stream."""

    def wall_s(self) -> float:
        """Seconds since 1970, for showing."""

    def boot_s(self) -> float:
        """Seconds since boot, suspended time included; never set back. For rates and durations."""


class SystemClock:
    """The machine's clocks. Where CLOCK_BOOTTIME is missing (macOS, Windows) the monotonic clock stands in."""

    def wall_s(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def boot_s(self) -> float:
        """Seconds since boot, suspended time included where the system can tell."""
        boot = getattr(time, "CLOCK_BOOTTIME", None)
        return time.monotonic() if boot is None else time.clock_gettime(boot)


class ManualClock:
    """A clock that stands until it is moved."""

    def __init__(self, wall_s: float = 1_800_000_000.0, boot_s: float = 1000.0) -> None:
        self._wall_s = wall_s
        self._boot_s = boot_s

    def wall_s(self) -> float:
        """The wall clock as it was set."""
        return self._wall_s

    def boot_s(self) -> float:
        """The boot clock as it was set."""
        return self._boot_s

    def advance(self, seconds: float) -> None:
        """Move both clocks on."""
        self._wall_s += seconds
        self._boot_s += seconds
