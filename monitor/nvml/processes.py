"""The processes that the driver lists on a GPU: three lists in three struct versions, checked row by row.

Every pid is a claim: it may belong to another pid namespace, be gone, or be garbage out of a struct that driver and
binding lay out differently.
"""

from __future__ import annotations

import ctypes
import dataclasses
import struct
from collections.abc import Callable

from monitor.nvml.binding import Handle
from monitor.nvml.calls import Call, Caller, Question
from monitor.nvml.errors import (
    ANSWER_BROKEN,
    FUNCTION_NOT_FOUND,
    INSUFFICIENT_SIZE,
    NOT_FOUND,
    REFUSALS,
    SUCCESS,
    Refusal,
    refusal_of_code,
)

_NOT_AVAILABLE = 0xFFFFFFFFFFFFFFFF
_NO_INSTANCE = 0xFFFFFFFF
_ROWS = 64
_MAX_ROWS = 65536

_PLAIN = struct.Struct("@IxxxxQ")
"""nvmlProcessInfo_v1_t: pid, memory."""
_WITH_INSTANCES = struct.Struct("@IxxxxQII")
"""nvmlProcessInfo_v2_t and v3: pid, memory, GPU instance, compute instance."""
_WITH_PROTECTED = struct.Struct("@IxxxxQIIQ")
"""What some 535 drivers fill for v3: one more number, the protected memory."""

_LISTS = (("C", "nvmlDeviceGetComputeRunningProcesses"), ("G", "nvmlDeviceGetGraphicsRunningProcesses"),
          ("M", "nvmlDeviceGetMPSComputeRunningProcesses"))  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class Claim:
    """One process as the driver lists it. `used_memory_bytes` is `None` where the driver does not say."""

    pid: int
    used_memory_bytes: int | None
    kind: str
    gpu_instance_id: int | None
    compute_instance_id: int | None


@dataclasses.dataclass(frozen=True, slots=True)
class ProcessList:
    """The merged lists. Without any list `refusal` says why; `dropped` counts rows that cannot be true."""

    claims: tuple[Claim, ...] = ()
    refusal: Refusal | None = None
    dropped: int = 0


Row = tuple[int, int, int, int]


def has_protected_memory_layout(caller: Caller) -> bool:
    """True for the 535 drivers whose v3 rows are 32 bytes long.

    They have the confidential-computing calls but not yet the process list that this field was made for.
    """
    return (
        caller.symbol("nvmlDeviceGetConfComputeMemSizeInfo") is not None
        and caller.symbol("nvmlDeviceGetRunningProcessDetailList") is None
    )


class ProcessLister:
    """Lists the processes of one device or MIG instance. Keeps its buffers, and its result while nothing changes."""

    def __init__(self, caller: Caller, pid_max: int) -> None:
        self._pid_max = pid_max
        self._lists = tuple(_List(caller, kind, name) for kind, name in _LISTS)
        self._last_raw: tuple[bytes | Refusal, ...] | None = None
        self._last_total: int | None = None
        self._last = ProcessList()

    def read(self, handle: Handle, memory_total_bytes: int | None, now_s: float) -> ProcessList:
        """All processes of the device. Rows that cannot be true are dropped and counted."""
        raw = tuple(part.read(handle, now_s) for part in self._lists)
        if raw == self._last_raw and memory_total_bytes == self._last_total:
            return self._last
        self._last_raw, self._last_total = raw, memory_total_bytes
        self._last = self._merge(raw, memory_total_bytes)
        return self._last

    def _merge(self, raw: tuple[bytes | Refusal, ...], memory_total_bytes: int | None) -> ProcessList:
        compute = raw[0]
        if isinstance(compute, Refusal) and all(isinstance(part, Refusal) for part in raw):
            return ProcessList(refusal=compute)
        merged: dict[tuple[int, int, int], Claim] = {}
        dropped = 0
        limit = _NOT_AVAILABLE if memory_total_bytes is None else memory_total_bytes
        for part, content in zip(self._lists, raw, strict=True):
            if isinstance(content, Refusal):
                continue
            rows, insane = part.rows(content, lambda row: self._is_sane(row, limit))
            dropped += insane
            for row in rows:
                key = (row[0], row[2], row[3])
                merged[key] = _merged(merged.get(key), _claim(row, part.kind))
        return ProcessList(claims=tuple(merged.values()), dropped=dropped)

    def _is_sane(self, row: Row, limit_bytes: int) -> bool:
        return 0 < row[0] <= self._pid_max and (row[1] <= limit_bytes or row[1] == _NOT_AVAILABLE)


