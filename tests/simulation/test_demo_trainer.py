from __future__ import annotations

import ast
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from monitor.simulation.demo_run import FOLDER_PREFIX, LOCK_NAME, DemoTrainer, start_demo_trainer, sweep_leftovers
from monitor.simulation.trainer import Network

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 30.0


def until(true: Callable[[], bool], what: str) -> None:
    """Wait for something that must happen, on however slow a machine."""
    end_s = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end_s, f"waited in vain: {what}"
        time.sleep(0.02)


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Demos of others stay untouched."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def trainer() -> Iterator[DemoTrainer]:
    with start_demo_trainer(
        step_ms=2, max_steps=100_000, eval_steps=50, eval_seconds=0.1, save_steps=50, logging_steps=10
    ) as started:
        yield started


def losses(directory: str) -> list[float]:
    lines = Path(directory, "train.log").read_text().splitlines()
    return [ast.literal_eval(line)["loss"] for line in lines if line.startswith("{'loss'") and line.endswith("}")]


def checkpoints(directory: str) -> list[str]:
    return sorted(path.name for path in Path(directory, "out", "demo-mlp").glob("checkpoint-*"))


@pytest.mark.slow
def test_it_trains_for_real_and_leaves_nothing(trainer: DemoTrainer) -> None:
    until(lambda: len(losses(trainer.directory)) >= 30, "thirty lines of figures")
    values = losses(trainer.directory)
    assert sum(values[-5:]) < 0.8 * sum(values[:5])
    bars = Path(trainer.directory, "train.err").read_bytes().decode()
    assert re.search(r"\r +\d+%\|.{10}\| \d+/100000 \[\d+:\d+<[\d:]+, +[\d.]+it/s\]", bars)
    assert re.search(r"\rEvaluating: 100%\|█{10}\| 40/40 \[", bars)
    assert 1 <= len(checkpoints(trainer.directory)) <= 3
    assert Path(trainer.directory).stat().st_mode & 0o077 == 0
    trainer.stop()
    trainer.stop()
    assert trainer.process.returncode == 0
    assert not os.path.exists(trainer.directory)


@pytest.mark.slow
def test_only_the_newest_checkpoints_are_kept(trainer: DemoTrainer) -> None:
    until(lambda: "checkpoint-150" in checkpoints(trainer.directory), "the third checkpoint")
    until(lambda: "checkpoint-50" not in checkpoints(trainer.directory), "the first one removed")
    assert "checkpoint-150" in checkpoints(trainer.directory)


STARTER = """
import sys, tempfile, threading
sys.path.insert(0, sys.argv[1])
tempfile.tempdir = sys.argv[2]
from monitor.simulation.demo_run import start_demo_trainer
started = []
thread = threading.Thread(target=lambda: started.append(start_demo_trainer(step_ms=5)))
thread.start()
thread.join()
print(started[0].pid, started[0].directory, flush=True)
sys.stdin.read()
"""


def alive(pid: int) -> bool:
    """Whether it still runs; a dead one may wait for whoever inherited it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="reads /proc")
def test_it_dies_with_its_starter_outlives_the_starting_thread_and_is_swept(temporary: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STARTER, str(ROOT), str(temporary)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as starter:
        assert starter.stdout is not None
        pid_text, directory = starter.stdout.readline().decode().split()
        pid = int(pid_text)
        until(lambda: os.path.getsize(f"{directory}/train.err") > 0, "the first bar")
        assert alive(pid)
        sweep_leftovers()
        assert os.path.exists(directory), "a living demo must not be swept"
        starter.send_signal(signal.SIGKILL)
        starter.wait()
    until(lambda: not alive(pid), "the trainer's end")
    sweep_leftovers()
    assert not os.path.exists(directory)


def test_sweeping_touches_nothing_else(temporary: Path) -> None:
    left_over = temporary / f"{FOLDER_PREFIX}old"
    left_over.mkdir()
    (left_over / LOCK_NAME).touch()
    elsewhere = temporary / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / LOCK_NAME).touch()
    (temporary / f"{FOLDER_PREFIX}link").symlink_to(elsewhere)
    unmarked = temporary / f"{FOLDER_PREFIX}unmarked"
    unmarked.mkdir()
    sweep_leftovers()
    assert not left_over.exists()
    assert (elsewhere / LOCK_NAME).exists()
    assert unmarked.exists()


def test_a_failed_start_leaves_no_folder(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(temporary / "no-python"))
    with pytest.raises(FileNotFoundError):
        start_demo_trainer()
    assert list(temporary.iterdir()) == []


def test_the_network_learns() -> None:
    network = Network(seed=3)
    fresh = network.batch(200)
    before = network.loss(fresh)
    for _ in range(300):
        network.train(network.batch(16), 0.01)
    assert network.loss(fresh) < 0.7 * before
