from __future__ import annotations

import os
import stat
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from monitor.clock import ManualClock
from monitor.store.record_file import MAX_BYTES, state_folder
from monitor.store.state import StateStore
from monitor.store.stored import (
    MAX_PAST_RUNS,
    LastSeen,
    PastRun,
    Snooze,
    StoredState,
    with_last_seen,
    with_run,
)
from monitor.types.record import Range

CLOCK = ManualClock(wall_s=2000.0)


def store(folder: Path) -> StateStore:
    return StateStore(str(folder / "traintop"), CLOCK)


FULL = StoredState(
    saved_s=2000.0,
    last_seen=(LastSeen(uuid="GPU-a", seen_s=1900.0, boot_id="b", energy_j=5.5, throttle_s=(("power_cap", 3.5),)),),
    past_runs=(
        PastRun(
            run_id="r1", name="llama-sft", ended_s=1800.0, predicted_remaining_s=Range(low=1.0, likely=2.0, high=3.0)
        ),
    ),
    snoozes=(Snooze(rule="power", subject="", until_s=3000.0),),
)


def test_what_was_saved_is_loaded_and_is_private(tmp_path: Path) -> None:
    assert store(tmp_path).save(FULL)
    opened = store(tmp_path)
    assert opened.load() == FULL
    assert opened.note == ""
    assert stat.S_IMODE((tmp_path / "traintop").stat().st_mode) == 0o700
    assert stat.S_IMODE(Path(opened.path).stat().st_mode) == 0o600
    assert os.listdir(tmp_path / "traintop") == ["state.json"], "no temporary file is left"


def test_nothing_was_ever_saved(tmp_path: Path) -> None:
    opened = store(tmp_path)
    assert opened.load() == StoredState()
    assert opened.note == ""


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[1, 2]", b"\xff\xfe", b'{"last_seen": [{"uuid": 5}]}', b'{"version": 9}', b"[" * 100_000]
)
def test_a_broken_file_is_set_aside_and_told(tmp_path: Path, content: bytes) -> None:
    assert store(tmp_path).save(FULL)
    opened = store(tmp_path)
    Path(opened.path).write_bytes(content)
    assert opened.load() == StoredState()
    assert "state.json" in opened.note
    assert "set aside" in opened.note
    assert Path(opened.path + ".broken").read_bytes() == content
    assert opened.save(FULL)
    assert store(tmp_path).load() == FULL


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_any_bytes_are_an_empty_state_or_a_state(tmp_path: Path, content: bytes) -> None:
    opened = store(tmp_path)
    assert opened.save(StoredState())
    Path(opened.path).write_bytes(content)
    assert isinstance(opened.load(), StoredState)


def test_a_folder_that_others_may_write_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "traintop"
    folder.mkdir()
    folder.chmod(0o777)
    opened = store(tmp_path)
    assert opened.load() == StoredState()
    assert "can be written by other users" in opened.note
    assert opened.save(FULL) is False
    assert os.listdir(folder) == []


def test_a_folder_or_file_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert store(tmp_path).save(FULL)
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000)
    opened = store(tmp_path)
    assert opened.load() == StoredState()
    assert "belongs to another user" in opened.note


def test_links_pipes_and_giants_are_not_read(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (tmp_path / "traintop").symlink_to(elsewhere)
    opened = store(tmp_path)
    assert opened.load() == StoredState()
    assert "not a folder of ours" in opened.note
    for make in (_link, _pipe, _giant):
        folder = tmp_path / make.__name__
        folder.mkdir()
        assert store(folder).save(FULL)
        path = store(folder).path
        os.unlink(path)
        make(path)
        opened = store(folder)
        assert opened.load() == StoredState()
        assert opened.note
        assert os.path.lexists(path), "what is not ours is left alone"


def _link(path: str) -> None:
    os.symlink("/etc/passwd", path)


def _pipe(path: str) -> None:
    os.mkfifo(path)


def _giant(path: str) -> None:
    with open(path, "wb") as file:
        file.truncate(MAX_BYTES + 10)
    os.chmod(path, 0o600)


def test_a_home_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    opened = StateStore(str(tmp_path / "file" / "state" / "traintop"), CLOCK)
    assert opened.load() == StoredState()
    assert "nothing is remembered" in opened.note
    assert opened.save(FULL) is False


def test_the_ledger_stays_bounded_and_snoozes_run_out(tmp_path: Path) -> None:
    state = StoredState(
        snoozes=(Snooze(rule="a", subject="", until_s=1999.0), Snooze(rule="b", subject="", until_s=2001))
    )
    runs = tuple(PastRun(run_id=str(n), name="x" * 5000, ended_s=float(n)) for n in range(MAX_PAST_RUNS + 50))
    state = msgspec.structs.replace(state, past_runs=runs)
    opened = store(tmp_path)
    assert opened.save(state)
    loaded = opened.load()
    assert len(loaded.past_runs) == MAX_PAST_RUNS
    assert loaded.past_runs[-1].run_id == str(MAX_PAST_RUNS + 49)
    assert [snooze.rule for snooze in loaded.snoozes] == ["b"]
    assert os.path.getsize(opened.path) < MAX_BYTES


def test_a_run_told_twice_is_kept_once_and_absent_gpus_are_remembered() -> None:
    state = with_run(StoredState(), PastRun(run_id="a", name="n", ended_s=1.0))
    state = with_run(state, PastRun(run_id="a", name="n", ended_s=2.0, how="finished"))
    assert [(run.run_id, run.how) for run in state.past_runs] == [("a", "finished")]
    state = with_last_seen(state, (LastSeen(uuid="A", seen_s=1.0), LastSeen(uuid="B", seen_s=1.0)))
    state = with_last_seen(state, (LastSeen(uuid="B", seen_s=5.0),))
    assert {gpu.uuid: gpu.seen_s for gpu in state.last_seen} == {"A": 1.0, "B": 5.0}


def test_the_folder_follows_the_xdg_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert state_folder({"XDG_STATE_HOME": "/state"}) == "/state/traintop"
    for value in ("", "relative/path"):
        assert state_folder({"XDG_STATE_HOME": value}) == "/home/me/.local/state/traintop"
