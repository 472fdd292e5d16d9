"""Files that a process writes without holding them open: event files, tables, run folders, logs that it copies.

They are found by what the process was told and by a bounded search. A file is taken for a process's own only on
evidence, in this order: the process holds it open; its name tells the pid; it lies in a folder that the command line,
environment or configuration names; it changed in the working directory of the only training there.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import msgspec

from monitor.clean import clean
from monitor.clock import Clock
from monitor.steps.file_time import with_file_time
from monitor.steps.formats.line_format import Origin
from monitor.steps.formats.registry import TextReader
from monitor.steps.found_files import MAX_SECONDS, FoundFile, find_files
from monitor.steps.lines import TextRing
from monitor.steps.output_folders import open_found, output_folders, seen_path
from monitor.steps.own_files import Evidence, evidence_of, leads, rivals_of
from monitor.steps.source import Refusal, Written
from monitor.steps.stores.companions import companion_settings
from monitor.steps.stores.follower import StoreFollower
from monitor.steps.stores.store import plan_of
from monitor.steps.tail import Follower
from monitor.steps.thinning import thin
from monitor.types.documents import Setting
from monitor.types.facts import ProcessFacts
from monitor.types.identity import ProcessIdentity
from monitor.types.steps import StepEvent

SEARCH_EVERY_S = 15.0
LOOK_EVERY_S = 1.0
MAX_STORES, MAX_TEXTS, MAX_ALIKE = 8, 2, 3
"""Of one process; of files of one name in several folders (checkpoints, metrics) only the newest."""
MAX_FILES = 128
FIRST_EVENTS, LATER_EVENTS = 256, 16
EARLY_S = 5.0
"""What was written this long before the process began is another run's."""
MAX_REFUSALS = 32


@dataclass
class _Own:
    """One file of one process."""

    found: FoundFile
    evidence: Evidence
    where: str
    store: StoreFollower | None = None
    text: Follower | None = None
    reader: TextReader = field(default_factory=TextReader)
    ring: TextRing = field(default_factory=TextRing)
    skipped_bytes: int = 0
    changed_s: float = 0.0
    first: bool = True
    refused: str = ""


@dataclass
class _Run:
    """What is known of one process."""

    searched_s: float = float("-inf")
    looked_s: float = float("-inf")
    files: dict[tuple[int, int], _Own] = field(default_factory=dict)
    settings: tuple[Setting, ...] = ()


