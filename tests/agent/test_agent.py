from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator

import msgspec
import pytest

from monitor.sources import DriverInfo
from monitor.stream.codec import encode
from monitor.types.messages import Ability, Bye, Facts, Fault, Hello, Snapshot, Text
from monitor.types.process import ProcessEnd
from monitor.types.requests import Allow, Release, Request, Stop, Tail, Watch
from tests.agent.fake_sources import FakeGpus, identity
from tests.agent.streaming import Streaming


@pytest.fixture
def streaming() -> Iterator[Streaming]:
    stream = Streaming()
    yield stream
    stream.end()


def test_the_first_message_greets_before_the_driver_has_answered(streaming: Streaming) -> None:
    streaming.gpus.open_gate.clear()
    streaming.start()
    streaming.until(lambda: streaming.of(Snapshot))
    first = streaming.messages[0]
    assert isinstance(first, Hello)
    assert (first.driver_state, first.version, first.gpus) == ("asking", "1.2.3", ())
    # Without the driver the processes are what there is to see, and the driver is known to be waited for.
    snapshot = streaming.of(Snapshot)[0]
    assert [sample.process.pid for sample in snapshot.processes] == [101, 102]
    waiting = {timing.source: timing.waiting_s for timing in snapshot.timings}
    assert waiting["driver"] is not None
    streaming.gpus.open_gate.set()
    streaming.until(lambda: len(streaming.of(Hello)) == 2)
    assert streaming.of(Hello)[1].driver_state == "ok"
    assert [gpu.uuid for gpu in streaming.of(Hello)[1].gpus] == ["GPU-a", "GPU-b"]
    streaming.until(lambda: streaming.of(Snapshot)[-1].gpus)


def test_the_first_figures_do_not_wait_for_an_interval() -> None:
    stream = Streaming(interval_s=30.0)
    stream.start()
    stream.until(lambda: stream.of(Snapshot) and any(each.steps for each in stream.of(Snapshot)))
    stream.end()
    kinds = [type(message) for message in stream.messages]
    first = stream.arrived[kinds.index(Snapshot)]
    assert stream.of(Snapshot)[0].gpus
    assert first - stream.begun_s < 1.0, "far below the interval of 30 s, on however slow a machine"


def test_a_driver_that_is_slow_to_open_brings_its_processes_with_it() -> None:
    stream = Streaming(interval_s=30.0)
    stream.gpus.open_gate.clear()
    stream.start()
    stream.until(lambda: stream.of(Snapshot))
    assert stream.processes.asked == [frozenset()]
    stream.gpus.open_gate.set()
    stream.until(lambda: any(snapshot.pairings for snapshot in stream.of(Snapshot)))
    stream.end()
    assert stream.processes.asked[1] == frozenset({101, 102})


def test_figures_are_rounded_and_facts_are_sent_when_they_change(streaming: Streaming) -> None:
    streaming.start()
    streaming.until(lambda: len(streaming.of(Snapshot)) > 6)
    last = streaming.of(Snapshot)[-1]
    assert last.gpus[0].power_w == 301.2
    assert last.processes[0].cpu_ratio == 0.99
    assert last.host is not None
    assert last.host.cpu_ratio == 0.123
    assert len(streaming.of(Facts)) == 1
    before = len(streaming.of(Facts))
    changed = msgspec.structs.replace(streaming.processes.facts[0], name="renamed")
    streaming.processes.facts = (changed, streaming.processes.facts[1])
    streaming.until(lambda: len(streaming.of(Facts)) > before)
    assert streaming.of(Facts)[-1].processes == (changed,)


def test_every_step_event_arrives_once_and_in_order(streaming: Streaming) -> None:
    streaming.start()
    streaming.until(lambda: len(streaming.of(Snapshot)) > 10)
    steps = [event.step for snap in streaming.of(Snapshot) for event in snap.steps if event.process == identity(101)]
    assert steps == list(range(1, len(steps) + 1))
    sequences = [snap.sequence for snap in streaming.of(Snapshot)]
    assert sequences == sorted(set(sequences)), "on a busy machine one may have taken the place of another"


