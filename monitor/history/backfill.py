"""The past of a run that nobody watched, from lines that carry a clock of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from monitor.newest import put_newest
from monitor.types.identity import ProcessIdentity
from monitor.types.messages import Snapshot
from monitor.types.run import Run

WATCHED_S = 2.0
"""A line younger than this is no past: the watched figures tell it."""
MAX_SERIES = 512


class Point(NamedTuple):
    """One figure of the past."""

    run_id: str
    field: str
    boot_s: float
    value: float


class Backfill:
    """Finds step, step time and loss of the past in step events whose time stands in the text itself."""

    def __init__(self) -> None:
        self._last: dict[tuple[ProcessIdentity, str, str], tuple[float, float]] = {}

    def points(self, runs: tuple[Run, ...], snapshot: Snapshot) -> Iterator[Point]:
        """The figures that this snapshot's events tell of the time before it."""
        if not snapshot.steps:
            return
        owners = {member.process: run for run in runs for member in run.members}
        for event in snapshot.steps:
            run = None if event.process is None else owners.get(event.process)
            if run is None or event.process is None or event.event_clock != "text" or event.event_s is None:
                continue
            if event.step is None or (run.started_s is not None and event.event_s < run.started_s - 1):
                continue  # without a step, or from a run before this one in the same file
            key = event.process, event.source, event.series
            before = self._last.get(key)
            put_newest(self._last, key, (event.event_s, event.step), MAX_SERIES)
            age_s = snapshot.taken_s - event.event_s
            if age_s < WATCHED_S or run.unit != event.unit:
                continue
            boot_s = snapshot.boot_s - age_s
            yield Point(run.run_id, "step", boot_s, event.step)
            if before is not None and event.step > before[1] and event.event_s > before[0]:
                yield Point(run.run_id, "step_seconds", boot_s, (event.event_s - before[0]) / (event.step - before[1]))
            for value in event.values:
                if value.name == "loss" and not isinstance(value.value, str):
                    yield Point(run.run_id, "loss", boot_s, value.value)
