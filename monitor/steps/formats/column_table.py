"""Plain tables: a row of names, then a row of figures for each step or epoch, as spaCy, fastai and skorch print.

A table is believed when its counter has risen three times; until then its rows are held back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from monitor.steps.formats.figures import own_name
from monitor.steps.formats.line_format import EVIDENCE_CHARS, FileText, Origin
from monitor.steps.formats.numbers import count, duration_s, figure
from monitor.steps.formats.run_clock import RunClock
from monitor.steps.lines import Line
from monitor.types.steps import StepEvent, StepUnit, StepValue

RISES_TO_BELIEVE = 2
MAX_COLUMNS = 40
MAX_BETWEEN = 40
"""Lines between two rows after which a table is over."""
CONFIDENCE = 0.65
_STEPS = ("#", "step", "steps", "iter", "iters", "iteration", "iterations", "global_step", "update", "updates", "it")
_EPOCHS = ("epoch", "epochs", "ep")
_EACH = ("dur", "duration", "epoch_time", "sec/epoch")
"""Columns that hold the seconds of one row."""
_ELAPSED = ("elapsed", "elapsed_time", "time_elapsed", "wall_time", "total_time", "wall")
_CELL = re.compile(
    r"[-+]?\d[\d,]{0,18}(?:\.\d{0,18})?(?:e[-+]?\d{1,3})?|[-+]?\.\d{1,18}|nan|[-+]?inf|-|—", re.IGNORECASE
)
_NAME = re.compile(r"[A-Za-z#_][\w#%/().:@+-]{0,40}")
_SPACES = re.compile(r"\s+")


@dataclass
class _Table:
    names: tuple[str, ...]
    separator: str
    step: int
    unit: StepUnit
    last: float = -1.0
    rises: int = 0
    between: int = 0
    held: list[StepEvent] = field(default_factory=list)
    clock: RunClock = field(default_factory=RunClock)


class ColumnTableFormat:
    """Reads the tables of one file, one at a time."""

    name = "column_table"

    def __init__(self) -> None:
        self._table: _Table | None = None

    def read(self, line: Line, text: FileText, origin: Origin) -> tuple[StepEvent, ...]:
        """The counter of a row, and of the rows that were held back until now."""
        content = line.text
        if not line.whole or len(content) > 1024:
            return ()
        if not content[:1].isdigit() and not content.startswith(("[", "(")):
            header = _header(content)
            if header is not None:
                if self._table is None or header.names != self._table.names:
                    self._table = header
                return ()
        table = self._table
        if table is None:
            return ()
        cells = _cells(content, table.separator)
        step = self._step(table, cells)
        if step is None:
            table.between += 1
            if table.between > MAX_BETWEEN:
                self._table = None
            return ()
        return self._row(table, step, cells, line, text, origin)

    def _step(self, table: _Table, cells: list[str]) -> float | None:
        """The counter of a row with the cells of its table; words among them make it another kind of line."""
        if not 2 <= len(cells) <= len(table.names) or len(cells) <= table.step:
            return None
        times = sum(1 for cell in cells if _CELL.fullmatch(cell) is None)
        if times > 1 or (times == 1 and not any(duration_s(cell) is not None for cell in cells)):
            return None
        cell = cells[table.step]
        return count(cell) if cell.replace(",", "").isdigit() else None

    def _row(
        self, table: _Table, step: float, cells: list[str], line: Line, text: FileText, origin: Origin
    ) -> tuple[StepEvent, ...]:
        table.between = 0
        if step < table.last:
            table.rises, table.held = 0, []
        elif step > table.last:
            table.rises += table.last >= 0
        table.last = step
        named = dict(zip(table.names, cells, strict=False)) if len(cells) == len(table.names) else {}
        event = self._event(table, step, named, line, text, origin)
        if table.rises < RISES_TO_BELIEVE:
            table.held = [*table.held, event][-RISES_TO_BELIEVE:]
            return ()
        held, table.held = table.held, []
        return (*held, event)

    def _event(
        self, table: _Table, step: float, named: dict[str, str], line: Line, text: FileText, origin: Origin
    ) -> StepEvent:
        total, source = text.announced.total(("epochs", "max_epochs", "num_epochs"), least=step)
        if table.unit != "epoch":
            total, source = text.announced.total(("max_steps", "total_steps", "num_steps"), least=step)
        each_s, elapsed_s = _times(named, table.unit, table.clock)
        return StepEvent(
            process=origin.process,
            source=self.name,
            where=origin.where,
            series=table.names[table.step],
            unit=table.unit,
            step=step,
            total=total,
            total_source=source,
            epoch=step if table.unit == "epoch" else _epoch(named),
            elapsed_s=elapsed_s,
            seconds_per_step=each_s,
            seen_s=origin.seen_s,
            values=_values(named),
            confidence=CONFIDENCE if table.unit != "epoch" else CONFIDENCE - 0.1,
            evidence=line.text[:EVIDENCE_CHARS],
        )


def _separator(content: str) -> str:
    return next((mark for mark in ("|", "│", ",", ";") if content.count(mark) >= 2), " ")


def _cells(content: str, separator: str) -> list[str]:
    if separator == " ":
        return _SPACES.split(content.strip())[: MAX_COLUMNS + 1]
    return [cell.strip() for cell in content.strip(separator + " ").split(separator)][: MAX_COLUMNS + 1]


def _header(content: str) -> _Table | None:
    """A row of at least three names of which one is a counter's."""
    if len(content) > 600 or any(mark in content for mark in ("=", "[", "'", '"', "://")):
        return None
    separator = _separator(content)
    names = _cells(content.casefold(), separator)
    if not 3 <= len(names) <= MAX_COLUMNS:
        return None
    if separator == " " and any(_NAME.fullmatch(name) is None or name.endswith((".", ":")) for name in names):
        return None
    if any(len(name) > 40 or name.isdigit() for name in names):
        return None
    unit: StepUnit = "step"
    step = next((i for i, name in enumerate(names[:4]) if name in _STEPS), None)
    if step is None:
        step = next((i for i, name in enumerate(names[:2]) if name in _EPOCHS), None)
        unit = "epoch"
    if step is None or (step > 1 and separator == " "):
        return None
    return _Table(tuple(names), separator, step, unit)


def _times(named: dict[str, str], unit: StepUnit, clock: RunClock) -> tuple[float | None, float | None]:
    for name, text in named.items():
        if name in _ELAPSED:
            return None, duration_s(text) if ":" in text else count(text)
        if name in _EACH or (name == "time" and unit == "epoch" and ":" in text):
            each_s = duration_s(text) if ":" in text else count(text)
            if each_s is not None and unit == "epoch":
                return each_s, clock.add(each_s)
    return None, None


def _epoch(named: dict[str, str]) -> float | None:
    return next((count(text) for name, text in named.items() if name in _EPOCHS or name == "e"), None)


def _values(named: dict[str, str]) -> tuple[StepValue, ...]:
    found: dict[str, StepValue] = {}
    for name, text in named.items():
        own = own_name(name)
        value = None if own is None or own == "epoch" or own in found else figure(own, text)
        if own is not None and value is not None:
            found[own] = value
    return tuple(found.values())
