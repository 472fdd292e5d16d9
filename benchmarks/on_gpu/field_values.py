"""All field values (NVML_FI_…) that the driver may know: which answer, with what type, at what cost."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator

from benchmarks.on_gpu.answers import refused, union_value, value_type_name
from benchmarks.on_gpu.parts import Deadline, Row
from benchmarks.on_gpu.target import Target
from monitor.nvml.binding import Answer
from monitor.nvml.errors import SUCCESS, Refusal
from monitor.nvml.metrics import ALL_LINKS

LAST_ID = 320
BATCH = 40
PAUSE_S = 1.0
SCOPED = ((138, ALL_LINKS), (139, ALL_LINKS), (140, ALL_LINKS), (141, ALL_LINKS), (185, 1), (186, 1))
"""Fields whose scope means something: the sum over the links, or the module instead of the GPU."""

Key = tuple[int, int]


def measure(target: Target, pause_s: float = PAUSE_S) -> Callable[[Deadline], Iterator[Row]]:
    """A row for every field that answers, then one row with those that refuse, by code.

    All are read twice, a pause apart: a counter shows by its growth, and its unit by how fast it grows.
    """

    def rows(deadline: Deadline) -> Iterator[Row]:
        keys: list[Key] = [*((number, 0) for number in range(1, LAST_ID + 1)), *SCOPED]
        before_s = time.monotonic()
        first = _read(target, keys, deadline)
        if isinstance(first, Refusal):
            yield {"refused": refused(first)}
            return
        time.sleep(min(pause_s, deadline.remaining_s))
        between_s = time.monotonic() - before_s
        second = _read(target, keys, deadline)
        again = {} if isinstance(second, Refusal) else second
        yield from _answered(first, again, between_s)
        yield {"refused_ids_by_code": _refused(first)}

    return rows


def _read(target: Target, keys: list[Key], deadline: Deadline) -> dict[Key, Row] | Refusal:
    """Every field once, in batches. The driver's success for a batch says nothing of its parts."""
    found: dict[Key, Row] = {}
    trouble: Refusal | None = None
    parts = [keys[start : start + BATCH] for start in range(0, len(keys), BATCH)]
    while parts and not deadline.is_over:
        part = parts.pop(0)
        answer = target.call("nvmlDeviceGetFieldValues", part)
        if isinstance(answer, Refusal):
            trouble = answer
            if len(part) > 1:  # one of them may have spoilt it for the others
                parts = [*([key] for key in part), *parts]
            continue
        now_us = time.time() * 1e6
        found.update((key, _row(value, now_us)) for key, value in zip(part, answer, strict=True))
    return trouble if trouble is not None and not found else found


def _row(value: Answer, now_us: float) -> Row:
    code = int(value.nvmlReturn)
    row: Row = {"code": code, "latency_us": int(value.latencyUsec)}
    if code == SUCCESS:
        row["type"] = value_type_name(int(value.valueType))
        row["value"] = union_value(value.value, int(value.valueType))
        row["stamp_age_ms"] = round((now_us - int(value.timestamp)) / 1000, 1) if value.timestamp else None
    return row


def _answered(first: dict[Key, Row], again: dict[Key, Row], between_s: float) -> Iterator[Row]:
    for key, row in first.items():
        if row["code"] != SUCCESS:
            continue
        later = again.get(key, {}).get("value")
        change = None
        if later is not None and row["value"] is not None and between_s > 0:
            change = round((later - row["value"]) / between_s, 3)
        yield {"field": key[0], "scope": key[1], **row, "change_per_s": change}


def _refused(found: dict[Key, Row]) -> dict[str, list[int]]:
    by_code: dict[str, list[int]] = defaultdict(list)
    for (number, scope), row in found.items():
        if row["code"] != SUCCESS and scope == 0:
            by_code[str(row["code"])].append(number)
    return dict(by_code)