class _List:
    """One of the three lists, with the C function of the newest version that answers."""

    def __init__(self, caller: Caller, kind: str, name: str) -> None:
        self.kind = kind
        versions: list[tuple[str, struct.Struct]] = [
            (name + "_v3", _WITH_PROTECTED if has_protected_memory_layout(caller) else _WITH_INSTANCES),
            (name + "_v2", _WITH_INSTANCES),
            (name, _PLAIN),
        ]
        found = [(caller.symbol(symbol), layout, symbol) for symbol, layout in versions]
        self._versions: list[tuple[Callable[..., int], struct.Struct]] = [
            (function, layout) for function, layout, _symbol in found if function is not None
        ]
        self._question = Question([Call(symbol) for function, _layout, symbol in found if function is not None])
        self._count = ctypes.c_uint(0)
        self._structure = caller.binding.structure("c_nvmlProcessInfo_v2_t") or _Row
        self._reserve(_ROWS)

    def _reserve(self, rows: int) -> None:
        """Room for `rows` rows of the longest layout."""
        self._rows = rows
        length = -(-rows * _WITH_PROTECTED.size // ctypes.sizeof(self._structure))
        self._buffer = (self._structure * length)()

    def read(self, handle: Handle, now_s: float) -> bytes | Refusal:
        """The rows as bytes, so that an unchanged list is recognised at once."""
        question = self._question
        if question.retry_at_s > now_s and question.refusal is not None:
            return question.refusal
        while question.position < len(self._versions):
            function, layout = self._versions[question.position]
            answer = self._fetch(function, layout, handle)
            if not isinstance(answer, Refusal):
                question.answered()
                return answer
            question.refused(answer, now_s)
            if not answer.is_final and question.refusal is answer:
                return answer
        return question.refusal or REFUSALS[FUNCTION_NOT_FOUND]

    def _fetch(self, function: Callable[..., int], layout: struct.Struct, handle: Handle) -> bytes | Refusal:
        code = INSUFFICIENT_SIZE
        for _attempt in range(3):  # the list may grow between two calls
            self._count.value = self._rows
            try:
                code = function(handle, ctypes.byref(self._count), self._buffer)
            except Exception:
                return ANSWER_BROKEN
            if code != INSUFFICIENT_SIZE:
                break
            self._reserve(min(max(self._count.value, self._rows) * 2, _MAX_ROWS))
        if code == NOT_FOUND:
            return b""
        if code != SUCCESS:
            return refusal_of_code(code)
        count = min(self._count.value, self._rows)
        return ctypes.string_at(self._buffer, count * layout.size) if count else b""

    def rows(self, content: bytes, is_sane: Callable[[Row], bool]) -> tuple[list[Row], int]:
        """The rows that can be true, and how many cannot."""
        layout = self._versions[self._question.position][1]
        rows = [_normal(values) for values in layout.iter_unpack(content)]
        sane = [row for row in rows if is_sane(row)]
        return sane, len(rows) - len(sane)


class _Row(ctypes.Structure):
    """nvmlProcessInfo_v2_t, for bindings without it."""

    _fields_ = (
        ("pid", ctypes.c_uint),
        ("usedGpuMemory", ctypes.c_ulonglong),
        ("gpuInstanceId", ctypes.c_uint),
        ("computeInstanceId", ctypes.c_uint),
    )


def _normal(values: tuple[int, ...]) -> Row:
    if len(values) == 2:
        return values[0], values[1], _NO_INSTANCE, _NO_INSTANCE
    return values[0], values[1], values[2], values[3]


def _claim(row: Row, kind: str) -> Claim:
    """A row as a claim. 0 bytes is what the driver says where it does not know: a context is never that small."""
    memory = None if row[1] in (0, _NOT_AVAILABLE) else row[1]
    gpu_instance, compute_instance = (None if part == _NO_INSTANCE else part for part in row[2:])
    return Claim(row[0], memory, kind, gpu_instance, compute_instance)


def _merged(before: Claim | None, claim: Claim) -> Claim:
    """One row for a process that is in several lists; its memory counts once."""
    if before is None:
        return claim
    kinds = {before.kind, claim.kind}
    kind = "M" if "M" in kinds else claim.kind if len(kinds) == 1 else "C+G"
    known = [memory for memory in (before.used_memory_bytes, claim.used_memory_bytes) if memory is not None]
    return dataclasses.replace(before, kind=kind, used_memory_bytes=max(known, default=None))


def with_unique_claims(first: tuple[Claim, ...], second: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Two lists of the same instance as one; a process that is in both counts once."""
    pids = {claim.pid for claim in first}
    return first + tuple(claim for claim in second if claim.pid not in pids)
