"""What was seen over time: of every GPU, every run and the host. Filled from the stream, read by whoever shows it."""

from __future__ import annotations

import math

from monitor.history.backfill import Backfill
from monitor.history.readings import Readings, Window
from monitor.history.rings import UNKNOWN, Aggregate, Column, TimeBase
from monitor.history.series import Series, SeriesKey
from monitor.history.throttling import ThrottleShare
from monitor.types.gpu import GpuSample
from monitor.types.messages import Hello, Message, Snapshot
from monitor.types.process import HostSample
from monitor.types.run import Run

GPU_FIELDS = (
    "gpu_util_ratio",
    "memory_busy_ratio",
    "memory_used_bytes",
    "power_w",
    "temperature_c",
    "sm_mhz",
    "memory_used_bytes:max",
    "throttle_ratio",
)
"""`throttle_ratio`: share of the time since the sample before with the clocks held down (see `ThrottleShare`)."""
RUN_FIELDS = ("step", "step_seconds", "loss", "gpu_memory_bytes")
HOST_FIELDS = ("cpu_ratio", "memory_used_bytes")

HOLD_INTERVALS = 1.5
"""A sample stands for the time since the one before, if that is no longer than this many intervals of the stream."""
GPU_KEPT_S = 3600.0
"""How long the history of a GPU is kept that the stream names no more (a MIG instance that was dissolved)."""
MAX_GPUS = 192
MAX_RUNS = 192
"""Bounds against a stream that was made to fill memory; those unseen for longest go first."""
MAX_POINTS = 4096
MAX_FIGURE = 3e38
"""What a 32-bit float holds."""

_Columns = tuple[Column, ...]


