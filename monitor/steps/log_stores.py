"""Whole stores read at once: `traintop log` on an event file, a table, a run folder's history."""

from __future__ import annotations

import os
from dataclasses import dataclass

import msgspec

from monitor.clean import clean
from monitor.steps.formats.line_format import Origin
from monitor.steps.stores.companions import companion_settings
from monitor.steps.stores.follower import StoreFollower
from monitor.steps.stores.registry import HEAD_BYTES, kind_of
from monitor.steps.stores.store import plan_of
from monitor.types.steps import StepEvent

START_BYTES = 2 * 1024 * 1024
"""Of a longer store the end is read: two seconds at most."""
ALL_BYTES = 4 * 1024 * 1024
"""A store that is summed from its beginning on is read to here; a longer one makes no claim."""
MAX_EVENTS = 4096
SUMMED = frozenset(("sb3_monitor", "catboost"))
STORE_NAMES = (
    ".csv", ".tsv", ".jsonl", ".wandb", "trainer_state.json", "metrics.json", "scalars.json", "result.json",
    "progress.json",
)  # fmt: skip


@dataclass(frozen=True)
class StoreLog:
    """What a store tells."""

    events: list[StepEvent]
    last_stamp_s: float | None
    skipped_bytes: int


def is_store_name(name: str) -> bool:
    """Whether a file of a folder may be a store, by its base name."""
    return name.endswith(STORE_NAMES) or "tfevents" in name


def read_store(path: str, descriptor: int) -> StoreLog | None:
    """Read an open file as a store; `None` where it is none. Raises OSError when it cannot be read."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    kind = kind_of(os.path.basename(path), os.read(descriptor, HEAD_BYTES))
    os.lseek(descriptor, 0, os.SEEK_SET)
    if kind is None:
        return None
    status = os.fstat(descriptor)
    follower = StoreFollower(
        os.path.basename(path),
        start_bytes=START_BYTES,
        tick_bytes=ALL_BYTES,
        most_events=MAX_EVENTS,
        plan=plan_of(companion_settings(path, status.st_uid)),
    )
    polled = follower.poll(descriptor, Origin(None, clean(os.path.basename(path), 200), status.st_mtime))
    if polled.events and follower.is_behind and kind.name in SUMMED:
        return StoreLog([], None, status.st_size)
    stamps = [event.event_s for event in polled.events if event.event_s is not None]
    last_s = max(stamps, default=None)
    # As if just written: how long it has been silent since is no stall.
    seen_s = status.st_mtime if last_s is None else last_s
    events = [msgspec.structs.replace(event, seen_s=seen_s) for event in polled.events]
    return StoreLog(events, last_s, polled.skipped_bytes)
