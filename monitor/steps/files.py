"""Whatever a process writes to regular files through its open descriptors: stdout, stderr, logs."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import msgspec

from monitor.clean import clean
from monitor.clock import Clock
from monitor.newest import put_newest
from monitor.steps.file_time import with_file_time
from monitor.steps.formats.line_format import Origin
from monitor.steps.formats.registry import TextReader
from monitor.steps.lines import TextRing
from monitor.steps.source import Refusal, Written
from monitor.steps.tail import Follower, NotAFileError, Polled, open_text
from monitor.steps.tee import tee_files
from monitor.steps.thinning import thin
from monitor.types.documents import Setting
from monitor.types.facts import OpenFile, ProcessFacts
from monitor.types.identity import ProcessIdentity
from monitor.types.steps import StepEvent

MAX_FILES = 256
MAX_OVER = 32
MAX_FILES_A_PROCESS = 12
MAX_REFUSALS = 64
FIRST_EVENTS = 48
"""Of what the end of a file tells on first sight, this many readings of a counter: enough for a rate at once."""
LATER_EVENTS = 4
TEE_AGAIN_S = 30.0
QUARTER_S = 900.0
"""Zones differ by quarters of an hour."""
ZONE_SLACK_S = 20.0
MAX_ZONE_S = 14 * 3600.0
_Key = tuple[ProcessIdentity, int, int]
"""Process, pid of the holder, descriptor."""
_KINDS = frozenset({"file", "deleted_file"})


@dataclass
class _Followed:
    """One file of one process."""

    facts: ProcessFacts
    holder_pid: int
    """Whose descriptor it is opened through: the process itself, or its `tee`."""
    open_file: OpenFile
    where: str
    follower: Follower = field(default_factory=Follower)
    reader: TextReader = field(default_factory=TextReader)
    ring: TextRing = field(default_factory=TextRing)
    skipped_bytes: int = 0
    changed_s: float = 0.0
    first: bool = True
    zone_s: float | None = None
    """By how much the stamps in it are off ours: containers often write UTC. `None` until one was seen."""
    refused: str = ""

    @property
    def path(self) -> str:
        """Through the descriptor: right in containers and for deleted files, never a link that somebody put there."""
        return f"/proc/{self.holder_pid}/fd/{self.open_file.descriptor}"


class OpenFilesWay:
    """Follows the files that processes write to. Each file is opened for each look only, so that none is kept alive."""

    name = "open_files"
    needs = "A process of the same user (or root) that writes to a regular file, or through tee into one."
    cost = "Reads what was appended: microseconds a tick. The run does not notice."
    asks_first = False

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._followed: dict[_Key, _Followed] = {}
        self._over: dict[_Key, _Followed] = {}
        """Of processes that are gone, so that their last words can still be asked for."""
        self._tees: dict[tuple[ProcessIdentity, str], tuple[float, list[tuple[int, OpenFile]]]] = {}
        self._owners: dict[tuple[int, int], _Key] = {}
        self._next = 0

    def read(self, facts: tuple[ProcessFacts, ...], until_boot_s: float) -> list[StepEvent]:
        """What was appended since the last look."""
        gone = self._update(facts)
        events: list[StepEvent] = []
        for key, followed in gone:
            events.extend(self._look(key, followed, last=True))
            put_newest(self._over, key, followed, MAX_OVER)
        self._owners = {file: key for file, key in self._owners.items() if self._follows(key, file)}
        keys = list(self._followed)
        for offset in range(len(keys)):
            key = keys[(self._next + offset) % len(keys)]
            if offset and self._clock.boot_s() >= until_boot_s:
                self._next = (self._next + offset) % len(keys)
                break
            events.extend(self._look(key, self._followed[key]))
        else:
            self._next = 0
        return events

    def written(self, process: ProcessIdentity) -> list[Written]:
        """The followed texts of a process, the latest changed last."""
        texts = [
            Written(where=f.where, ring=f.ring, skipped_bytes=f.skipped_bytes, changed_s=f.changed_s)
            for (identity, _, _), f in (*self._over.items(), *self._followed.items())
            if identity == process and f.changed_s > 0
        ]
        return sorted(texts, key=lambda text: text.changed_s)

    def settings(self) -> dict[ProcessIdentity, tuple[Setting, ...]]:
        """None: what files say of a run's set-up is read as documents."""
        return {}

    def allow(self, process: ProcessIdentity) -> None:
        """Needs no leave."""

    def refusals(self) -> tuple[Refusal, ...]:
        """Files that are there but cannot be read."""
        refused = [
            Refusal(process=f.facts.process, source=self.name, where=f.where, sentence=f.refused)
            for f in self._followed.values()
            if f.refused
        ]
        return tuple(refused[:MAX_REFUSALS])

    def _update(self, facts: tuple[ProcessFacts, ...]) -> list[tuple[_Key, _Followed]]:
        """Take up new files and let go of old ones; those of processes that are gone come back for one last look."""
        alive: set[_Key] = set()
        # Trainers first: a file that several hold belongs to the one that trains.
        ranked = sorted(facts, key=lambda f: (f.kind != "training", f.kind == "launcher", f.process.pid))
        for fact in ranked:
            if fact.kind == "worker":
                continue  # a data-loader worker inherits its trainer's descriptors and counts nothing
            for holder, file in self._files(fact):
                key = (fact.process, holder, file.descriptor)
                alive.add(key)
                known = self._followed.get(key)
                if known is not None:
                    known.facts, known.open_file = fact, file
                elif len(self._followed) < MAX_FILES:
                    self._followed[key] = _Followed(fact, holder, file, _where(fact, holder, file))
        gone = [(key, self._followed.pop(key)) for key in list(self._followed) if key not in alive]
        processes = {fact.process for fact in facts}
        self._tees = {key: value for key, value in self._tees.items() if key[0] in processes}
        return gone

    def _files(self, fact: ProcessFacts) -> list[tuple[int, OpenFile]]:
        files: list[tuple[int, OpenFile]] = []
        for file in fact.open_files[:MAX_FILES_A_PROCESS]:
            if file.kind in _KINDS:
                files.append((fact.process.pid, file))
            elif file.kind == "pipe" and file.role in ("stdout", "stderr"):
                files.extend(self._behind_pipe(fact, file.path))
        return files

    def _behind_pipe(self, fact: ProcessFacts, pipe: str) -> list[tuple[int, OpenFile]]:
        now_s = self._clock.boot_s()
        known = self._tees.get((fact.process, pipe))
        if known is None or (not known[1] and now_s - known[0] > TEE_AGAIN_S):
            known = (now_s, tee_files(fact, pipe))
            self._tees[(fact.process, pipe)] = known
        return known[1]

    def _look(self, key: _Key, followed: _Followed, *, last: bool = False) -> list[StepEvent]:
        try:
            # A process that is gone has no descriptors: its last words are read by name, if it is still the same file.
            descriptor = open_text(followed.open_file.path if last else followed.path)
        except NotAFileError as error:
            followed.refused = str(error)
            return []
        except OSError as error:
            followed.refused = error.strerror or "cannot be opened"
            return []
        try:
            status = os.fstat(descriptor)
            file = (status.st_dev, status.st_ino)
            if last and file != followed.follower.file:
                return []
            if not _may_read(status.st_uid, followed.facts.uid):
                followed.refused = "the file belongs to another user"
                return []
            if followed.holder_pid != key[0].pid and followed.follower.file not in (None, file):
                followed.refused = "its tee is gone"  # and the pid perhaps another program's by now
                return []
            followed.refused = ""
            if self._owners.setdefault(file, key) != key:
                return []  # the same file through another descriptor or rank: its lines are read once
            return self._take(followed, followed.follower.poll(descriptor))
        except OSError as error:
            followed.refused = error.strerror or "cannot be read"
            return []
        except Exception as error:  # a fault of ours in one text must not hide the others
            followed.refused = f"its text could not be understood ({type(error).__name__})"
            return []
        finally:
            os.close(descriptor)

    def _follows(self, key: _Key, file: tuple[int, int]) -> bool:
        """Whether it still follows that very file; after a rotation the number of an inode may come back elsewhere."""
        followed = self._followed.get(key)
        return followed is not None and followed.follower.file in (None, file)

    def _take(self, followed: _Followed, polled: Polled) -> list[StepEvent]:
        now_s = self._clock.wall_s()
        if polled.restarted:
            followed.reader, followed.zone_s = TextReader(), None
        followed.skipped_bytes += polled.skipped_bytes
        if not polled.grew:
            return []
        followed.changed_s = polled.modified_s
        origin = Origin(followed.facts.process, followed.where, now_s)
        for line in polled.head:
            followed.reader.read(line, origin)  # for banners and the first epoch's number; its counts are long past
        events: list[StepEvent] = []
        for line in polled.lines:
            followed.ring.add(line)
            events.extend(followed.reader.read(line, origin))
        for line in polled.pending:
            followed.ring.add(line)
            events.extend(followed.reader.read(line, origin))
        first, followed.first = followed.first, False
        events = thin(events, FIRST_EVENTS if first or polled.restarted else LATER_EVENTS)
        if followed.zone_s is None:
            followed.zone_s = _zone_s(events, polled.modified_s)
        return with_file_time(_in_our_zone(events, followed.zone_s or 0.0), polled.modified_s)


