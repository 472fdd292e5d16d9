"""The driver's answers as plain values for JSON: numbers, cleaned text, structures as dictionaries."""

from __future__ import annotations

import ctypes
import math
from typing import Any

from monitor.clean import clean
from monitor.nvml.errors import Refusal

VALUE_TYPES = (
    ("double", "dVal"),
    ("uint", "uiVal"),
    ("ulong", "ulVal"),
    ("ulonglong", "ullVal"),
    ("longlong", "sllVal"),
    ("int", "siVal"),
    ("ushort", "usVal"),
)
"""nvmlValueType_t in order: its name here, and the member of the binding's union."""

_LONGEST = 16


def value_type_name(kind: int) -> str:
    """The name of an nvmlValueType_t; the number where nobody has named it."""
    return VALUE_TYPES[kind][0] if 0 <= kind < len(VALUE_TYPES) else str(kind)


def union_value(union: Any, kind: int) -> int | float | None:  # noqa: ANN401  a ctypes union of the binding
    """The member of nvmlValue_t that the type names; `None` where the binding lacks it or it is no number."""
    if not 0 <= kind < len(VALUE_TYPES):
        return None
    value = getattr(union, VALUE_TYPES[kind][1], None)
    if not isinstance(value, int | float) or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return value


def plain(answer: Any) -> Any:  # noqa: ANN401  whatever the binding gives
    """An answer for JSON, short."""
    if answer is None or isinstance(answer, bool | int):
        return answer
    if isinstance(answer, float):
        return answer if math.isfinite(answer) else None
    if isinstance(answer, str | bytes):
        return clean(answer, 96)
    if isinstance(answer, list | tuple):
        return [plain(part) for part in answer[:_LONGEST]]
    if isinstance(answer, ctypes.Structure):
        return {field[0]: plain(getattr(answer, field[0])) for field in answer._fields_}
    value = getattr(answer, "value", None)
    return value if isinstance(value, int) else type(answer).__name__


def refused(refusal: Refusal) -> dict[str, Any]:
    """A refusal for JSON."""
    return {"code": refusal.code, "reason": refusal.reason, "sentence": refusal.sentence}
