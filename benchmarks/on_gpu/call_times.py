"""How long every driver call takes that traintop uses, and which calls refuse and why."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable, Iterator

from benchmarks.on_gpu.answers import plain, refused
from benchmarks.on_gpu.parts import Deadline, Row
from benchmarks.on_gpu.target import Target
from monitor.nvml.binding import Answer
from monitor.nvml.calls import Call, Field
from monitor.nvml.errors import ANSWER_BROKEN, Refusal
from monitor.nvml.fields import FieldBatch
from monitor.nvml.metrics import IDENTITY_METRICS, SAMPLE_METRICS, Tier
from monitor.nvml.processes import ProcessLister

REPETITIONS = 200
DEAR_REPETITIONS = 10
REFUSED_REPETITIONS = 5
BOX_S = 1.0
"""One call gets no more time than this, and its share of what is left of the part where that is less."""

_LISTS = tuple(
    Call(f"nvmlDeviceGet{word}RunningProcesses_{version}")
    for word in ("Compute", "Graphics", "MPSCompute")
    for version in ("v3", "v2")
)
BESIDE_THE_TABLE = (
    Call("nvmlDeviceGetUUID"),
    *_LISTS,
    Call("nvmlDeviceGetProcessUtilization", (0,)),
    Call("nvmlDeviceGetMigMode"),
    Call("nvmlDeviceGetMaxMigDeviceCount"),
    Call("nvmlDeviceGetMigDeviceHandleByIndex", (0,)),
    Call("nvmlDeviceGetGpuInstanceId"),
    Call("nvmlDeviceGetComputeInstanceId"),
    Call("nvmlDeviceGetNvLinkState", (0,)),
    Call("nvmlDeviceGetNvLinkRemotePciInfo", (0,)),
    Call("nvmlDeviceGetSupportedEventTypes"),
    Call("nvmlGpmQueryDeviceSupport"),
)
"""Calls that monitor.nvml makes of a device outside its table of metrics. A test compares this with what it calls."""
DEAR = (
    Call("nvmlDeviceGetPcieThroughput", (0,)),
    Call("nvmlDeviceGetPcieThroughput", (1,)),
    Call("nvmlDeviceGetSamples", (0, 0)),
    Call("nvmlDeviceGetSamples", (1, 0)),
)
_OF_THE_LIBRARY = (
    Call("nvmlSystemGetDriverVersion"),
    Call("nvmlSystemGetCudaDriverVersion_v2"),
    Call("nvmlDeviceGetCount"),
)


@dataclasses.dataclass(frozen=True)
class Timed:
    """Something to time."""

    label: str
    ask: Callable[[], Answer]
    repetitions: int = REPETITIONS


def table_calls() -> tuple[Call, ...]:
    """Every spelling of the table of metrics that is a call, once."""
    spellings = (spelling for metric in (*IDENTITY_METRICS, *SAMPLE_METRICS) for spelling in metric.spellings)
    return tuple(dict.fromkeys(spelling for spelling in spellings if isinstance(spelling, Call)))


def tick_fields() -> tuple[Field, ...]:
    """The field values that one tick asks for in one call."""
    spellings = (spelling for metric in SAMPLE_METRICS if metric.tier is Tier.TICK for spelling in metric.spellings)
    return tuple(spelling for spelling in spellings if isinstance(spelling, Field))


def measure(target: Target, most: int = REPETITIONS) -> Callable[[Deadline], Iterator[Row]]:
    """One row a call: repetitions, microseconds (first, median, 95th percentile, longest), answer or refusal."""

    def rows(deadline: Deadline) -> Iterator[Row]:
        todo = [*_timed(target)]
        sample = target.caller.call("nvmlGpmSampleAlloc")
        if not isinstance(sample, Refusal):
            todo.append(Timed("nvmlGpmSampleGet", lambda: target.call("nvmlGpmSampleGet", sample)))
        try:
            for done, timed in enumerate(todo):
                if deadline.is_over:
                    return
                share_s = deadline.remaining_s / (len(todo) - done)
                yield time_call(timed, min(timed.repetitions, most), min(BOX_S, share_s))
        finally:
            if not isinstance(sample, Refusal):
                target.caller.call("nvmlGpmSampleFree", sample)

    return rows


def time_call(timed: Timed, repetitions: int, box_s: float) -> Row:
    """Repeat one call until it was made often enough or its box of time is full; at least once."""
    end_s = time.perf_counter() + box_s
    taken_us: list[float] = []
    answer: Answer = None
    while len(taken_us) < repetitions:
        begun_ns = time.perf_counter_ns()
        try:
            answer = timed.ask()
        except Exception:
            answer = ANSWER_BROKEN
        taken_us.append((time.perf_counter_ns() - begun_ns) / 1000)
        if isinstance(answer, Refusal):
            repetitions = min(repetitions, REFUSED_REPETITIONS)
        if time.perf_counter() > end_s:
            break
    ordered = sorted(taken_us)
    row: Row = {
        "call": timed.label,
        "repetitions": len(taken_us),
        "first_us": round(taken_us[0], 1),
        "median_us": round(ordered[len(ordered) // 2], 1),
        "p95_us": round(ordered[-(-95 * len(ordered) // 100) - 1], 1),
        "max_us": round(ordered[-1], 1),
    }
    return {**row, "refused": refused(answer)} if isinstance(answer, Refusal) else {**row, "answer": plain(answer)}


def _timed(target: Target) -> Iterator[Timed]:
    for call in _OF_THE_LIBRARY:
        yield Timed(call.name, functools.partial(target.caller.call, call.name))
    yield Timed("nvmlDeviceGetHandleByIndex", lambda: target.caller.call("nvmlDeviceGetHandleByIndex", target.index))
    for call in (*table_calls(), *BESIDE_THE_TABLE):
        yield _of_device(target, call, REPETITIONS)
    batch = FieldBatch(target.caller, tick_fields())
    yield Timed(
        f"the {len(batch.fields)} field values of a tick in one call", lambda: _first(batch.read(target.handle))
    )
    lister = ProcessLister(target.caller, target.machine.pid_max())
    yield Timed(
        "all process lists as one tick reads them", lambda: lister.read(target.handle, None, time.monotonic()).refusal
    )
    for other in target.others[:1]:
        yield Timed(
            "nvmlDeviceGetTopologyCommonAncestor",
            functools.partial(target.call, "nvmlDeviceGetTopologyCommonAncestor", other),
        )
    yield Timed("nvmlEventSetCreate and nvmlEventSetFree", lambda: _event_set(target))
    for call in DEAR:
        yield _of_device(target, call, DEAR_REPETITIONS)


def _of_device(target: Target, call: Call, repetitions: int) -> Timed:
    label = call.name + (f"{call.arguments}" if call.arguments else "")
    return Timed(label.replace(",)", ")"), lambda: target.call(call.name, *call.arguments), repetitions)


def _first(values: list[int | float | Refusal]) -> Answer:
    """How many of a batch were answered; the refusal where none was."""
    answered = [value for value in values if not isinstance(value, Refusal)]
    return len(answered) if answered or not values else values[0]


def _event_set(target: Target) -> Answer:
    event_set = target.caller.call("nvmlEventSetCreate")
    return event_set if isinstance(event_set, Refusal) else target.caller.call("nvmlEventSetFree", event_set)