class History:
    """Rings of fixed size a figure. Same messages and runs, same history. All times come from the stream."""

    def __init__(self) -> None:
        self._time = TimeBase()
        self._interval_s = 1.0
        self._boot_id = ""
        self._now_boot_s = 0.0
        self._wall_offset_s = 0.0
        self._fresh = False
        self._gpus: dict[str, _Columns] = {}
        self._gpu_seen_s: dict[str, float] = {}
        self._gpu_taken_s: dict[str, float] = {}
        self._runs: dict[str, _Columns] = {}
        self._host: _Columns = ()
        self._throttle = ThrottleShare()
        self._backfill = Backfill()
        self._readings = Readings()

    def update(self, message: Message) -> None:
        """Take one message."""
        if isinstance(message, Snapshot):
            self._take(message)
        elif isinstance(message, Hello):
            self._interval_s = message.interval_s if math.isfinite(message.interval_s) else 1.0
            if message.boot_id != self._boot_id:
                if self._boot_id:
                    self._forget()
                self._boot_id = message.boot_id

    def note_runs(self, runs: tuple[Run, ...], snapshot: Snapshot) -> None:
        """Take what the runs were at this snapshot; call it after `update(snapshot)`."""
        for run_id in self._runs.keys() - {run.run_id for run in runs}:
            self._drop(self._runs.pop(run_id))
        if not self._fresh or snapshot.boot_s != self._now_boot_s:
            return
        for run in runs[:MAX_RUNS]:
            columns = self._runs.get(run.run_id)
            if run.ended is not None:
                continue
            if columns is None:
                columns = self._runs[run.run_id] = self._new(RUN_FIELDS)
            loss = next((value.value for value in run.values if value.name == "loss"), None)
            for column, figure in zip(columns, (run.step, run.step_seconds, loss, run.gpu_memory_bytes), strict=True):
                self._time.write(column, _number(figure))
        for run_id, field, boot_s, value in self._backfill.points(runs, snapshot):
            found = self._runs.get(run_id)
            if found is not None:
                self._time.fill(found[RUN_FIELDS.index(field)], boot_s, _number(value))

    def series(self, key: SeriesKey, window_s: float, points: int, now_boot_s: float | None = None) -> Series:
        """A figure over the last `window_s` seconds in `points` equal periods, oldest first.

        Periods lie on whole multiples of their length, so that a moving picture does not flicker; the last one is
        still running. `now_boot_s` is the stream's clock (its newest snapshot if not given). A subject or field that
        nobody knows gives unknown values.
        """
        points = min(max(1, points), MAX_POINTS)
        now_s = self._now_boot_s if now_boot_s is None else now_boot_s
        period_s = max(window_s, 1.0) / points
        last = math.floor(now_s / period_s)
        first = last - points + 1
        start_s, end_s = first * period_s + self._wall_offset_s, (last + 1) * period_s + self._wall_offset_s
        column = self._column(key)
        if column is None:
            return Series(values=(None,) * points, marked=(False,) * points, start_s=start_s, end_s=end_s)
        values, marked = self._readings.read(self._time, column, Window(window_s, period_s, first, last))
        return Series(values=values, marked=marked, start_s=start_s, end_s=end_s)

    @property
    def size_bytes(self) -> int:
        """Memory that all rings take."""
        return sum(column.size_bytes for column in self._time.columns)

    def _take(self, snapshot: Snapshot) -> None:
        self._fresh = self._time.advance(snapshot.boot_s, self._interval_s * HOLD_INTERVALS)
        if not self._fresh:
            return
        self._now_boot_s = snapshot.boot_s
        self._wall_offset_s = snapshot.taken_s - snapshot.boot_s
        for sample in snapshot.gpus:
            self._take_gpu(sample, snapshot)
        if snapshot.host is not None:
            self._take_host(snapshot.host)
        self._evict(snapshot.boot_s)

    def _take_gpu(self, sample: GpuSample, snapshot: Snapshot) -> None:
        columns = self._gpus.get(sample.uuid)
        if columns is None:
            columns = self._gpus[sample.uuid] = self._new(GPU_FIELDS)
        self._gpu_seen_s[sample.uuid] = snapshot.boot_s
        again = self._gpu_taken_s.get(sample.uuid) == sample.taken_s
        if again and sample.taken_s and snapshot.taken_s - sample.taken_s > self._interval_s * HOLD_INTERVALS:
            return  # the driver has not answered since: this is the figure of a time that is recorded already
        self._gpu_taken_s[sample.uuid] = sample.taken_s
        write, used = self._time.write, sample.memory_used_bytes
        figures = (
            sample.gpu_util_ratio,
            sample.memory_busy_ratio,
            used,
            sample.power_w,
            sample.temperature_c,
            sample.sm_mhz,
            used,
            self._throttle.update(sample, snapshot.boot_s),
        )
        for column, figure in zip(columns, figures, strict=True):
            if figure is not None:
                write(column, figure)  # what a driver counts fits 32 bits of float; the hot path checks nothing else

    def _take_host(self, host: HostSample) -> None:
        if not self._host:
            self._host = self._new(HOST_FIELDS)
        total, available = host.memory_total_bytes, host.memory_available_bytes
        used = None if total is None or available is None else total - available
        for column, figure in zip(self._host, (host.cpu_ratio, used), strict=True):
            self._time.write(column, _number(figure))

    def _column(self, key: SeriesKey) -> Column | None:
        kind, _, name = key.subject.partition(":")
        found: tuple[tuple[str, ...], _Columns | None]
        if kind == "gpu":
            found = GPU_FIELDS, self._gpus.get(name)
        elif kind == "run":
            found = RUN_FIELDS, self._runs.get(name)
        else:
            found = HOST_FIELDS, self._host or None
        fields, columns = found
        return columns[fields.index(key.field)] if columns is not None and key.field in fields else None

    def _new(self, fields: tuple[str, ...]) -> _Columns:
        columns = tuple(Column(_aggregate(field), "d" if field == "step" else "f") for field in fields)
        self._time.columns.update(columns)
        return columns

    def _drop(self, columns: _Columns) -> None:
        self._time.columns.difference_update(columns)
        self._readings.forget(columns)

    def _evict(self, now_s: float) -> None:
        seen = self._gpu_seen_s
        if len(seen) > MAX_GPUS or any(now_s - at > GPU_KEPT_S for at in seen.values()):
            oldest_first = sorted(seen, key=seen.__getitem__)
            for place, uuid in enumerate(oldest_first):
                if now_s - seen[uuid] > GPU_KEPT_S or len(oldest_first) - place > MAX_GPUS:
                    self._drop(self._gpus.pop(uuid))
                    self._throttle.forget(uuid)
                    self._gpu_taken_s.pop(uuid, None)
                    del seen[uuid]

    def _forget(self) -> None:
        """The machine was started anew: the boot clock of what came before means nothing now."""
        self._time = TimeBase()
        self._throttle = ThrottleShare()
        self._backfill = Backfill()
        self._readings = Readings()
        self._now_boot_s, self._fresh, self._host = 0.0, False, ()
        for kept in (self._gpus, self._gpu_seen_s, self._gpu_taken_s, self._runs):
            kept.clear()


def _aggregate(field: str) -> Aggregate:
    return "max" if field.endswith(":max") else "last" if field == "step" else "mean"


def _number(figure: float | str | None) -> float:
    if figure is None or isinstance(figure, str) or not -MAX_FIGURE < figure < MAX_FIGURE:
        return UNKNOWN
    return float(figure)
