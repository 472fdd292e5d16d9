"""What `traintop log` prints of invented logs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest

from monitor.clock import SystemClock
from monitor.steps.log_file import read_log
from tests.terminal.pty_session import ROOT
from tui.outputs.log import LogOutput, failed, log_output, log_text, log_view
from tui.outputs.output import encode
from tui.outputs.paint import plain
from tui.outputs.schemas import schema

HALF_WAY = "".join(
    f"\r 50%|#####     | {step}/200 [00:{step // 4:02d}<00:25,  4.00it/s, loss=0.5]" for step in range(4, 101, 4)
)


def output_of(text: str, folder: Path) -> LogOutput:
    path = folder / "train.log"
    path.write_text(text)
    facts = read_log((str(path),), SystemClock())[1]
    found = log_output(log_view(facts), facts)
    jsonschema.validate(json.loads(encode(found)), schema("log"))
    return found


def test_a_bar_gives_step_rate_and_time_left(tmp_path: Path) -> None:
    found = output_of(HALF_WAY, tmp_path)
    assert (found.step, found.total_steps, found.ended) == (100.0, 200.0, "running")
    assert found.step_seconds == pytest.approx(0.25, rel=0.1)
    assert found.remaining_seconds is not None
    assert found.remaining_seconds.low <= found.remaining_seconds.likely <= found.remaining_seconds.high
    assert 15 < found.remaining_seconds.likely < 40
    assert found.finish_at is not None


def test_a_finished_run_has_nothing_left(tmp_path: Path) -> None:
    lines = "".join(f"{{'loss': {1 / step:.4f}, 'epoch': {step / 10}}}\n" for step in range(1, 11))
    found = output_of(lines + "{'train_runtime': 20.0, 'train_loss': 0.3, 'epoch': 1.0}\n", tmp_path)
    assert found.ended == "finished"
    assert found.phase == "ended"
    assert found.remaining_seconds is not None
    assert (found.remaining_seconds.low, found.remaining_seconds.high) == (0.0, 0.0)


def test_a_log_without_a_step_says_so(tmp_path: Path) -> None:
    found = output_of("hello\nworld\n", tmp_path)
    assert (found.step, found.remaining_seconds) == (None, None)
    assert found.missing


def test_text_says_from_what_moment_the_time_left_counts(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(HALF_WAY)
    facts = read_log((str(path),), SystemClock())[1]
    view = log_view(facts)
    shown = plain(log_text(view, log_output(view, facts)))
    assert "100 / 200" in shown
    assert "8 of 10 times" in shown
    assert "last line" in shown


def test_a_failure_names_the_files() -> None:
    assert failed("No such file.", ("a", "b")).files == ("a", "b")


def test_several_logs_are_several_lines_unless_they_are_one_run(tmp_path: Path) -> None:
    first, second = tmp_path / "out.log", tmp_path / "err.log"
    first.write_text("no steps here\n")
    second.write_text(HALF_WAY)
    command = [sys.executable, str(ROOT / "traintop" / "__main__.py"), "log", str(first), str(second), "--json"]
    apart = subprocess.run(command, capture_output=True, check=False)
    assert [json.loads(row)["step"] for row in apart.stdout.splitlines()] == [None, 100.0]
    assert apart.returncode == 1
    together = subprocess.run([*command, "--together"], capture_output=True, check=False)
    assert [json.loads(row)["step"] for row in together.stdout.splitlines()] == [100.0]
    assert together.returncode == 0


def test_watching_tells_of_each_change_until_the_end(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("step 1/3 loss 2.0\n")
    command = [sys.executable, str(ROOT / "traintop" / "__main__.py"), "log", str(path), "--watch", "--json"]
    with subprocess.Popen([*command, "--interval", "0.25"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["step"] == 1.0
        with path.open("a") as file:
            file.write("step 2/3 loss 1.0\n")
        assert json.loads(process.stdout.readline())["step"] == 2.0
        with path.open("a") as file:
            file.write("{'train_runtime': 20.0, 'train_loss': 0.3, 'epoch': 1.0}\n")
            file.flush()
            os.fsync(file.fileno())
        until_s = time.monotonic() + 10
        assert json.loads(process.stdout.readline())["ended"] == "finished"
        assert process.wait(max(0.1, until_s - time.monotonic())) == 0
