"""Container names as a stand-in for `podman` on the search path gives them: asked beside, bounded, and cleaned."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from monitor.clock import SystemClock
from monitor.processes.names import Names

ID = "0123456789ab"


def _podman(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder / "podman"
    program.write_text(f'#!/bin/sh\necho "$@" >> "{folder}/asked"\n{script}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def _name(names: Names, container_id: str = ID) -> str | None:
    end = time.monotonic() + 10
    while (found := names.container("podman", container_id)) is None and time.monotonic() < end:
        time.sleep(0.01)
    return found


def test_the_name_comes_without_its_slash_and_clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _podman(tmp_path, r"printf '/bob-vit\033[2J\n'", monkeypatch)
    assert _name(Names(SystemClock())) == "bob-vit^[[2J"
    assert (tmp_path / "asked").read_text().split() == ["inspect", "--format", "{{.Name}}", ID]


@pytest.mark.parametrize("script", ["exit 1", "echo /name; exit 1", ":"])
def test_a_refusal_is_no_name(script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _podman(tmp_path, script, monkeypatch)
    names = Names(SystemClock())
    end = time.monotonic() + 10
    while not (tmp_path / "asked").exists() and time.monotonic() < end:
        assert names.container("podman", ID) is None
        time.sleep(0.01)
    assert (tmp_path / "asked").exists()
    assert names.container("podman", ID) is None


@pytest.mark.parametrize("container_id", ["", "--help", "0123456789ab; rm -rf x", "0123"])
def test_only_an_id_is_asked_for(container_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _podman(tmp_path, "echo /name", monkeypatch)
    names = Names(SystemClock())
    assert names.container("podman", container_id) is None
    assert _name(names) == "name"  # a later question has been answered, so the first would have been too
    assert (tmp_path / "asked").read_text() == f"inspect --format {{{{.Name}}}} {ID}\n"


def test_one_that_hangs_holds_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _podman(tmp_path, "exec sleep 5", monkeypatch)
    names = Names(SystemClock())
    before_s = time.thread_time()
    assert names.container("podman", ID) is None
    assert time.thread_time() - before_s < 0.5
