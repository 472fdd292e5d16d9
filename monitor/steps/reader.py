"""Reads the step counters of all watched processes, through every way in of the registry."""

from __future__ import annotations

import os
import threading

from monitor.clock import Clock
from monitor.sources import TailReading
from monitor.steps.registry import WAYS
from monitor.steps.source import Refusal
from monitor.types.documents import Setting
from monitor.types.facts import ProcessFacts
from monitor.types.identity import ProcessIdentity
from monitor.types.steps import StepEvent

TICK_S = 0.25
"""What one look may take in all; files that were not reached are first in the next."""
MAX_TAIL_BYTES = 65536


class StepReader:
    """Implements `monitor.sources.StepSource`. Own processes, as `facts` lists their files; never raises."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()  # a tail may be asked for from another thread than the one that reads
        self._ways = tuple(make(clock) for make in WAYS)

    def read(self, facts: tuple[ProcessFacts, ...]) -> tuple[StepEvent, ...]:
        """What is new in everything these processes write."""
        until_s = self._clock.boot_s() + TICK_S
        readable = tuple(fact for fact in facts if self._same_process(fact))
        events: list[StepEvent] = []
        with self._lock:
            for way in self._ways:
                events.extend(way.read(readable, until_s))
        return tuple(events)

    def tail(self, process: ProcessIdentity, max_bytes: int) -> TailReading:
        """The end of what a process wrote last, clean."""
        with self._lock:
            texts = [text for way in self._ways for text in way.written(process)]
            if not texts:
                return TailReading(refused=self._why_none(process))
            text = texts[-1]
            lines = text.ring.last(max(0, min(max_bytes, MAX_TAIL_BYTES)))
        return TailReading(path=text.where, lines=lines, skipped_bytes=text.skipped_bytes)

    def refusals(self) -> tuple[Refusal, ...]:
        """What could not be read in the latest look, and why."""
        with self._lock:
            return self._refused()

    def settings(self) -> dict[ProcessIdentity, tuple[Setting, ...]]:
        """What the ways learnt of how runs were set up, in the order of the ways."""
        with self._lock:
            found: dict[ProcessIdentity, tuple[Setting, ...]] = {}
            for way in self._ways:
                for process, settings in way.settings().items():
                    found[process] = found.get(process, ()) + settings
        return found

    def allow(self, process: ProcessIdentity, source: str) -> bool:
        """Take the user's leave for one way and one process; false where there is no such way that asks."""
        with self._lock:
            asked = [way for way in self._ways if way.asks_first and way.name == source]
            for way in asked:
                way.allow(process)
        return bool(asked)

    def ways(self) -> tuple[tuple[str, str, str], ...]:
        """Name, needs and cost of every way in."""
        return tuple((way.name, way.needs, way.cost) for way in self._ways)

    def _refused(self) -> tuple[Refusal, ...]:
        return tuple(refusal for way in self._ways for refusal in way.refusals())

    def _why_none(self, process: ProcessIdentity) -> str:
        for refusal in self._refused():
            if refusal.process == process:
                return f"{refusal.where}: {refusal.sentence}."
        return "This process writes to no file that can be read: a terminal, a pipe or another user's process."

    def _same_process(self, fact: ProcessFacts) -> bool:
        """Whether the pid still is the process of the facts; its descriptors are opened by pid."""
        if not any(file.kind in ("file", "deleted_file", "pipe") for file in fact.open_files):
            return True
        try:
            descriptor = os.open(f"/proc/{fact.process.pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            data = os.read(descriptor, 1024)
        except OSError:
            return False
        finally:
            os.close(descriptor)
        fields = data[data.rfind(b")") + 1 :].split()
        return len(fields) > 19 and fields[19] == str(fact.process.start_ticks).encode()