def test_a_hanging_driver_stops_nothing_else_and_the_agent_still_ends_at_once() -> None:
    stream = Streaming(interval_s=0.05)
    stream.start()
    stream.until(lambda: len(stream.of(Snapshot)) > 5)
    stream.gpus.gate.clear()
    stream.until(lambda: any(fault.key == "driver-silent" for fault in stream.of(Fault)))
    fault = next(fault for fault in stream.of(Fault) if fault.key == "driver-silent")
    assert fault.sentence == "no answer from the driver for 3 s"
    snap = stream.of(Snapshot)[-1]
    timing = {each.source: each for each in snap.timings}
    assert (timing["driver"].waiting_s or 0) > 2.9
    assert timing["driver"].age_s > 2.9
    assert timing["processes"].waiting_s is None or timing["processes"].waiting_s < 1
    assert timing["steps"].age_s < 1
    assert snap.gpus, "the last figures stay, with their age"
    stream.until(lambda: any("for 4 s" in each.sentence for each in stream.of(Fault)))
    stream.gpus.gate.set()
    stream.until(lambda: any(each.key == "driver-silent" and each.over for each in stream.of(Fault)))
    stream.gpus.gate.clear()
    time.sleep(0.1)
    assert stream.end() < 1.0
    assert stream.status == 0
    assert [bye.reason for bye in stream.of(Bye)] == ["enough"]


def test_a_source_that_raises_is_told_and_taken_back(streaming: Streaming) -> None:
    streaming.gpus.error = RuntimeError("[/x] \x1b]0;evil\x07")
    streaming.start()
    streaming.until(lambda: streaming.of(Fault) and streaming.of(Snapshot))
    fault = streaming.of(Fault)[0]
    assert (fault.key, fault.source) == ("driver-failed", "driver")
    assert "RuntimeError: [/x] ^[]0;evil^G" in fault.sentence
    streaming.gpus.error = None
    streaming.until(lambda: streaming.of(Fault)[-1].over)
    streaming.until(lambda: streaming.of(Snapshot)[-1].gpus)
    assert len(streaming.of(Fault)) == 2, "said once, taken back once"


def test_an_ended_process_is_sent_with_its_last_words(streaming: Streaming) -> None:
    streaming.steps.lines = (*(f"line {number}" for number in range(40)), "CUDA out of memory", "")
    streaming.start()
    streaming.until(lambda: streaming.of(Snapshot))
    streaming.processes.ending = (ProcessEnd(process=identity(102), seen_s=5.0),)
    streaming.until(lambda: any(snapshot.ended for snapshot in streaming.of(Snapshot)))
    (end,) = (end for snapshot in streaming.of(Snapshot) for end in snapshot.ended)
    assert end.process == identity(102)
    assert len(end.tail) == 20
    assert end.tail[-1] == "CUDA out of memory"
    # It was looked at once more after it had ended: what it wrote last counts.
    farewell = [pids for pids in streaming.steps.read_with if pids == (identity(101), identity(102))]
    assert streaming.steps.counts[identity(102)] == len(farewell)


def test_an_end_does_not_wait_for_step_files_that_hang() -> None:
    stream = Streaming(interval_s=0.05)
    gate = threading.Event()
    stream.start()
    stream.until(lambda: stream.of(Snapshot))

    def hang() -> None:
        gate.wait(10)

    stream.steps.on_read = hang
    stream.until(lambda: (stream.of(Snapshot)[-1].timings[2].waiting_s or 0) > 0.2)
    stream.processes.ending = (ProcessEnd(process=identity(101), seen_s=5.0),)
    stream.until(lambda: any(snapshot.ended for snapshot in stream.of(Snapshot)))
    gate.set()
    stream.end()
    ends = [end for snapshot in stream.of(Snapshot) for end in snapshot.ended]
    assert [(end.process.pid, end.tail) for end in ends] == [(101, ())]


class Front:
    """A front end's side of the request pipe."""

    def __init__(self) -> None:
        self.reading, self.writing = os.pipe()
        self.stream = Streaming(requests_descriptor=self.reading)

    def ask(self, request: Request) -> None:
        os.write(self.writing, encode(request))


@pytest.fixture
def front() -> Iterator[Front]:
    made = Front()
    made.stream.start()
    made.stream.until(lambda: made.stream.of(Snapshot))
    yield made
    made.stream.end()
    if made.writing >= 0:
        os.close(made.writing)


