"""The reader over the real /proc of this machine and processes that are started here."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from monitor.clock import SystemClock
from monitor.processes.reader import ProcessReader
from monitor.sources import ProcessReading

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs Linux")

TRAIN = """
import multiprocessing, sys, time
def work():
    time.sleep(60)
if __name__ == "__main__":
    log = open("run.log", "w")
    for method in ("spawn", "fork"):
        multiprocessing.get_context(method).Process(target=work, daemon=True).start()
    print("ready", flush=True)
    until = time.time() + 60
    while time.time() < until:
        sum(range(10000))
"""
SLEEP = "import time\nprint('ready', flush=True)\ntime.sleep(60)\n"

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts scripts, waits until they run, and ends them with all their children."""
    started: list[subprocess.Popen[bytes]] = []

    def begin(name: str, code: str, *arguments: str, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        (tmp_path / name).write_text(code)
        with open(tmp_path / "out.txt", "wb") as out:
            process = subprocess.Popen(
                [sys.executable, name, *arguments],
                cwd=tmp_path,
                stdout=out,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                env={**os.environ, **(env or {})},
            )
        started.append(process)
        until = time.monotonic() + 20
        while b"ready" not in (tmp_path / "out.txt").read_bytes() and time.monotonic() < until:
            time.sleep(0.02)
        return process

    yield begin
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_a_real_training_and_its_workers(start: Start, tmp_path: Path) -> None:
    process = start(
        "train.py", TRAIN, "--lr", "1e-4", "--hub_token", "hunter2", env={"RANK": "0", "SECRET_X": "hunter2"}
    )
    source = ProcessReader(SystemClock())
    reading = source.read(frozenset())
    family = {one.process.pid: one for one in reading.facts if one.cwd == str(tmp_path.resolve())}
    facts = family[process.pid]
    assert (facts.kind, facts.mine) == ("training", True)
    assert facts.argv[1:] == ("train.py", "--lr", "1e-4", "--hub_token", "***")
    assert ("RANK", "0") in [(one.name, one.value) for one in facts.environment]
    assert "hunter2" not in repr(reading)
    assert {(one.role, os.path.basename(one.path)) for one in facts.open_files if one.kind == "file"} == {
        ("stdout", "out.txt"),
        ("log", "run.log"),
    }
    assert ("stderr", "null") in [(one.role, one.kind) for one in facts.open_files]
    workers = [one.process.pid for one in family.values() if one.kind == "worker"]
    assert len(workers) >= 2
    assert set(facts.children) == set(workers)
    assert facts.started_s == pytest.approx(time.time(), abs=30)
    time.sleep(0.15)
    sample = next(one for one in source.read(frozenset()).samples if one.process == facts.process)
    assert sample.cpu_ratio is not None
    assert sample.cpu_ratio > 0.05
    assert sample.rss_bytes is not None
    assert sample.rss_bytes > 1_000_000


def test_its_end_is_told(start: Start) -> None:
    process = start("train.py", SLEEP)
    source = ProcessReader(SystemClock())
    identity = next(one.process for one in source.read(frozenset()).samples if one.process.pid == process.pid)
    process.kill()
    until = time.monotonic() + 5
    while (state := _state(source.read(frozenset()), process.pid)) != "Z" and time.monotonic() < until:
        time.sleep(0.02)
    assert state == "Z", "a zombie is still there, and said to be one"
    process.wait()
    assert identity in [end.process for end in source.read(frozenset()).ended]


def test_a_notebook_kernel(start: Start) -> None:
    process = start("ipykernel_launcher.py", SLEEP, "-f", "kernel.json", env={"JPY_SESSION_NAME": "study.ipynb"})
    facts = next(one for one in ProcessReader(SystemClock()).read(frozenset()).facts if one.process.pid == process.pid)
    assert facts.kind == "notebook"
    assert ("JPY_SESSION_NAME", "study.ipynb") in [(one.name, one.value) for one in facts.environment]


def test_an_idle_script_of_any_name_is_none(start: Start) -> None:
    process = start("main.py", SLEEP)
    assert _state(ProcessReader(SystemClock()).read(frozenset()), process.pid) == ""


def test_own_pids_are_left_out(start: Start) -> None:
    process = start("train.py", SLEEP)
    source = ProcessReader(SystemClock(), frozenset({process.pid}))
    assert _state(source.read(frozenset({process.pid})), process.pid) == ""


def test_a_torch_process_with_a_generic_name(start: Start) -> None:
    pytest.importorskip("torch")
    code = "import torch\nprint('ready', flush=True)\nx = torch.ones(64, 64)\nwhile True:\n    x @ x\n"
    process = start("main.py", code, env={"OMP_NUM_THREADS": "1"})
    source = ProcessReader(SystemClock())
    table = source._table
    entry = table.look(process.pid)
    assert entry is not None
    entry.look_at_ticks = 0
    assert table._libraries(process.pid)[0] == "libtorch"


def _state(reading: ProcessReading, pid: int) -> str:
    return next((one.state for one in reading.samples if one.process.pid == pid), "")