class RunFilesWay:
    """Finds and follows the stores and logs of own processes."""

    name = "run_files"
    needs = "A process of the same user (or root) that writes event files, tables or a run folder where it was told to."
    cost = "A search of at most 2,000 names every 15 s, and what was appended each second. The run does not notice."
    asks_first = False

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._runs: dict[ProcessIdentity, _Run] = {}

    def read(self, facts: tuple[ProcessFacts, ...], until_boot_s: float) -> list[StepEvent]:
        """What is new in the files of these processes. Searches come last, and one process a look at most is late."""
        own = [fact for fact in facts if fact.kind in ("training", "notebook") and fact.started_s is not None]
        alive = {fact.process for fact in own}
        self._runs = {process: run for process, run in self._runs.items() if process in alive}
        leading = leads(own)
        events: list[StepEvent] = []
        for fact in own:
            run = self._runs.setdefault(fact.process, _Run())
            now_s = self._clock.boot_s()
            if now_s >= until_boot_s:
                break
            if now_s - run.searched_s >= SEARCH_EVERY_S:
                run.searched_s = now_s
                self._search(fact, facts, fact.process in leading, run, until_boot_s)
            if now_s - run.looked_s >= LOOK_EVERY_S:
                run.looked_s = now_s
                for file in run.files.values():
                    events.extend(self._look(fact, file))
        return events

    def written(self, process: ProcessIdentity) -> list[Written]:
        """The logs that were found, the latest changed last."""
        run = self._runs.get(process)
        texts = [
            Written(where=own.where, ring=own.ring, skipped_bytes=own.skipped_bytes, changed_s=own.changed_s)
            for own in (run.files.values() if run else ())
            if own.text is not None and own.changed_s > 0
        ]
        return sorted(texts, key=lambda text: text.changed_s)

    def refusals(self) -> tuple[Refusal, ...]:
        """Files that were found and cannot be read."""
        refused = [
            Refusal(process=process, source=self.name, where=own.where, sentence=own.refused)
            for process, run in self._runs.items()
            for own in run.files.values()
            if own.refused
        ]
        return tuple(refused[:MAX_REFUSALS])

    def settings(self) -> dict[ProcessIdentity, tuple[Setting, ...]]:
        """What event files and run folders tell of how runs were set up."""
        found: dict[ProcessIdentity, tuple[Setting, ...]] = {}
        for process, run in self._runs.items():
            told = [s for own in run.files.values() if own.store is not None for s in own.store.settings()]
            if told or run.settings:
                found[process] = (*told, *run.settings)
        return found

    def allow(self, process: ProcessIdentity) -> None:
        """Needs no leave."""

    def _search(
        self, fact: ProcessFacts, facts: tuple[ProcessFacts, ...], lead: bool, run: _Run, until_boot_s: float
    ) -> None:
        """Take up files that are new; those that are followed stay while the process lives."""
        until_s = min(until_boot_s, self._clock.boot_s() + MAX_SECONDS)

        def late() -> bool:
            return self._clock.boot_s() >= until_s

        since_s = (fact.started_s or 0.0) - EARLY_S
        folders = [(folder.path, folder.why) for folder in output_folders(fact)] if lead else []
        if fact.cwd and lead:
            folders.append((fact.cwd, ""))
        known = {file for other in self._runs.values() for file in other.files}
        open_texts = {file.path for other in facts for file in other.open_files}
        rivals = rivals_of(fact, facts)
        readable = any(f.kind == "file" and f.role in ("stdout", "stderr", "log") for f in fact.open_files)
        for path, why in folders:
            seen = seen_path(fact, path)
            if seen is None or not os.path.isdir(seen):
                continue
            for found in find_files(seen, since_s, late):
                if found.file in known or (not found.is_store and (readable or _inside(fact, found) in open_texts)):
                    continue
                evidence = evidence_of(found, fact, rivals, why)
                if evidence is not None and self._has_room(run, found):
                    known.add(found.file)
                    run.files[found.file] = self._own(fact, found, evidence, seen)

    def _has_room(self, run: _Run, found: FoundFile) -> bool:
        if sum(len(other.files) for other in self._runs.values()) >= MAX_FILES:
            return False
        alike = [key for key, own in run.files.items() if _family(own.found.path) == _family(found.path)]
        if len(alike) >= (1 if found.path.endswith("trainer_state.json") else MAX_ALIKE):
            oldest = min(alike, key=lambda key: run.files[key].found.modified_s)
            if run.files[oldest].found.modified_s >= found.modified_s:
                return False
            del run.files[oldest]
        same = [own for own in run.files.values() if own.found.is_store == found.is_store]
        return len(same) < (MAX_STORES if found.is_store else MAX_TEXTS)

    @staticmethod
    def _own(fact: ProcessFacts, found: FoundFile, evidence: Evidence, base: str) -> _Own:
        inside = os.path.relpath(found.path, base)
        if inside.endswith("trainer_state.json"):
            inside = "trainer_state.json"  # of whichever checkpoint is the newest: one counter
        own = _Own(found, evidence, clean(f"{evidence.why} → {inside}", 300))
        if found.is_store:
            beside = companion_settings(found.path, fact.uid)
            own.store = StoreFollower(os.path.basename(found.path), plan=plan_of(beside), most_events=FIRST_EVENTS)
        else:
            own.text = Follower()
        return own

    def _look(self, fact: ProcessFacts, own: _Own) -> list[StepEvent]:
        try:
            descriptor = open_found(own.found.path, fact.uid)
        except (OSError, ValueError) as error:
            own.refused = clean(getattr(error, "strerror", None) or str(error) or "cannot be opened", 200)
            return []
        try:
            origin = Origin(fact.process, own.where, self._clock.wall_s())
            if own.store is not None:
                events, modified_s = self._from_store(own, own.store, descriptor, origin)
            else:
                events, modified_s = self._from_text(own, descriptor, origin)
            own.refused = ""
        except OSError as error:
            own.refused = clean(error.strerror or "cannot be read", 200)
            return []
        except Exception as error:  # a fault of ours in one file must not hide the others
            own.refused = f"it could not be understood ({type(error).__name__})"
            return []
        finally:
            os.close(descriptor)
        kept = [e for e in events if e.event_s is None or e.event_s >= (fact.started_s or 0.0) - EARLY_S]
        first, own.first = own.first, False
        kept = thin(kept, FIRST_EVENTS if first else LATER_EVENTS)
        sure = own.evidence.sure_ratio
        weighed = [msgspec.structs.replace(event, confidence=event.confidence * sure) for event in kept]
        return with_file_time(weighed, modified_s)

    @staticmethod
    def _from_store(own: _Own, store: StoreFollower, descriptor: int, origin: Origin) -> tuple[list[StepEvent], float]:
        polled = store.poll(descriptor, origin)
        own.skipped_bytes += polled.skipped_bytes
        return list(polled.events), polled.modified_s

    @staticmethod
    def _from_text(own: _Own, descriptor: int, origin: Origin) -> tuple[list[StepEvent], float]:
        polled = Follower.poll(own.text, descriptor) if own.text is not None else None
        if polled is None or not polled.grew:
            return [], 0.0
        if polled.restarted:
            own.reader = TextReader()
        own.skipped_bytes += polled.skipped_bytes
        own.changed_s = polled.modified_s
        for line in polled.head:
            own.reader.read(line, origin)
        events: list[StepEvent] = []
        for line in (*polled.lines, *polled.pending):
            own.ring.add(line)
            events.extend(own.reader.read(line, origin))
        return events, polled.modified_s


def _family(path: str) -> str:
    """What files of one kind have in common: the base name, or the folder of metrics."""
    if "/metrics/" in path and "." not in os.path.basename(path):
        return path.rpartition("/metrics/")[0]
    return os.path.basename(path)


def _inside(fact: ProcessFacts, found: FoundFile) -> str:
    """The path as the process itself sees it."""
    return found.path.removeprefix(f"/proc/{fact.process.pid}/root")
