"""What a history is asked for and what it answers."""

from __future__ import annotations

from typing import NamedTuple

from monitor.types.record import Record


class SeriesKey(NamedTuple):
    """One figure of one subject over time."""

    subject: str
    """"gpu:<uuid>", "run:<run_id>" or "host"."""
    field: str
    """The name of the field with its unit; with ":max" behind it the highest value of each period, not the mean."""


class Series(Record, frozen=True, kw_only=True):
    """A figure over a window, oldest first. `None`: not watched, or not to be had."""

    values: tuple[float | None, ...] = ()
    start_s: float = 0.0
    """Wall clock at the start of the first value's period."""
    end_s: float = 0.0
    """Wall clock at the end of the last value's period; that period may still be running."""
    marked: tuple[bool, ...] = ()
    """True where a value was not watched but filled in from a source with a clock of its own."""

    @property
    def known(self) -> tuple[float, ...]:
        """The values that are known."""
        return tuple(value for value in self.values if value is not None)
