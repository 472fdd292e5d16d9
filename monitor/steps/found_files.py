"""Searches a folder for what a run writes: stores and logs, the newest first, bounded in entries, depth and time."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass

from monitor.steps.log_stores import is_store_name

MAX_DEPTH = 4
MAX_ENTRIES = 2000
MAX_SECONDS = 0.05
MAX_FOUND = 64
_LOG = re.compile(r"(?:nohup\.out|output\.log|debug\.log|log\.txt|.{1,100}\.(?:log|out|err))\Z")
_EVENTS = re.compile(r"events\.out\.tfevents\.(\d{9,11})\.([^/]{1,255}?)(?:\.(\d{1,10})\.\d{1,10})?(?:\.v2)?\Z")
_LEFT_OUT = frozenset(
    ("site-packages", "dist-packages", "node_modules", "__pycache__", "venv", "env", "cache", "data", "dataset",
     "datasets", "images", "labels")
)  # fmt: skip
_NO_LOGS = frozenset(("debug-internal.log", "debug-core.log", "wandb-internal.log"))


@dataclass(frozen=True)
class FoundFile:
    """A file that changed since the run began."""

    path: str
    """As we can open it."""
    modified_s: float
    is_store: bool
    file: tuple[int, int]
    """Device and inode."""
    pid: int | None = None
    """The process that wrote it, where its name tells: as that process sees itself."""
    begun_s: float | None = None
    """When it was begun, where its name tells."""


def find_files(folder: str, since_s: float, until: Callable[[], bool]) -> list[FoundFile]:
    """The files of a folder, the latest changed first. Links are not followed; never raises.

    `until` says when the time is up.
    """
    found: list[FoundFile] = []
    waiting: list[tuple[float, int, str]] = [(0.0, 0, folder)]
    looked = 0
    while waiting and looked < MAX_ENTRIES and not until():
        newest = max(range(len(waiting)), key=lambda i: (waiting[i][0], -waiting[i][1]))
        _, depth, here = waiting.pop(newest)
        try:
            with os.scandir(here) as entries:
                for entry in entries:
                    looked += 1
                    if looked > MAX_ENTRIES:
                        break
                    _take(entry, depth, since_s, waiting, found)
        except OSError:
            continue
    return sorted(found, key=lambda file: file.modified_s, reverse=True)[:MAX_FOUND]


def _take(
    entry: os.DirEntry[str],
    depth: int,
    since_s: float,
    waiting: list[tuple[float, int, str]],
    found: list[FoundFile],
) -> None:
    try:
        if entry.is_symlink():
            return
        if entry.is_dir(follow_symlinks=False):
            hidden = entry.name.startswith(".") or entry.name in _LEFT_OUT
            if depth < MAX_DEPTH and not hidden:
                waiting.append((entry.stat(follow_symlinks=False).st_mtime, depth + 1, entry.path))
            return
        is_store = is_store_name(entry.name) or _is_metric(entry.path)
        if not is_store and (not _LOG.match(entry.name) or entry.name in _NO_LOGS):
            return
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return
    if not stat.S_ISREG(status.st_mode) or status.st_mtime < since_s or not status.st_size:
        return
    named = _EVENTS.match(entry.name)
    found.append(
        FoundFile(
            path=entry.path,
            modified_s=status.st_mtime,
            is_store=is_store,
            file=(status.st_dev, status.st_ino),
            pid=int(named.group(3)) if named and named.group(3) else None,
            begun_s=float(named.group(1)) if named else None,
        )
    )


def _is_metric(path: str) -> bool:
    """MLflow's `RUN/metrics/NAME`, but not what it measures of the machine."""
    return "/metrics/" in path and "/system/" not in path and "." not in os.path.basename(path)
