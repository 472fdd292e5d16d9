"""`traintop run` as people use it: it becomes the command, and what the probe counts is what `attach` shows."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from monitor.probe.launch import inject_folder
from tests.programs.counted import times_s
from tests.terminal.pty_session import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the probe works on Linux alone")
MAIN = str(ROOT / "traintop" / "__main__.py")
PROGRAM = str(Path(__file__).parent / "train_optimizer.py")
NO_TORCH = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed here")
STEPS = 100


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    runtime = tmp_path / "runtime"
    runtime.mkdir(mode=0o700)
    changed = {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(runtime), "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": ""}
    return {**{k: v for k, v in os.environ.items() if k != "PYTHONPATH"}, **changed}


def traintop(*words: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, MAIN, *words], env=env, capture_output=True, text=True, timeout=60)


def test_it_becomes_the_command(home: dict[str, str]) -> None:
    program = "import os, sys; print(os.getpid(), os.environ['PYTHONPATH'], sys.argv); sys.exit(7)"
    argv = [sys.executable, MAIN, "run", "--", sys.executable, "-c", program, "--once", "--json", "--help", "-n"]
    child = subprocess.Popen(argv, env={**home, "PYTHONPATH": "/theirs:/more"}, stdout=subprocess.PIPE, text=True)
    told, _ = child.communicate(timeout=30)
    paths = f"{inject_folder()}:/theirs:/more"
    assert told.strip() == f"{child.pid} {paths} ['-c', '--once', '--json', '--help', '-n']"
    assert child.returncode == 7


def test_the_mark_names_a_folder_for_us_alone(home: dict[str, str]) -> None:
    found = traintop("run", "sh", "-c", "echo $TRAINTOP_PROBE $PYTHONPATH", env=home)
    folder = Path(home["XDG_RUNTIME_DIR"]) / "traintop"
    assert found.stdout.split() == [str(folder), inject_folder()]
    assert folder.stat().st_mode & 0o777 == 0o700


def test_what_python_ignores_is_not_ignored_in_the_command(home: dict[str, str]) -> None:
    found = traintop("run", "--", "cat", "/proc/self/status", env=home)
    ignored = next(int(line.split()[1], 16) for line in found.stdout.splitlines() if line.startswith("SigIgn"))
    assert not ignored & (1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGXFSZ - 1))


def test_what_cannot_be_started_is_said_in_one_sentence(home: dict[str, str], tmp_path: Path) -> None:
    found = traintop("run", "--", "no-such-\x1bcommand", "x", env=home)
    assert (found.returncode, found.stdout) == (127, "")
    assert found.stderr == "traintop: There is no command no-such-^[command.\n"
    plain = tmp_path / "plain.txt"
    plain.write_text("words")
    found = traintop("run", "--", str(plain), env=home)
    assert (found.returncode, found.stderr) == (126, f"traintop: {plain} may not be executed.\n")
    plain.chmod(0o700)
    found = traintop("run", "--", str(plain), env=home)
    assert (found.returncode, found.stderr.count("\n")) == (126, 1)
    plain.write_text("#!/no/such/shell\n")
    found = traintop("run", "--", str(plain), env=home)
    assert (found.returncode, found.stderr) == (127, f"traintop: The interpreter that {plain} names is not there.\n")
    assert traintop("run", env=home).returncode == 2


def test_a_deaf_interpreter_is_named_and_started(home: dict[str, str]) -> None:
    found = traintop("run", "--", sys.executable, "-Ic", "print(1)", env=home)
    assert (found.returncode, found.stdout) == (0, "1\n")
    assert found.stderr == "traintop: With -I Python does not load the probe; the run is started without it.\n"


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[bytes]]]:
    children: list[subprocess.Popen[bytes]] = []
    yield children
    for child in children:
        child.terminate()
    for child in children:
        child.wait(20)


def wait_for_steps(truth: Path, steps: int) -> None:
    deadline = time.monotonic() + 40
    while not truth.exists() or len(times_s(truth)) < steps:
        assert time.monotonic() < deadline, "the program has not made its steps"
        time.sleep(0.05)


def start(started: list[subprocess.Popen[bytes]], env: dict[str, str], *words: str) -> subprocess.Popen[bytes]:
    argv = [sys.executable, MAIN, "run", "--", sys.executable, *words]
    child = subprocess.Popen(argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    started.append(child)
    return child


@pytest.mark.slow
@NO_TORCH
def test_attach_shows_the_very_count(
    home: dict[str, str], tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    truth = tmp_path / "run.truth"
    child = start(started, home, PROGRAM, "--truth", str(truth), "--steps", str(STEPS))
    wait_for_steps(truth, STEPS)
    told = attached(child.pid, home)
    times = times_s(truth)
    assert (told["step"], told["unit"], told["error"]) == (STEPS, "optimizer_step", None)
    assert told["source"].startswith("probe")
    assert told["confidence"] == 0.99
    assert told["step_seconds"] == pytest.approx(mean(b - a for a, b in pairwise(times)), rel=0.1)
    assert [one["source"] for one in told["sources"] if one["used"]] == ["probe"]


@pytest.mark.slow
@NO_TORCH
def test_both_ranks_of_torchrun_are_counted(
    home: dict[str, str], tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    truth = tmp_path / "ranks.truth"
    ranks = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "--no-python")
    start(started, home, *ranks, sys.executable, PROGRAM, "--truth", str(truth), "--steps", "20")
    for rank in ("0", "1"):
        wait_for_steps(Path(f"{truth}.{rank}"), 20)
    files = list((Path(home["XDG_RUNTIME_DIR"]) / "traintop").iterdir())
    assert len(files) == 2, "the launcher and its helpers make no steps and so no files"
    told = attached(int(files[0].name.removeprefix("probe-")), home)
    assert told["step"] == 20
    assert {one["step"] for one in told["sources"] if one["source"] == "probe"} == {20}


@pytest.mark.slow
def test_a_run_that_steps_in_no_way_we_know_is_told_why(
    home: dict[str, str], tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    loop = str(ROOT / "tests" / "programs" / "train_loop.py")
    child = start(started, home, loop, "--truth", str(tmp_path / "mute.truth"), "--style", "mute")
    wait_for_steps(tmp_path / "mute.truth", 3)
    told = attached(child.pid, home, "--seconds", "1.5")
    assert told["step"] is None


def attached(pid: int, env: dict[str, str], *more: str) -> dict[str, Any]:
    found = traintop("attach", str(pid), "--json", *more, env=env)
    told: dict[str, Any] = json.loads(found.stdout)
    return told
