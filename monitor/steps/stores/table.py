"""CSV and TSV tables with a step or epoch column: Lightning, Ultralytics, Stable-Baselines3, Ray, Keras and others."""

from __future__ import annotations

import csv

from monitor.steps.formats.line_format import Origin
from monitor.steps.stores.rows import ELAPSED, EPOCHS, STEPS, RowCounter, is_known_figure
from monitor.steps.stores.store import LineStore, StorePlan
from monitor.types.steps import StepEvent

MAX_COLUMNS = 2048
_ENDS = (".csv", ".tsv", ".txt")
_DELIMITERS = (",", "\t", ";")


def is_table(name: str, head: bytes) -> bool:
    """A table whose first line names a counter, and a figure or a clock beside it."""
    if not name.endswith(_ENDS) or b"\0" in head:
        return False
    first = head.lstrip(b"\xef\xbb\xbf").split(b"\n", 1)[0]
    columns = _columns(first.decode("utf-8", "replace"))[1]
    if not any(column in STEPS or column in EPOCHS for column in columns):
        return False
    return any(is_known_figure(column) or column in ELAPSED or column == "time" for column in columns)


class Table(LineStore):
    """Rows under a header. A program that starts anew may write its header once more."""

    def __init__(self) -> None:
        super().__init__()
        self._counter = RowCounter("table", 0.7)
        self._columns: list[str] = []
        self._delimiter = ","

    def row(self, line: str, origin: Origin) -> list[StepEvent]:
        """One line: the header or a row that has as many cells as it."""
        if not self._columns:
            self._delimiter, self._columns = _columns(line.lstrip("\ufeff"))
            return []
        cells = _cells(line, self._delimiter)
        if len(cells) != len(self._columns):
            return []
        if [cell.strip().casefold() for cell in cells] == self._columns:
            return []
        fields: dict[str, object] = {
            name: cell.strip() for name, cell in zip(self._columns, cells, strict=True) if cell.strip()
        }
        return self._counter.read(fields, origin, line[:400])

    def take_plan(self, plan: StorePlan) -> None:
        """What documents beside the file plan."""
        self._counter.planned = plan


def _columns(line: str) -> tuple[str, list[str]]:
    delimiter = max(_DELIMITERS, key=line.count)
    return delimiter, [cell.strip().casefold()[:128] for cell in _cells(line.rstrip("\r"), delimiter)[:MAX_COLUMNS]]


def _cells(line: str, delimiter: str) -> list[str]:
    if '"' not in line:
        return line.split(delimiter)
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []
