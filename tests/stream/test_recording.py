from __future__ import annotations

import gzip
import os
import stat
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from monitor.node import NodeState
from monitor.stream.codec import ForeignStreamError, encode
from monitor.stream.recording import REPEAT_S, RecordingError, RecordingWriter, open_recording, read_all
from monitor.types.facts import ProcessFacts
from monitor.types.messages import Facts, Hello, Message, Snapshot
from monitor.types.process import ProcessEnd
from tests.stream.invented import START_S, identity, stream, tick


def record(path: Path, messages: list[Message], keep_s: float | None = None) -> None:
    writer = RecordingWriter(str(path), keep_s=keep_s)
    for message in messages:
        writer.write(message)
    writer.close()


def test_what_is_recorded_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "run.traintop"
    record(path, stream(20))
    assert list(read_all(str(path))) == stream(20)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_bytes()[:2] == b"\x1f\x8b"


def test_a_recording_that_nobody_closed_holds_every_tick(tmp_path: Path) -> None:
    path = tmp_path / "killed"
    writer = RecordingWriter(str(path))
    messages = [message for message in stream(7) if not isinstance(message, (Hello,))][:-1]
    for message in (Hello(taken_s=1, boot_s=1), *messages):
        writer.write(message)
    ticks = [message.sequence for message in read_all(str(path)) if isinstance(message, Snapshot)]
    writer.close()
    assert ticks == [1, 2, 3, 4, 5, 6, 7]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    folder = tmp_path_factory.mktemp("prefix")
    record(folder / "whole", stream(30))
    return folder / "part", (folder / "whole").read_bytes()


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(share=st.floats(0, 1))
def test_any_prefix_of_a_recording_gives_a_prefix_of_its_messages(recorded: tuple[Path, bytes], share: float) -> None:
    path, raw = recorded
    length = round(share * len(raw))
    path.write_bytes(raw[:length])
    reader = open_recording(str(path))
    messages: list[Message] = []
    try:
        messages.extend(reader)
    except ForeignStreamError as error:
        assert not messages
        assert str(path) in str(error)  # noqa: PT017  either outcome is right, each has its own promise
        assert length < len(raw)
        return
    assert messages == stream(30)[: len(messages)]
    assert messages
    assert any("no proper end" in note for note in reader.notes) == (length < len(raw))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(position=st.floats(0.05, 0.99), value=st.integers(0, 255))
