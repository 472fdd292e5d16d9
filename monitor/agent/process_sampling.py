"""The processes' side of the agent: one look, the pairing of the driver's pids, and ends that wait for last words."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from monitor.clock import Clock
from monitor.sources import ProcessReading, ProcessSource
from monitor.types.facts import ProcessFacts
from monitor.types.gpu import GpuSample
from monitor.types.identity import ProcessIdentity
from monitor.types.process import Pairing, ProcessEnd

TAIL_PATIENCE_S = 1.0
"""How long an end waits for the tail of what the process wrote before it is sent without."""


@dataclass(frozen=True)
class ProcessesSeen:
    """One look at the processes and whom the driver's pids belong to."""

    reading: ProcessReading
    pairings: tuple[Pairing, ...] = ()


class ProcessSampling:
    """Calls a `ProcessSource` with the pids of the GPUs' latest reading."""

    def __init__(self, processes: ProcessSource, latest_gpus: Callable[[], tuple[GpuSample, ...]], ends: Ends) -> None:
        self._processes = processes
        self._latest_gpus = latest_gpus
        self._ends = ends
        self._facts: dict[ProcessIdentity, ProcessFacts] = {}

    def read(self) -> ProcessesSeen:
        """One look. Processes that ended are handed to `Ends` with their last facts."""
        gpus = self._latest_gpus()
        reading = self._processes.read(frozenset(process.pid for gpu in gpus for process in gpu.processes))
        for end in reading.ended:
            self._ends.add(end, self._facts.get(end.process))
        self._facts = {fact.process: fact for fact in reading.facts}
        return ProcessesSeen(reading, self._processes.pair(gpus) if gpus else ())


@dataclass
class _WaitingEnd:
    end: ProcessEnd
    facts: ProcessFacts | None
    since_s: float
    heard: bool = False


class Ends:
    """Ends of processes between the thread that saw them and the thread that reads what they wrote last."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting: list[_WaitingEnd] = []

    def add(self, end: ProcessEnd, facts: ProcessFacts | None) -> None:
        """A process has ended; `facts` are its last ones."""
        with self._lock:
            self._waiting.append(_WaitingEnd(end, facts, self._clock.boot_s()))

    def unheard(self) -> tuple[tuple[ProcessIdentity, ProcessFacts | None], ...]:
        """Those whose last words are still to be read."""
        with self._lock:
            return tuple((waiting.end.process, waiting.facts) for waiting in self._waiting if not waiting.heard)

    def hear(self, process: ProcessIdentity, tail: tuple[str, ...]) -> None:
        """The last words of one of them; empty when there are none to be had."""
        with self._lock:
            for waiting in self._waiting:
                if waiting.end.process == process and not waiting.heard:
                    waiting.end = msgspec.structs.replace(waiting.end, tail=tail or waiting.end.tail)
                    waiting.heard = True

    def take(self) -> tuple[ProcessEnd, ...]:
        """Those that were heard or have waited long enough; each is handed out once."""
        now_s = self._clock.boot_s()
        with self._lock:
            if not self._waiting:
                return ()
            done: list[_WaitingEnd] = []
            kept: list[_WaitingEnd] = []
            for each in self._waiting:
                waited = now_s - each.since_s >= TAIL_PATIENCE_S
                (done if each.heard or waited else kept).append(each)
            self._waiting = kept
        return tuple(each.end for each in done)
