"""Whole logs read at once, through the same formats and the same fusion as live ones."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field

from monitor.clean import clean
from monitor.clock import Clock
from monitor.steps.formats.line_format import Origin
from monitor.steps.formats.registry import TextReader
from monitor.steps.formats.stamps import line_time_s
from monitor.steps.fusion import FusedSteps, StepFusion
from monitor.steps.lines import Line
from monitor.steps.log_stores import is_store_name, read_store
from monitor.steps.tail import Follower, NotAFileError, open_text
from monitor.steps.thinning import thin
from monitor.types.documents import Setting
from monitor.types.steps import StepEvent

LOG_BYTES = 16 * 1024 * 1024
"""The last 16 MiB of a log are read, and its first 16 KiB."""
WHOLE_LINES = 40_000
MAX_LINES = 100_000
"""Of more lines than this, those at both ends are read and of those between only some: three seconds at most."""
MAX_EVENTS = 1024
MAX_POINTS = 8192
"""Of the counter's points so many are kept for the finish time."""
MAX_CANDIDATES = 32
MAX_ENTRIES = 2000
MAX_DEPTH = 3
QUIET_S = 600.0
"""A log without closing words that was written to this lately may still be running."""
_LOG_NAMES = (".log", ".out", ".err", ".txt")


class UnreadableLogError(Exception):
    """There is nothing to read. The text is a sentence for the user."""


@dataclass(frozen=True)
class LogFacts:
    """What a log tells, as plain data for the outputs."""

    files: tuple[str, ...] = ()
    steps: FusedSteps = field(default_factory=FusedSteps)
    ended: str = "unknown"
    """running, finished, out_of_memory, error, killed, time_limit or unknown."""
    phase: str = "starting"
    """As in `steps`, but "ended" wherever `ended` names an end."""
    loss: float | str | None = None
    last_line_s: float | None = None
    """Wall clock of the last line: what a finish time is counted from."""
    last_line_clock: str = "file_time"
    """text, or file_time where the lines have no clock."""
    size_bytes: int = 0
    skipped_bytes: int = 0
    notes: tuple[str, ...] = ()
    settings: tuple[Setting, ...] = ()
    """What the text says of when the run ends by itself."""


@dataclass
class _OneLog:
    path: str
    events: list[StepEvent]
    modified_s: float
    size_bytes: int
    skipped_bytes: int
    last_stamp_s: float | None
    lines: int
    settings: tuple[Setting, ...] = ()

    @property
    def seen_s(self) -> float:
        return self.modified_s if self.last_stamp_s is None else self.last_stamp_s


def read_log(paths: Sequence[str], clock: Clock) -> tuple[tuple[StepEvent, ...], LogFacts]:
    """Read the logs of one run (its stdout and its stderr, say), or the best log of a folder.

    Returns the readings (thinned) and what they amount to.

    Raises:
        UnreadableLogError: no such file, no permission, no regular file, or a folder without a log.
    """
    if len(paths) == 1 and os.path.isdir(paths[0]):
        return _best_of(_logs_in(paths[0]), paths[0], clock)
    if not paths:
        raise UnreadableLogError("no log was named")
    return _together([_read(path) for path in paths], clock)


def _best_of(paths: list[str], folder: str, clock: Clock) -> tuple[tuple[StepEvent, ...], LogFacts]:
    found: list[tuple[tuple[bool, bool, float], tuple[tuple[StepEvent, ...], LogFacts]]] = []
    for path in paths:
        try:
            log = _read(path)
        except UnreadableLogError:
            continue
        answer = _together([log], clock)
        steps = answer[1].steps
        found.append(((steps.step is not None, steps.confidence >= 0.5, log.modified_s), answer))
    if not found:
        raise UnreadableLogError(f"{clean(folder, 300)}: no log in this folder (looked for *.log, *.out, *.err, *.txt)")
    return max(found, key=lambda pair: pair[0])[1]


def _logs_in(folder: str) -> list[str]:
    """The logs of a folder, the latest first. Links are not followed."""
    found: list[tuple[float, str]] = []
    waiting, looked = [(folder, 0)], 0
    while waiting and looked < MAX_ENTRIES:
        here, depth = waiting.pop(0)
        try:
            entries = sorted(os.scandir(here), key=lambda e: e.name)
        except OSError:
            continue
        for entry in entries:
            looked += 1
            try:
                if entry.is_dir(follow_symlinks=False):
                    if depth < MAX_DEPTH:
                        waiting.append((entry.path, depth + 1))
                elif entry.name.endswith(_LOG_NAMES) or is_store_name(entry.name):
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(status.st_mode):
                        found.append((status.st_mtime, entry.path))
            except OSError:
                continue
    return [path for _, path in sorted(found, reverse=True)[:MAX_CANDIDATES]]


