from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from monitor.clock import ManualClock
from monitor.stream.codec import encode
from monitor.stream.recording import RecordingError, RecordingWriter
from monitor.stream.replay import MAX_WAIT_S, NOT_RECORDED, Pace, ReplaySource
from monitor.types.messages import Hello, Message, Snapshot, Text
from monitor.types.requests import Stop, Tail
from tests.stream.invented import identity, stream, tick


@pytest.fixture
def recording(tmp_path: Path) -> str:
    path = str(tmp_path / "run.traintop")
    writer = RecordingWriter(path)
    for message in stream(20):
        writer.write(message)
    writer.close()
    return path


class Listener:
    """Collects what a source says, with the clock's time of each message."""

    def __init__(self, clock: ManualClock | None = None) -> None:
        self.messages: list[Message] = []
        self.times_s: list[float] = []
        self.reasons: list[str] = []
        self.ended = threading.Event()
        self.clock = clock or ManualClock()

    def on_message(self, message: Message) -> None:
        self.messages.append(message)
        self.times_s.append(self.clock.boot_s())

    def on_end(self, reason: str) -> None:
        self.reasons.append(reason)
        self.ended.set()


def played(path: str, speed: float = 1.0, setup: Callable[[ReplaySource], None] = lambda _source: None) -> Listener:
    """Play to the end on a clock that each sleep moves on."""
    clock = ManualClock()
    listener = Listener(clock)
    source = ReplaySource(path, speed, clock=clock, sleep=clock.advance)
    setup(source)
    source.start(listener.on_message, listener.on_end)
    assert listener.ended.wait(10)
    return listener


def test_a_replay_gives_the_messages_that_were_recorded_in_their_own_time(recording: str) -> None:
    listener = played(recording)
    assert listener.messages == stream(20)
    assert listener.reasons == [""]
    begun_s = listener.times_s[0]
    for message, at_s in zip(listener.messages, listener.times_s, strict=True):
        assert at_s - begun_s == pytest.approx(message.boot_s - 1000.0)


@pytest.mark.parametrize("speed", [0.5, 4.0, 100.0])
def test_a_faster_replay_is_the_same_in_less_time(recording: str, speed: float) -> None:
    listener = played(recording, speed)
    assert listener.messages == stream(20)
    assert listener.times_s[-1] - listener.times_s[0] == pytest.approx(20 / speed)


def test_a_pause_stands_still_and_then_goes_on_where_it_was(recording: str) -> None:
    listener = Listener()
    source = ReplaySource(recording, 1000.0)
    source.pause()
    source.start(listener.on_message, listener.on_end)
    assert not listener.ended.wait(0.05)
    assert listener.messages == []
    assert source.paused
    source.resume()
    assert listener.ended.wait(10)
    assert listener.messages == stream(20)


def test_the_speed_can_be_changed_while_it_waits(tmp_path: Path) -> None:
    path = tmp_path / "gap"
    path.write_bytes(b"".join(encode(message) for message in (tick(1), tick(2, boot_s=500.0))))
    listener = Listener()
    source = ReplaySource(str(path))
    source.start(listener.on_message, listener.on_end)
    assert not listener.ended.wait(0.05)
    source.set_speed(1e9)
    assert source.speed == 1000.0
    assert listener.ended.wait(5)
    assert len(listener.messages) == 2


def test_closing_during_a_wait_ends_it_without_another_word(tmp_path: Path) -> None:
    path = tmp_path / "gap"
    path.write_bytes(b"".join(encode(message) for message in (tick(1), tick(2, boot_s=5000.0))))
    listener = Listener()
    source = ReplaySource(str(path))
    source.start(listener.on_message, listener.on_end)
    while not listener.messages:
        time.sleep(0.002)
    begun_s = time.monotonic()
    source.close()
    assert time.monotonic() - begun_s < 0.5
    assert not listener.ended.wait(0.05)
    assert len(listener.messages) == 1


def test_text_is_given_as_recorded_and_else_refused(recording: str) -> None:
    listener = Listener()
    source = ReplaySource(recording, 1000.0)
    source.start(listener.on_message, listener.on_end)
    assert listener.ended.wait(10)
    count = len(listener.messages)
    source.send(Tail(process=identity(1)))
    source.send(Tail(process=identity(99)))
    source.send(Tail(process=identity(99), max_bytes=0))
    source.send(Stop())
    known, refused = listener.messages[count:]
    assert isinstance(known, Text)
    assert known.lines == ("step 17",)
    assert isinstance(refused, Text)
    assert refused.refused == NOT_RECORDED
    assert refused.boot_s == 1020.0


def test_a_cut_recording_ends_with_a_note_and_a_foreign_one_with_status_2(recording: str, tmp_path: Path) -> None:
    raw = Path(recording).read_bytes()
    cut = tmp_path / "cut"
    cut.write_bytes(raw[: len(raw) * 2 // 3])
    listener = played(str(cut), 1000.0)
    assert listener.messages == stream(20)[: len(listener.messages)]
    assert "no proper end" in listener.reasons[0]

    foreign = tmp_path / "foreign"
    foreign.write_text("step 1 loss 0.5\n")
    sources: list[ReplaySource] = []
    listener = played(str(foreign), setup=sources.append)
    assert listener.messages == []
    assert listener.reasons == [f"{foreign}: This is not a traintop stream or recording: its first line is no message."]
    assert sources[0].exit_status == 2
    with pytest.raises(RecordingError, match="missing"):
        ReplaySource(str(tmp_path / "missing"))


def test_another_major_version_ends_with_status_2(tmp_path: Path) -> None:
    path = tmp_path / "newer"
    path.write_bytes(encode(Hello(taken_s=1, boot_s=1, protocol_major=7)))
    sources: list[ReplaySource] = []
    listener = played(str(path), setup=sources.append)
    assert "protocol 7" in listener.reasons[0]
    assert sources[0].exit_status == 2


def test_standard_input_is_played_as_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    monkeypatch.setattr(os, "dup", lambda _descriptor: reading)
    listener = Listener()
    source = ReplaySource("-")
    source.start(listener.on_message, listener.on_end)
    for byte in encode(tick(1)):
        os.write(writing, bytes([byte]))
    os.write(writing, encode(tick(1)))
    os.close(writing)
    assert listener.ended.wait(5)
    assert [type(message) for message in listener.messages] == [Snapshot, Snapshot]
    assert listener.reasons == [""]


def test_a_viewer_that_fell_behind_goes_on_from_now() -> None:
    pace = Pace(1.0)
    pace.approach(1000.0, 50.0)
    pace.approach(1001.0, 50.4)
    assert pace.remaining_s(50.4) == pytest.approx(0.6), "a little lateness is made up for"
    pace.approach(1002.0, 90.0)
    assert pace.remaining_s(90.0) == pytest.approx(1.0), "a long one is not"
    pace.approach(3.0, 91.0)
    assert pace.remaining_s(91.0) == pytest.approx(0.0), "another boot takes no time"


@pytest.mark.parametrize("gap_s", [8 * 3600.0, 1e300])
def test_a_night_in_which_nothing_was_recorded_is_skipped(gap_s: float) -> None:
    pace = Pace(1.0)
    pace.approach(100.0, 5.0)
    pace.approach(100.0 + gap_s, 5.0)
    assert pace.remaining_s(5.0) == MAX_WAIT_S
    pace.approach(101.0 + gap_s, 5.0 + MAX_WAIT_S)
    assert pace.remaining_s(5.0 + MAX_WAIT_S) <= 1.0
