"""Ring buffers over one common time base: a column for each figure, a row for each second, ten seconds and minute."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from typing import Literal, NamedTuple

Aggregate = Literal["mean", "max", "last"]

UNKNOWN = math.nan


class Level(NamedTuple):
    """One resolution."""

    period_s: float
    rows: int


LEVELS = (Level(1.0, 600), Level(10.0, 720), Level(60.0, 1440))
"""Ten minutes by the second, two hours by ten seconds, a day by the minute."""


class Column:
    """One figure at every resolution. Coarse rows take no memory until something is written to them."""

    __slots__ = ("aggregate", "fine", "marks", "rows", "typecode")

    def __init__(self, aggregate: Aggregate = "mean", typecode: Literal["f", "d"] = "f") -> None:
        self.aggregate = aggregate
        self.typecode = typecode
        self.rows: list[array[float] | None] = [None] * len(LEVELS)
        self.fine = self.allocate(0)
        self.marks: list[bytearray | None] = [None] * len(LEVELS)

    def allocate(self, level: int) -> array[float]:
        """The rows of a level, made when first needed."""
        rows = self.rows[level]
        if rows is None:
            rows = array(self.typecode, (UNKNOWN,)) * LEVELS[level].rows
            self.rows[level] = rows
        return rows

    def value(self, level: int, slot: int) -> float:
        """What is kept for a slot; the caller knows that the slot lies inside the ring."""
        rows = self.rows[level]
        return UNKNOWN if rows is None else rows[slot % LEVELS[level].rows]

    def marked(self, level: int, slot: int) -> bool:
        """Whether the slot was filled in afterwards."""
        marks = self.marks[level]
        return marks is not None and marks[slot % LEVELS[level].rows] == 1

    def blank(self, level: int, first: int, last: int) -> None:
        """Forget the slots from first to last: they come round again for a new time."""
        rows = self.rows[level]
        if rows is None:
            return
        size = LEVELS[level].rows
        marks = self.marks[level]
        for slot in range(max(first, last - size + 1), last + 1):
            rows[slot % size] = UNKNOWN
            if marks is not None:
                marks[slot % size] = 0

    def fill(self, level: int, slot: int, value: float) -> None:
        """Set a slot that nobody watched, and mark it."""
        size = LEVELS[level].rows
        rows = self.allocate(level)
        marks = self.marks[level]
        if marks is None:
            marks = self.marks[level] = bytearray(size)
        rows[slot % size] = value
        marks[slot % size] = 1

    @property
    def size_bytes(self) -> int:
        """Memory that the buffers take."""
        return sum(rows.itemsize * len(rows) for rows in self.rows if rows is not None) + sum(
            len(marks) for marks in self.marks if marks is not None
        )


def combine(values: Iterable[float], aggregate: Aggregate) -> float:
    """One figure for several, the unknown ones left out."""
    known = [value for value in values if value == value]
    if not known:
        return UNKNOWN
    if aggregate == "max":
        return max(known)
    return known[-1] if aggregate == "last" else math.fsum(known) / len(known)


class TimeBase:
    """The slots of all levels now. Every column moves on together, so a tick costs one assignment a figure."""

    def __init__(self) -> None:
        self.columns: set[Column] = set()
        self.newest: int | None = None
        """The newest slot of the finest level."""
        self.samples = 0
        """How many samples the newest slot has had."""
        self.newest_s = 0.0
        """When the newest sample was taken."""
        self.fills = 0
        """How often the past was filled in."""
        self.held = 0
        """How many slots just before the newest one its sample also stands for."""

    def advance(self, boot_s: float, hold_s: float) -> bool:
        """Go on to a sample's slot. False when it lies in the past.

        A sample stands for the time since the one before it, up to `hold_s`; a longer silence stays unknown.
        """
        slot = math.floor(boot_s / LEVELS[0].period_s)
        newest = self.newest
        if newest is None:
            self.newest, self.newest_s, self.samples, self.held = slot, boot_s, 1, 0
            return True
        if slot < newest:
            return False
        since_s, self.newest_s = boot_s - self.newest_s, boot_s
        if slot == newest:
            self.samples += 1
            self.held = 0
            return True
        self._close(newest, slot)
        for column in self.columns:
            column.blank(0, newest + 1, slot)
        self.newest, self.samples = slot, 1
        gap = slot - newest - 1
        self.held = gap if gap < LEVELS[0].rows and since_s <= hold_s else 0
        return True

    def write(self, column: Column, value: float) -> None:
        """Set a column's value in the newest slot (several samples of one slot are combined)."""
        newest = self.newest
        if newest is None:
            return
        rows = column.fine
        row = newest % LEVELS[0].rows
        if self.samples > 1:
            before = rows[row]
            if before == before and value == value:
                if column.aggregate == "mean":
                    value = before + (value - before) / self.samples
                elif column.aggregate == "max":
                    value = max(before, value)
            elif value != value:
                return
        rows[row] = value
        for back in range(1, self.held + 1):
            rows[(newest - back) % LEVELS[0].rows] = value

    def open_slot(self, level: int) -> int | None:
        """The slot of a level that the newest sample lies in."""
        return None if self.newest is None else math.floor(self.newest * LEVELS[0].period_s / LEVELS[level].period_s)

    def value(self, column: Column, level: int, slot: int) -> float:
        """A column's value in a slot; the slot that is still open is summed up from the finer level."""
        newest = self.open_slot(level)
        if newest is None or slot > newest or slot <= newest - LEVELS[level].rows:
            return UNKNOWN
        if level and slot == newest:
            return self._summed(column, level, slot)
        return column.value(level, slot)

    def marked(self, column: Column, level: int, slot: int) -> bool:
        """Whether a slot holds anything that was filled in afterwards."""
        if column.marked(level, slot):
            return True
        if not level or slot != self.open_slot(level) or column.marks[level - 1] is None:
            return False
        ratio = round(LEVELS[level].period_s / LEVELS[level - 1].period_s)
        return any(self.marked(column, level - 1, one) for one in range(slot * ratio, (slot + 1) * ratio))

    def fill(self, column: Column, boot_s: float, value: float) -> None:
        """Fill in the past of a column where nothing is known, at every level that still holds that time."""
        for level, (period_s, rows) in enumerate(LEVELS):
            newest = self.open_slot(level)
            slot = math.floor(boot_s / period_s)
            if newest is None or slot >= newest or slot <= newest - rows:
                continue
            before = column.value(level, slot)
            if before != before or column.marked(level, slot):
                column.fill(level, slot, value)
                self.fills += 1

    def _summed(self, column: Column, level: int, slot: int) -> float:
        finer = level - 1
        ratio = round(LEVELS[level].period_s / LEVELS[finer].period_s)
        inner = range(slot * ratio, (slot + 1) * ratio)
        return combine((self.value(column, finer, one) for one in inner), column.aggregate)

    def _close(self, newest: int, slot: int) -> None:
        """Sum up the coarse slots that the step from `newest` to `slot` leaves behind, coarsest first."""
        for level in range(len(LEVELS) - 1, 0, -1):
            ratio = round(LEVELS[level].period_s / LEVELS[0].period_s)
            before, after = newest // ratio, slot // ratio
            if before == after:
                continue
            for column in self.columns:
                summed = self._summed(column, level, before)
                column.blank(level, before + 1, after)
                if summed != summed:
                    continue
                if self.marked(column, level, before):
                    column.fill(level, before, summed)
                else:
                    column.allocate(level)[before % LEVELS[level].rows] = summed