def _read(path: str) -> _OneLog:
    name = clean(path, 300)
    try:
        descriptor = open_text(path)
    except NotAFileError as error:
        raise UnreadableLogError(f"{name}: {error}") from error
    except (OSError, ValueError) as error:
        raise UnreadableLogError(f"{name}: {getattr(error, 'strerror', None) or 'cannot be opened'}") from error
    try:
        size = os.fstat(descriptor).st_size
        stored = read_store(path, descriptor)
        if stored is not None:
            modified_s = os.fstat(descriptor).st_mtime
            return _OneLog(
                name, stored.events, modified_s, size, stored.skipped_bytes, stored.last_stamp_s, len(stored.events)
            )
        polled = Follower(start_bytes=LOG_BYTES, tick_bytes=2 * LOG_BYTES).poll(descriptor)
    except OSError as error:
        raise UnreadableLogError(f"{name}: {error.strerror or 'cannot be read'}") from error
    finally:
        os.close(descriptor)
    reader = TextReader()
    lines = polled.lines + polled.pending
    stamp = next((s for line in reversed(lines[-200:]) if (s := line_time_s(line.text)) is not None), None)
    # Read as if its last line had just been written: how long it has been silent since is no stall.
    origin = Origin(None, clean(os.path.basename(path), 200), polled.modified_s if stamp is None else stamp)
    for line in polled.head:
        reader.read(line, origin)
    events: list[StepEvent] = []
    for line in _fewer(lines):
        events.extend(reader.read(line, origin))
    return _OneLog(name, events, polled.modified_s, size, polled.skipped_bytes, stamp, len(lines), reader.settings())


def _fewer(lines: tuple[Line, ...]) -> tuple[Line, ...]:
    if len(lines) <= MAX_LINES:
        return lines
    between = lines[WHOLE_LINES:-WHOLE_LINES]
    stride = -(-len(between) // (MAX_LINES - 2 * WHOLE_LINES))
    return lines[:WHOLE_LINES] + between[::stride] + lines[-WHOLE_LINES:]


def _together(logs: list[_OneLog], clock: Clock) -> tuple[tuple[StepEvent, ...], LogFacts]:
    fusion = StepFusion(most_points=MAX_POINTS)
    now_s = clock.wall_s()
    events = [event for log in logs for event in log.events]
    for event in events:
        fusion.update(event, 0.0)
    steps = fusion.reading(max(log.seen_s for log in logs), 0.0)
    modified_s = max(log.modified_s for log in logs)
    stamps = [log.last_stamp_s for log in logs if log.last_stamp_s is not None]
    ended = _ended(steps, now_s - modified_s)
    facts = LogFacts(
        files=tuple(log.path for log in logs),
        steps=steps,
        ended=ended,
        phase=steps.phase if ended in ("running", "unknown") else "ended",
        loss=next((value.value for value in steps.values if value.name == "loss"), None),
        last_line_s=max(stamps) if stamps else modified_s,
        last_line_clock="text" if stamps else "file_time",
        size_bytes=sum(log.size_bytes for log in logs),
        skipped_bytes=sum(log.skipped_bytes for log in logs),
        notes=_notes(logs, steps, stamps),
        settings=tuple(setting for log in logs for setting in log.settings),
    )
    return tuple(thin(events, MAX_EVENTS)), facts


def _ended(steps: FusedSteps, quiet_s: float) -> str:
    if steps.ended is not None:
        return steps.ended.how
    if steps.step is not None and steps.total is not None and steps.step >= steps.total and quiet_s > QUIET_S:
        return "finished"
    return "running" if quiet_s <= QUIET_S else "unknown"


def _notes(logs: list[_OneLog], steps: FusedSteps, stamps: list[float]) -> tuple[str, ...]:
    notes = list(steps.notes)
    if not stamps:
        notes.append("no clock in the lines: the file's modification time stands for the last one")
    notes.extend(f"{log.path}: {log.skipped_bytes} bytes left out" for log in logs if log.skipped_bytes)
    notes.extend(f"{log.path}: no text" for log in logs if not log.lines)
    return tuple(notes)
