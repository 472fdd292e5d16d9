"""The readers and the tracker of the agent over processes that a test started."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import structs

from monitor.clock import SystemClock
from monitor.processes.reader import ProcessReader
from monitor.runs.tracker import RunTracker
from monitor.steps.reader import StepReader
from monitor.types.messages import Facts, Hello, Snapshot
from monitor.types.run import Run


class Watch:
    """A stand-in for the agent: both readers, one after the other, as messages for one tracker."""

    def __init__(self, children: list[subprocess.Popen[bytes]]) -> None:
        self.children = children
        self.clock = SystemClock()
        self.processes = ProcessReader(self.clock, frozenset({os.getpid()}))
        self.steps = StepReader(self.clock)
        self.tracker = RunTracker()
        self.tracker.update(Hello(taken_s=self.clock.wall_s(), boot_s=self.clock.boot_s(), boot_id="here"))

    def tick(self) -> None:
        """One look."""
        for child in self.children:
            child.poll()  # as a shell does
        reading = self.processes.read(frozenset())
        events = self.steps.read(reading.facts)
        ended = tuple(structs.replace(end, tail=self.steps.tail(end.process, 16384).lines) for end in reading.ended)
        taken_s, boot_s = self.clock.wall_s(), self.clock.boot_s()
        self.tracker.update(Facts(taken_s=taken_s, boot_s=boot_s, processes=reading.facts))
        self.tracker.update(
            Snapshot(taken_s=taken_s, boot_s=boot_s, processes=reading.samples, steps=events, ended=ended)
        )

    def runs(self, of: Path) -> list[Run]:
        """The runs whose command names this folder."""
        return [run for run in self.tracker.runs() if str(of) in run.command]

    def until(self, holds: Callable[[list[Run]], bool], of: Path, limit_s: float = 20.0) -> list[Run]:
        """Look until something holds for those runs."""
        deadline = time.monotonic() + limit_s
        while True:
            self.tick()
            runs = self.runs(of)
            if holds(runs) or time.monotonic() > deadline:
                return runs
            time.sleep(0.1)


def start(started: list[subprocess.Popen[bytes]], log: Path, *argv: str) -> None:
    """Start a program that writes all it says into a file."""
    with log.open("wb") as out:
        started.append(
            subprocess.Popen(
                argv, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True
            )
        )
