"""Field values of one device, many in one driver call (`nvmlDeviceGetFieldValues`), into a buffer that is kept."""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Sequence

from monitor.nvml.binding import Handle
from monitor.nvml.calls import Caller, Field
from monitor.nvml.errors import ANSWER_BROKEN, FUNCTION_NOT_FOUND, REFUSALS, SUCCESS, Refusal, refusal_of_code

_LAYOUT = struct.Struct("@IIqqIIQ")
"""nvmlFieldValue_t: field, scope, timestamp (µs), latency (µs), type of the value, return code, value."""


class FieldBatch:
    """A fixed set of fields of one device."""

    def __init__(self, caller: Caller, fields: Sequence[Field]) -> None:
        self.fields = tuple(fields)
        structure = caller.binding.structure("c_nvmlFieldValue_t")
        usable = structure is not None and ctypes.sizeof(structure) == _LAYOUT.size
        self._function = caller.symbol("nvmlDeviceGetFieldValues") if usable else None
        self._values = (structure * len(self.fields))() if usable else None
        for value, field in zip(self._values or (), self.fields, strict=False):
            value.fieldId, value.scopeId = field.field_id, field.scope

    def read(self, handle: Handle) -> list[int | float | Refusal]:
        """One value or refusal per field, in order. The success of the whole call says nothing of its parts."""
        if self._function is None or self._values is None:
            return [REFUSALS[FUNCTION_NOT_FOUND]] * len(self.fields)
        try:
            code = self._function(handle, ctypes.c_int32(len(self.fields)), ctypes.byref(self._values))
        except Exception:
            return [ANSWER_BROKEN] * len(self.fields)
        if code != SUCCESS:
            return [refusal_of_code(code)] * len(self.fields)
        return [
            _number(kind, raw) if code == SUCCESS else refusal_of_code(code)
            for _field, _scope, _stamp, _latency, kind, code, raw in _LAYOUT.iter_unpack(self._values)
        ]


def _number(kind: int, raw: int) -> int | float | Refusal:
    """The union's member after `nvmlValueType_t`: double, uint, ulong, ulonglong, longlong, int, ushort."""
    if kind in (2, 3):
        return raw
    if kind == 1:
        return raw & 0xFFFFFFFF
    packed = raw.to_bytes(8, "little")
    if kind == 0:
        value = float(struct.unpack("<d", packed)[0])
        return value if math.isfinite(value) else ANSWER_BROKEN
    if kind == 4:
        return int.from_bytes(packed, "little", signed=True)
    if kind == 5:
        return int.from_bytes(packed[:4], "little", signed=True)
    if kind == 6:
        return raw & 0xFFFF
    return ANSWER_BROKEN
