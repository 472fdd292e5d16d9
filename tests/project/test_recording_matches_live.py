"""A recording replays to the same runs, figures and charts as were shown live."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from monitor.history.series import SeriesKey
from monitor.stream.agent_process import AgentProcess
from monitor.stream.recording import RecordingWriter, read_all
from monitor.types.messages import Message, Snapshot
from tui.view import View, ViewBuilder

TICKS = 6


class LiveScreen:
    """Does what the live screen does with each message, and records it at the same time."""

    def __init__(self, path: Path) -> None:
        self.builder = ViewBuilder()
        self.shown: list[View] = []
        self.enough = threading.Event()
        self._writer = RecordingWriter(str(path))

    def on_message(self, message: Message) -> None:
        if self.enough.is_set():
            return
        self.builder.update(message)
        self._writer.write(message)
        if isinstance(message, Snapshot):
            self.shown.append(self.builder.view())
            if len(self.shown) >= TICKS:
                self._writer.close()
                self.enough.set()


@pytest.mark.slow
def test_replay_shows_what_was_shown_live(tmp_path: Path) -> None:
    path = tmp_path / "session.traintop"
    live = LiveScreen(path)
    agent = AgentProcess(("--demo", "eight", "--interval", "0.5"))
    agent.spawn()
    try:
        agent.start(live.on_message, lambda _reason: None)
        assert live.enough.wait(30)
    finally:
        agent.close()

    builder = ViewBuilder()
    replayed: list[View] = []
    for message in read_all(str(path)):
        builder.update(message)
        if isinstance(message, Snapshot):
            replayed.append(builder.view())

    assert len(replayed) == TICKS
    for before, after in zip(live.shown, replayed, strict=True):
        assert after.snapshot == before.snapshot
        assert after.runs == before.runs
        assert after.assessments == before.assessments
        assert after.hello == before.hello
    last = replayed[-1]
    assert last.snapshot is not None
    assert any(run.step is not None for run in last.runs)
    for gpu in last.snapshot.gpus:
        key = SeriesKey(subject=f"gpu:{gpu.uuid}", field="power_w")
        assert builder.history.series(key, 60, 30) == live.builder.history.series(key, 60, 30)
