from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable

import msgspec
import pytest

from monitor.agent.outbox import MAX_STEPS, PIPE_BYTES, Outbox, descriptor_writer, encoded, merged, widen_pipe
from monitor.stream.codec import MessageDecoder
from monitor.types.facts import ProcessFacts
from monitor.types.messages import Bye, Facts, Fault, Hello, Message, Snapshot, Text
from monitor.types.process import HostSample, Pressure, ProcessEnd
from monitor.types.steps import StepEvent
from tests.agent.fake_sources import event, identity


def snapshot(sequence: int, steps: tuple[StepEvent, ...] = (), ended: tuple[ProcessEnd, ...] = ()) -> Snapshot:
    return Snapshot(taken_s=float(sequence), boot_s=float(sequence), sequence=sequence, steps=steps, ended=ended)


class Stalled:
    """A reader that stands still until it is let go."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.stalled = threading.Event()
        self.decoder = MessageDecoder()
        self.messages: list[Message] = []

    def write(self, data: bytes) -> None:
        self.stalled.set()
        assert self.gate.wait(10)
        self.messages.extend(self.decoder.feed(data))


@pytest.fixture
def stalled() -> Stalled:
    return Stalled()


@pytest.fixture
def outbox(stalled: Stalled) -> Outbox:
    """An outbox whose writer already stands before a stalled reader with the greeting."""
    box = Outbox(stalled.write)
    box.start()
    box.put(Hello(taken_s=0, boot_s=0))
    assert stalled.stalled.wait(5)
    return box


def test_a_stalled_reader_gets_the_newest_snapshot_with_every_event(stalled: Stalled, outbox: Outbox) -> None:
    for number in range(1, 51):
        ended = (ProcessEnd(process=identity(number), seen_s=1.0),) if number % 10 == 0 else ()
        outbox.put(snapshot(number, (event(1, number),), ended))
    stalled.gate.set()
    assert outbox.close(5)
    got = [message for message in stalled.messages if isinstance(message, Snapshot)]
    assert [message.sequence for message in got] == [50]
    assert [each.step for each in got[0].steps] == list(range(1, 51))
    assert [end.process.pid for end in got[0].ended] == [10, 20, 30, 40, 50]
    assert outbox.replaced == 49


def test_other_messages_are_kept_and_the_newest_state_of_each_stands(stalled: Stalled, outbox: Outbox) -> None:
    def fault(key: str, sentence: str) -> Fault:
        return Fault(taken_s=1, boot_s=1, key=key, source="driver", sentence=sentence)

    def facts(pid: int, name: str) -> Facts:
        return Facts(taken_s=1, boot_s=1, processes=(ProcessFacts(process=identity(pid), name=name),))

    outbox.put(facts(1, "old"))
    outbox.put(facts(2, "two"))
    outbox.put(snapshot(1))
    outbox.put(fault("a", "for 3 s"))
    outbox.put(fault("b", "other"))
    outbox.put(fault("a", "for 4 s"))
    outbox.put(facts(1, "new"))
    outbox.put(Text(taken_s=1, boot_s=1, process=identity(1), lines=("x",)))
    outbox.put(Text(taken_s=1, boot_s=1, process=identity(1), lines=("y",)))
    outbox.put(Text(taken_s=1, boot_s=1, process=identity(2), lines=("z",)))
    outbox.put(Bye(taken_s=2, boot_s=2))
    stalled.gate.set()
    assert outbox.close(5)
    kinds = [type(message).__name__ for message in stalled.messages]
    assert kinds == ["Hello", "Snapshot", "Fault", "Fault", "Facts", "Text", "Text", "Bye"]
    assert {(m.key, m.sentence) for m in stalled.messages if isinstance(m, Fault)} == {("a", "for 4 s"), ("b", "other")}
    names = {each.process.pid: each.name for m in stalled.messages if isinstance(m, Facts) for each in m.processes}
    assert names == {1: "new", 2: "two"}
    assert [m.lines for m in stalled.messages if isinstance(m, Text)] == [("y",), ("z",)]


def test_events_for_a_reader_that_never_comes_back_stay_bounded_and_keep_the_latest() -> None:
    waiting = snapshot(0)
    for number in range(0, 5 * MAX_STEPS, 1000):
        waiting = merged(waiting, snapshot(number, tuple(event(1, number + k) for k in range(1000))))
        assert len(waiting.steps) <= MAX_STEPS
    assert [each.step for each in waiting.steps[-3:]] == [5 * MAX_STEPS - 3, 5 * MAX_STEPS - 2, 5 * MAX_STEPS - 1]


def test_a_reader_that_is_gone_ends_the_writing_quietly() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    broken = threading.Event()
    outbox = Outbox(descriptor_writer(writing), on_broken=broken.set)
    outbox.start()
    outbox.put(Hello(taken_s=0, boot_s=0))
    assert broken.wait(5)
    assert outbox.broken
    outbox.put(snapshot(1))
    assert outbox.close(1)
    os.close(writing)


def test_closing_before_a_reader_that_stands_still_takes_no_longer_than_allowed(
    stalled: Stalled, outbox: Outbox
) -> None:
    assert outbox.close(0.05) is False
    stalled.gate.set()


def test_everything_is_written_also_when_the_pipe_takes_it_in_pieces() -> None:
    reading, writing = os.pipe()
    data = os.urandom(300_000)
    got = bytearray()

    def read() -> None:
        while chunk := os.read(reading, 5000):
            got.extend(chunk)

    reader = threading.Thread(target=read)
    reader.start()
    descriptor_writer(writing)(data)
    os.close(writing)
    reader.join(10)
    os.close(reading)
    assert bytes(got) == data


def test_the_pipe_is_widened_where_it_is_one(tmp_path: os.PathLike[str]) -> None:
    import fcntl

    reading, writing = os.pipe()
    widen_pipe(writing)
    assert fcntl.fcntl(writing, fcntl.F_GETPIPE_SZ) in (PIPE_BYTES, 65536)  # the limit for users may be lower
    os.close(reading)
    os.close(writing)
    plain = os.open(os.path.join(tmp_path, "file"), os.O_WRONLY | os.O_CREAT)
    widen_pipe(plain)
    os.close(plain)


def _not_finite() -> Message:
    return msgspec.structs.replace(
        snapshot(1), host=HostSample(pressures=(Pressure(resource="cpu", some_ratio=math.nan),))
    )


@pytest.mark.parametrize(
    "make",
    [
        _not_finite,
        lambda: Text(taken_s=1, boot_s=1, process=identity(1), lines=("\udc80",)),
    ],
)
def test_a_message_that_could_not_be_read_back_becomes_a_fault(make: Callable[[], Message]) -> None:
    (message,) = MessageDecoder().feed(encoded(make()))
    assert isinstance(message, Fault)
    assert "could not be sent" in message.sentence


def test_a_text_that_holds_the_word_null_goes_out_as_it_is() -> None:
    text = Text(taken_s=1, boot_s=1, process=identity(1), lines=('{"loss":null}', ":null"))
    assert MessageDecoder().feed(encoded(text)) == [text]
