"""The driver's own buffers of samples (`nvmlDeviceGetSamples`): how many, how far back, how far apart."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Iterator

from benchmarks.on_gpu.answers import refused, union_value, value_type_name
from benchmarks.on_gpu.parts import Deadline, Row
from benchmarks.on_gpu.target import Target
from monitor.nvml.errors import Refusal

KINDS = (
    "total power",
    "GPU utilisation",
    "memory utilisation",
    "encoder utilisation",
    "decoder utilisation",
    "processor clock",
    "memory clock",
    "module power",
    "JPEG utilisation",
    "optical flow utilisation",
)
"""nvmlSamplingType_t in order."""
KEPT = 256
"""Samples of one buffer in the report, the newest ones."""


def measure(target: Target) -> Callable[[Deadline], Iterator[Row]]:
    """One row a buffer."""

    def rows(deadline: Deadline) -> Iterator[Row]:
        for kind, name in enumerate(KINDS):
            if deadline.is_over:
                return
            yield {"kind": kind, "name": name, **buffer(target, kind)}

    return rows


def buffer(target: Target, kind: int) -> Row:
    """What is in one buffer now. Stamps are the driver's wall clock in µs; slots without one were never filled."""
    answer = target.call("nvmlDeviceGetSamples", kind, 0)
    now_us = time.time() * 1e6
    if isinstance(answer, Refusal):
        return {"refused": refused(answer)}
    value_type, samples = answer
    taken = sorted(
        (int(sample.timeStamp), union_value(sample.sampleValue, value_type)) for sample in samples if sample.timeStamp
    )
    row: Row = {"value_type": value_type_name(value_type), "slots": len(samples), "count": len(taken)}
    if not taken:
        return row
    stamps = [stamp for stamp, _value in taken]
    values = [value for _stamp, value in taken if value is not None]
    gaps_ms = [(after - before) / 1000 for before, after in itertools.pairwise(stamps)]
    newer = target.call("nvmlDeviceGetSamples", kind, stamps[-1])
    return {
        **row,
        "span_s": round((stamps[-1] - stamps[0]) / 1e6, 3),
        "spacing_ms": _spread(gaps_ms),
        "same_stamp_count": len(stamps) - len(set(stamps)),
        "newest_age_ms": round((now_us - stamps[-1]) / 1000, 1),
        "value": _spread(values),
        "newer_than_newest": newer.reason if isinstance(newer, Refusal) else len(newer[1]),
        "newest": [[stamp - stamps[-1], value] for stamp, value in taken[-KEPT:]],
    }


def _spread(numbers: list[int | float] | list[float]) -> Row | None:
    if not numbers:
        return None
    return {
        "min": round(min(numbers), 3),
        "median": round(statistics.median(numbers), 3),
        "max": round(max(numbers), 3),
    }