def test_a_damaged_recording_never_raises_anything_else(
    recorded: tuple[Path, bytes], position: float, value: int
) -> None:
    path, raw = recorded
    damaged = bytearray(raw)
    damaged[int(position * len(raw))] = value
    path.write_bytes(damaged)
    try:
        for _ in open_recording(str(path)):
            pass
    except ForeignStreamError as error:
        assert str(path) in str(error)  # noqa: PT017  either outcome is right


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\n",
        b"#!/bin/sh\n",
        gzip.compress(b""),
        gzip.compress(b"hello\n"),
        b"\x1f\x8b\x08junkjunkjunk",
        b"\x80\x04x",
    ],
)
def test_a_foreign_or_empty_file_is_one_sentence_that_names_it(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "foreign.bin"
    path.write_bytes(content)
    with pytest.raises(ForeignStreamError) as caught:
        list(read_all(str(path)))
    assert "foreign.bin" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_plain_stream_and_one_that_was_added_to_are_read_as_well(tmp_path: Path) -> None:
    path = tmp_path / "plain"
    path.write_bytes(b"".join(encode(message) for message in stream(3)))
    assert list(read_all(str(path))) == stream(3)
    path.write_bytes(b"".join(gzip.compress(encode(message)) for message in stream(3)))
    assert list(read_all(str(path))) == stream(3)


def test_a_file_that_unpacks_into_gigabytes_is_given_up_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    with path.open("wb") as file:
        file.write(packer.compress(encode(tick(1))))
        for _ in range(64):
            file.write(packer.compress(b" " * 4_000_000))
        file.write(packer.flush())
    with pytest.raises(ForeignStreamError, match="16 MiB"):
        list(read_all(str(path)))


def test_a_missing_file_a_folder_and_a_pipe_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, why in (("missing", "No such file"), (".", "regular"), ("pipe", "regular"), ("nul\x00", "null")):
        with pytest.raises(RecordingError, match=why):
            open_recording(f"{tmp_path}/{name}")


def test_an_existing_file_is_kept_unless_asked_and_a_link_is_not_followed(tmp_path: Path) -> None:
    path = tmp_path / "mine"
    path.write_text("precious")
    with pytest.raises(RecordingError, match="exists already"):
        RecordingWriter(str(path))
    assert path.read_text() == "precious"
    link = tmp_path / "link"
    link.symlink_to(path)
    with pytest.raises(RecordingError, match="exists already"):
        RecordingWriter(str(link), overwrite=True)
    assert path.read_text() == "precious"
    os.chmod(path, 0o644)
    writer = RecordingWriter(str(path), overwrite=True)
    writer.write(tick(1))
    writer.close()
    assert list(read_all(str(path))) == [tick(1)]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(RecordingError, match="cannot be created"):
        RecordingWriter(str(tmp_path / "no" / "folder"))


def test_a_full_disk_is_a_sentence() -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    writer = RecordingWriter.__new__(RecordingWriter)
    writer.path, writer.written_bytes = "/dev/full", 0
    writer._descriptor = os.open("/dev/full", os.O_WRONLY)
    with pytest.raises(RecordingError, match="/dev/full: cannot be written: No space left"):
        writer._append(b"x")
    os.close(writer._descriptor)


def test_greeting_and_facts_are_repeated_and_what_has_ended_is_not(tmp_path: Path) -> None:
    path = tmp_path / "long"
    first = stream(1)[:2]
    other = Facts(taken_s=START_S, boot_s=1000.0, processes=(ProcessFacts(process=identity(2)),))
    ended = Snapshot(taken_s=START_S + 10, boot_s=1010.0, ended=(ProcessEnd(process=identity(2), seen_s=START_S + 10),))
    ticks = [tick(number, boot_s=number * 60.0) for number in range(1, 15)]
    record(path, [*first, other, ended, *ticks])
    messages = list(read_all(str(path)))
    assert sum(isinstance(message, Hello) for message in messages) == 3
    repeats = [message for message in messages if isinstance(message, Facts)][2:]
    assert [[fact.process.pid for fact in facts.processes] for facts in repeats] == [[1], [1]]
    gap_s = messages[-1].boot_s - repeats[0].boot_s
    assert gap_s >= REPEAT_S
    # Repeating changes nothing for a reader that has seen all.
    state, plain = NodeState(), NodeState()
    for message in messages:
        state.update(message)
    for message in (*first, *ticks):
        plain.update(message)
    assert state.hello == plain.hello
    assert state.snapshot == plain.snapshot
    assert state.facts[identity(1)] == plain.facts[identity(1)]


def test_keeping_a_day_leaves_at_most_two(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    day_s = 86400.0
    record(path, [*stream(1)[:2], *(tick(n, boot_s=n * 3600.0) for n in range(24 * 5))], keep_s=day_s)
    assert sorted(os.listdir(tmp_path)) == ["kept", "kept.1"]
    kept = [list(read_all(str(path) + suffix)) for suffix in (".1", "")]
    for messages in kept:
        assert isinstance(messages[0], Hello), "each file can be read alone"
        assert isinstance(messages[1], Facts)
    ticks = [message.boot_s for messages in kept for message in messages if isinstance(message, Snapshot)]
    assert day_s <= ticks[-1] - ticks[0] <= 2 * day_s + 3600
    assert ticks == sorted(set(ticks)), "nothing is lost or doubled between the files"
    assert stat.S_IMODE((tmp_path / "kept").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"\x00\x01 no line end here", "not a traintop stream"),
        (gzip.compress(b"no line end here"), "not a traintop stream"),
        (b'{"type":"hello","taken_s":1', "no whole message"),
        (b'{"ty', "no whole message"),
        (b"", "no message in it"),
    ],
)
def test_without_a_whole_line_it_is_foreign_or_cut_off(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "short"
    path.write_bytes(content)
    with pytest.raises(ForeignStreamError, match=sentence):
        list(read_all(str(path)))
