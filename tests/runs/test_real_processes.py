"""Real processes on this machine, read by the real readers and followed by the tracker."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from monitor.types.run import Run
from tests.programs.watch import Watch, start

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc is needed")

SCRIPT = """
import sys, time
total = int(sys.argv[sys.argv.index("--max_steps") + 1])
for step in range(1, total + 1):
    time.sleep(0.02)
    print(f"step {step}/{total} loss {2.0 / step:.4f}", flush=True)
print("Training completed.", flush=True)
"""


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[bytes]]]:
    processes: list[subprocess.Popen[bytes]] = []
    yield processes
    for process in processes:
        if process.poll() is None:
            process.terminate()  # a launcher ends its ranks, which have sessions of their own
        process.wait(10)


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