def _zone_s(events: list[StepEvent], modified_s: float) -> float | None:
    """How many quarter hours the last stamp is off the file's own time; a zone that the stamp does not name."""
    stamps = [event.event_s for event in events if event.event_clock == "text" and event.event_s is not None]
    if not stamps:
        return None
    zone_s = round((modified_s - stamps[-1]) / QUARTER_S) * QUARTER_S
    near = abs(modified_s - stamps[-1] - zone_s) <= ZONE_SLACK_S
    return zone_s if near and abs(zone_s) <= MAX_ZONE_S else 0.0


def _in_our_zone(events: list[StepEvent], zone_s: float) -> list[StepEvent]:
    if not zone_s:
        return events
    return [
        msgspec.structs.replace(event, event_s=event.event_s + zone_s)
        if event.event_clock == "text" and event.event_s is not None
        else event
        for event in events
    ]


def _may_read(owner: int, target_uid: int | None) -> bool:
    """Only files of the process's own user, or of ours; root follows nothing into a third user's files."""
    own = os.geteuid()
    return owner == target_uid or (own != 0 and owner == own)


def _where(fact: ProcessFacts, holder: int, file: OpenFile) -> str:
    through = "" if holder == fact.process.pid else "tee → "
    path = file.path
    if fact.cwd and path.startswith(fact.cwd.rstrip("/") + "/"):
        path = path[len(fact.cwd.rstrip("/")) + 1 :]
    return clean(f"{file.role} → {through}{path}", 300)
