"""Whole logs, read at once. The texts are invented."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from monitor.clock import ManualClock
from monitor.steps import log_file
from monitor.steps.log_file import LogFacts, UnreadableLogError, read_log
from tests.steps.texts import bar

NOW_S = 1_800_000_000.0


def _read(*paths: Path) -> LogFacts:
    return read_log([str(path) for path in paths], ManualClock(NOW_S))[1]


def _write(path: Path, text: str | bytes, age_s: float = 5000) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    os.utime(path, (NOW_S - age_s, NOW_S - age_s))
    return path


def test_stdout_and_stderr_of_one_run_are_one_answer(tmp_path: Path) -> None:
    err = _write(tmp_path / "err.log", "".join(bar(n, 500, n * 2) for n in range(201)))
    out = _write(tmp_path / "out.log", "{'loss': '1.25', 'learning_rate': '0.1', 'epoch': '0.4'}\n")
    facts = _read(out, err)
    assert (facts.steps.step, facts.steps.total, facts.loss, facts.ended) == (200, 500, 1.25, "unknown")
    assert facts.steps.step_seconds == pytest.approx(2.0, rel=0.01)
    assert (facts.last_line_s, facts.last_line_clock) == (NOW_S - 5000, "file_time")
    assert any("modification time" in note for note in facts.notes)


def test_a_log_that_was_just_written_may_be_running(tmp_path: Path) -> None:
    assert _read(_write(tmp_path / "a.log", "step 1 loss 1\n", age_s=10)).ended == "running"


def test_all_steps_done_and_silent_is_finished(tmp_path: Path) -> None:
    facts = _read(_write(tmp_path / "a.log", "".join(f"step {n}/5 loss 1\n" for n in range(1, 6))))
    assert (facts.ended, facts.phase) == ("finished", "ended")


def test_the_clock_of_the_lines_dates_the_last_one(tmp_path: Path) -> None:
    facts = _read(_write(tmp_path / "a.log", "2026-02-03 04:05:06+00:00 step 1 loss 1\nstep 2 loss 1\n"))
    assert (facts.last_line_s, facts.last_line_clock) == (1770091506.0, "text")


def test_an_old_log_did_not_stall(tmp_path: Path) -> None:
    lines = (f"2026-02-03 04:05:{n:02d}+00:00 step {n}/900 loss 1\n" for n in range(40))
    assert _read(_write(tmp_path / "a.log", "".join(lines))).phase == "training"


def test_the_last_line_needs_no_end(tmp_path: Path) -> None:
    facts = _read(_write(tmp_path / "a.log", "step 1 loss 1\nstep 2 loss 1.5, time 3ms"))
    assert (facts.steps.step, facts.loss) == (2, 1.5)


def test_several_runs_in_one_file_are_cut_at_the_last(tmp_path: Path) -> None:
    first = "".join(f"step {n}/100 loss 9\n" for n in range(0, 60, 10))
    facts = _read(
        _write(
            tmp_path / "a.log",
            first + "Traceback (most recent call last):\n" + "step 0/100 loss 8\nstep 10/100 loss 7\n",
        )
    )
    assert (facts.steps.step, facts.steps.ended, facts.loss) == (10, None, 7.0)
    assert "fell from 50 to 0" in facts.notes[0]


def test_of_a_folder_the_log_that_trains_is_taken(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    _write(tmp_path / "notes.txt", "nothing here\n", age_s=1)
    _write(tmp_path / "run" / "train.log", "".join(f"step {n}/9 loss 1\n" for n in range(5)), age_s=99)
    (tmp_path / "loop.log").symlink_to("/dev/zero")
    facts = _read(tmp_path)
    assert [Path(path).name for path in facts.files] == ["train.log"]
    assert facts.steps.step == 4


def test_a_log_that_is_no_training_claims_nothing(tmp_path: Path) -> None:
    text = "".join(bar(n, 254, n / 10, "Loading weights") for n in range(255))
    facts = _read(_write(tmp_path / "eval.log", text))
    assert (facts.steps.step, facts.steps.phase) == (None, "preparing")


@pytest.mark.parametrize("name", ["absent.log", "empty-folder", "fifo"])
def test_what_cannot_be_read_is_one_sentence(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty-folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(UnreadableLogError, match=name):
        _read(tmp_path / name)
    with pytest.raises(UnreadableLogError):
        read_log(["a\0b"], ManualClock())
    with pytest.raises(UnreadableLogError, match="no log was named"):
        read_log([], ManualClock())


@pytest.mark.parametrize("data", [b"", b"\0" * 5000, b"\xff\xfe" * 50, b"\x1b" * 100, b"[" * 5000])
def test_odd_bytes_are_no_trouble(tmp_path: Path, data: bytes) -> None:
    assert _read(_write(tmp_path / "a.log", data)).steps.step is None


def test_of_a_huge_log_both_ends_are_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_file, "WHOLE_LINES", 50)
    monkeypatch.setattr(log_file, "MAX_LINES", 150)
    path = _write(tmp_path / "big.log", "".join(f"step {n} loss 1, dt: 5ms\n" for n in range(1000, 6000)))
    events, facts = read_log([str(path)], ManualClock(NOW_S))
    assert (facts.steps.step, len(events)) == (5999, 150)
    assert [event.step for event in events[:50]] == list(range(1000, 1050))
    assert facts.steps.step_seconds == pytest.approx(0.005)