def test_text_is_sent_when_it_was_asked_for_and_changes(front: Front) -> None:
    stream = front.stream
    front.ask(Tail(process=identity(101)))
    stream.until(lambda: stream.of(Text))
    assert stream.of(Text)[0].lines == ("step 1", "step 2")
    stream.steps.lines = ("step 3",)
    stream.until(lambda: len(stream.of(Text)) > 1)
    assert [text.lines for text in stream.of(Text)] == [("step 1", "step 2"), ("step 3",)]
    front.ask(Tail(process=identity(101), max_bytes=0))
    front.ask(Watch(view="gpu", gpu_uuids=("GPU-a",)))
    stream.until(lambda: stream.gpus.watched[-1].view == "gpu")
    stream.steps.lines = ("step 4",)
    count = len(stream.of(Snapshot))
    stream.until(lambda: len(stream.of(Snapshot)) > count + 3)
    assert len(stream.of(Text)) == 2


def test_a_tail_is_bounded_whatever_its_source_gives(front: Front) -> None:
    stream = front.stream
    stream.steps.lines = tuple("ü" * 500 for _ in range(1000))
    front.ask(Tail(process=identity(101), max_bytes=10_000_000))
    stream.until(lambda: stream.of(Text))
    text = stream.of(Text)[0]
    size = sum(len(line.encode()) + 1 for line in text.lines)
    assert 60_000 < size <= 65536
    assert text.skipped_bytes + size == 1000 * 1001


def test_the_gpus_are_let_go_of_and_taken_again(front: Front) -> None:
    stream = front.stream
    front.ask(Release())
    stream.until(lambda: stream.of(Hello)[-1].driver_state == "released")
    stream.until(lambda: not stream.of(Snapshot)[-1].gpus)
    assert stream.gpus.released == 1
    assert len(stream.of(Hello)[-1].gpus) == 2
    front.ask(Release(released=False))
    stream.until(lambda: stream.of(Hello)[-1].driver_state == "ok")
    stream.until(lambda: stream.of(Snapshot)[-1].gpus)
    assert stream.gpus.opened == 2


def test_an_allowance_that_nothing_asks_for_is_answered(front: Front) -> None:
    front.ask(Allow(process=identity(101), source="terminal"))
    front.stream.until(lambda: front.stream.of(Fault))
    assert front.stream.of(Fault)[0].process == identity(101)


def test_requests_that_cannot_be_read_are_skipped_and_stop_ends_the_agent(front: Front) -> None:
    os.write(front.writing, b'\n{"type":"tail"}\n\xff\xfe{\n' + b"x" * 200_000 + b"\n")
    front.ask(Stop())
    front.stream.until(lambda: front.stream.status == 0)
    assert front.stream.of(Bye)[0].reason == "stopped on request"


def test_the_end_of_its_input_ends_the_agent(front: Front) -> None:
    os.close(front.writing)
    front.writing = -1
    front.stream.until(lambda: front.stream.status == 0)
    assert front.stream.of(Bye)[0].reason == "the input has ended"


def test_a_machine_without_a_driver_says_so_and_shows_its_processes(streaming: Streaming) -> None:
    streaming.gpus = FakeGpus("absent")
    streaming.gpus.current = DriverInfo(
        state="absent", detail="No NVIDIA driver here.", abilities=(Ability(name="gpus", works=False),)
    )
    streaming.start()
    streaming.until(lambda: streaming.of(Snapshot) and len(streaming.of(Hello)) == 2)
    assert streaming.of(Hello)[1].driver_detail == "No NVIDIA driver here."
    assert [ability.name for ability in streaming.of(Hello)[1].abilities] == ["gpus"]
    streaming.until(lambda: streaming.of(Snapshot)[-1].steps)
    assert streaming.gpus.watched == [], "a driver that is not there is not read"


def test_the_host_is_asked_about_the_disks_of_own_runs(streaming: Streaming) -> None:
    mine, other = streaming.processes.facts
    streaming.processes.facts = (
        msgspec.structs.replace(mine, cwd="/home/me/run"),
        msgspec.structs.replace(other, mine=False, cwd="/home/other"),
    )
    streaming.start()
    streaming.until(lambda: ("/home/me/run", "/dev/shm") in streaming.host.paths)
    assert all("/home/other" not in paths for paths in streaming.host.paths)
