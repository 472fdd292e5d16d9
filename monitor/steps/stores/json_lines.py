"""One JSON object a line: trainer_log.jsonl, metrics.json, scalars.json, result.json, progress.json and others."""

from __future__ import annotations

import json

from monitor.clean import clean
from monitor.steps.formats.line_format import Origin
from monitor.steps.stores.rows import EPOCHS, STEPS, RowCounter
from monitor.steps.stores.store import LineStore, StorePlan
from monitor.types.steps import StepEvent

MAX_FIELDS = 2048
_ENDS = (".jsonl", ".json", ".ndjson")
_ROWS = 5


def is_json_lines(name: str, head: bytes) -> bool:
    """JSON Lines of which one of the first names a counter."""
    if not name.endswith(_ENDS) or not head.lstrip().startswith(b"{"):
        return False
    lines = head.split(b"\n")
    for line in lines[:_ROWS] if len(lines) > 1 else lines:
        fields = _fields(line.decode("utf-8", "replace"))
        if fields and any(name in fields for name in (*STEPS, *EPOCHS)):
            return True
    # The first row alone may be longer than what was looked at.
    return len(lines) == 1 and name in ("result.json", "progress.json", "metrics.json", "scalars.json")


class JsonLines(LineStore):
    """Rows of any JSON objects; of nested ones the `data` of an object is looked into."""

    def __init__(self) -> None:
        super().__init__()
        self._counter = RowCounter("json_lines", 0.75)

    def row(self, line: str, origin: Origin) -> list[StepEvent]:
        """One object."""
        fields = _fields(line)
        return self._counter.read(fields, origin, line[:400]) if fields else []

    def take_plan(self, plan: StorePlan) -> None:
        """What documents beside the file plan."""
        self._counter.planned = plan


def _fields(line: str) -> dict[str, object]:
    """The plain fields of an object; NaN is no JSON, but written by many."""
    text = line.strip()
    if not text.startswith("{") or not text.endswith("}"):
        return {}
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(read, dict):
        return {}
    fields: dict[str, object] = {}
    inner = read.get("data")
    for source in (read, inner if isinstance(inner, dict) else {}):
        for key, value in list(source.items())[:MAX_FIELDS]:
            if isinstance(value, (int, float, str)) and not isinstance(value, bool):
                fields.setdefault(clean(str(key), 128).casefold(), value if not isinstance(value, str) else value[:64])
    return fields
