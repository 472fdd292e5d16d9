"""The steps' side of the agent: new step events, last words of ended processes, and tails that were asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable

from monitor.agent.process_sampling import Ends
from monitor.newest import put_newest
from monitor.sources import StepSource, TailReading
from monitor.types.facts import ProcessFacts
from monitor.types.identity import ProcessIdentity
from monitor.types.requests import Tail
from monitor.types.steps import StepEvent

LAST_WORDS_LINES = 20
LAST_WORDS_BYTES = 2048
MAX_TAIL_BYTES = 64 * 1024
MAX_TAILS = 8
"""Processes whose text is followed at a time; a front end shows one. The oldest request goes first."""


def last_words(lines: tuple[str, ...]) -> tuple[str, ...]:
    """The last lines that count: at most twenty, at most 2 KiB together, blank ones at the end left out."""
    kept = list(lines)
    while kept and not kept[-1].strip():
        kept.pop()
    return fitted(tuple(kept[-LAST_WORDS_LINES:]), LAST_WORDS_BYTES)[0]


def fitted(lines: tuple[str, ...], max_bytes: int) -> tuple[tuple[str, ...], int]:
    """The last of these lines that fit into `max_bytes` of UTF-8 (a line end counts one), and the bytes left out."""
    left = max_bytes
    dropped = 0
    kept: list[str] = []
    for line in reversed(lines):
        raw = line.encode("utf-8", "replace")
        if dropped or len(raw) + 1 > left:
            if not kept and not dropped and left > 1:  # a single line longer than all: its end says most
                end = raw[len(raw) - (left - 1) :].decode("utf-8", "ignore")
                kept.append(end)
                dropped += len(raw) - len(end.encode())
                left = 0
                continue
            dropped += len(raw) + 1
            continue
        left -= len(raw) + 1
        kept.append(line)
    return tuple(reversed(kept)), dropped


class StepSampling:
    """Calls a `StepSource`, always from one thread, and keeps events until they are taken."""

    def __init__(self, steps: StepSource, latest_facts: Callable[[], tuple[ProcessFacts, ...]], ends: Ends) -> None:
        self._steps = steps
        self._latest_facts = latest_facts
        self._ends = ends
        self._lock = threading.Lock()
        self._events: list[StepEvent] = []
        self._asked: dict[ProcessIdentity, int] = {}
        self._tails: dict[ProcessIdentity, TailReading] = {}

    def ask(self, request: Tail) -> None:
        """Follow what a process writes, or stop following it when `max_bytes` is 0. From any thread."""
        with self._lock:
            if request.max_bytes > 0:
                put_newest(self._asked, request.process, min(request.max_bytes, MAX_TAIL_BYTES), MAX_TAILS)
            else:
                self._asked.pop(request.process, None)
            self._tails = {process: tail for process, tail in self._tails.items() if process in self._asked}

    def read(self) -> tuple[ProcessFacts, ...]:
        """One look at everything that is written; returns the facts it was made with.

        A process that has ended is looked at once more, for what it wrote between the last look and its end.
        """
        facts = self._latest_facts()
        ended = self._ends.unheard()
        farewell = tuple(last for _, last in ended if last is not None)
        before = {process: self._steps.tail(process, LAST_WORDS_BYTES).lines for process, _ in ended}
        events = self._steps.read(facts + farewell)
        with self._lock:
            self._events.extend(events)
            asked = tuple(self._asked.items())
        for process, _ in ended:
            # A source may have forgotten the process with its last look; then what it knew before that has to do.
            lines = self._steps.tail(process, LAST_WORDS_BYTES).lines or before[process]
            self._ends.hear(process, last_words(lines))
        for process, max_bytes in asked:
            tail = _bounded(self._steps.tail(process, max_bytes), max_bytes)
            with self._lock:
                if process in self._asked:
                    self._tails[process] = tail
        return facts

    def take_events(self) -> tuple[StepEvent, ...]:
        """Every event since the last call; each is handed out once."""
        with self._lock:
            events, self._events = tuple(self._events), []
        return events

    def tails(self) -> dict[ProcessIdentity, TailReading]:
        """The newest tail of each process that is followed."""
        with self._lock:
            return dict(self._tails)


def _bounded(tail: TailReading, max_bytes: int) -> TailReading:
    lines, dropped = fitted(tail.lines, max_bytes)
    if not dropped:
        return tail
    return TailReading(path=tail.path, lines=lines, skipped_bytes=tail.skipped_bytes + dropped, refused=tail.refused)
