"""Real processes on this machine, read by the real readers and followed by the tracker."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec import structs

from monitor.clock import SystemClock
from monitor.processes.reader import ProcessReader
from monitor.runs.tracker import RunTracker
from monitor.steps.reader import StepReader
from monitor.types.messages import Facts, Hello, Snapshot
from monitor.types.run import Run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc is needed")

SCRIPT = """
import sys, time
total = int(sys.argv[sys.argv.index("--max_steps") + 1])
for step in range(1, total + 1):
    time.sleep(0.02)
    print(f"step {step}/{total} loss {2.0 / step:.4f}", flush=True)
print("Training completed.", flush=True)
"""


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

    def until(self, holds: Callable[[list[Run]], bool], of: Path, limit_s: float = 20.0) -> list[Run]:
        """Look until something holds for the runs whose command names this folder."""
        deadline = time.monotonic() + limit_s
        while True:
            self.tick()
            runs = [run for run in self.tracker.runs() if str(of) in run.command]
            if holds(runs) or time.monotonic() > deadline:
                return runs
            time.sleep(0.1)


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[bytes]]]:
    processes: list[subprocess.Popen[bytes]] = []
    yield processes
    for process in processes:
        if process.poll() is None:
            process.terminate()  # a launcher ends its ranks, which have sessions of their own
        process.wait(10)


def start(started: list[subprocess.Popen[bytes]], log: Path, *argv: str) -> None:
    with log.open("wb") as out:
        started.append(
            subprocess.Popen(
                argv, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True
            )
        )


def _finished(run: Run) -> bool:
    return run.ended is not None and run.ended.how == "finished"


def test_a_real_sweep_is_named_read_and_seen_to_end(tmp_path: Path, started: list[subprocess.Popen[bytes]]) -> None:
    script = tmp_path / "train_tiny.py"
    script.write_text(SCRIPT)
    for rate, steps in (("3e-4", "100000"), ("1e-4", "60")):
        start(started, tmp_path / f"{rate}.log", sys.executable, str(script), "--lr", rate, "--max_steps", steps)
    watch = Watch(started)
    runs = watch.until(lambda seen: len(seen) == 2 and all(run.step is not None for run in seen), tmp_path)
    assert {run.name for run in runs} == {"lr=3e-4 max_steps=100000", "lr=1e-4 max_steps=60"}
    assert {run.group_name for run in runs} == {"sweep train_tiny.py …(2)"}
    ids = {run.name: run.run_id for run in runs}

    runs = watch.until(lambda seen: any(_finished(run) for run in seen), tmp_path, 8.0)
    ended = next(run for run in runs if run.ended is not None)
    assert ended.ended is not None
    assert (ended.ended.how, ended.step, ended.total) == ("finished", 60, 60)
    assert ended.run_id == ids["lr=1e-4 max_steps=60"]
    lives = next(run for run in runs if run.ended is None)
    assert lives.phase == "training"
    assert lives.step is not None
    assert lives.step > 10


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torchrun comes with torch")
def test_real_torchrun_with_two_ranks_is_one_run(tmp_path: Path, started: list[subprocess.Popen[bytes]]) -> None:
    script = tmp_path / "train_ranks.py"
    script.write_text(SCRIPT)
    launch = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2")
    start(started, tmp_path / "train.log", *launch, str(script), "--max_steps", "100000")
    watch = Watch(started)
    (run,) = watch.until(
        lambda seen: len(seen) == 1 and len(seen[0].members) == 3 and seen[0].step is not None, tmp_path, 40.0
    )
    assert sorted((member.role, member.rank) for member in run.members if member.role == "trainer") == [
        ("trainer", 0),
        ("trainer", 1),
    ]
    assert [member.role for member in run.members].count("launcher") == 1
    assert run.step is not None
    started[0].terminate()
    (run,) = watch.until(lambda seen: seen[0].ended is not None, tmp_path)
    assert run.ended is not None
