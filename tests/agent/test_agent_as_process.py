from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from monitor.stream.codec import MessageDecoder, encode
from monitor.types.messages import Bye, Hello, Message, Snapshot
from monitor.types.requests import Stop
from tests.agent.fake_sources import identity

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "agent_over_fakes.py")


class Child:
    """An agent process and what it has said."""

    def __init__(self, interval_s: float, behaviour: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-I", PROGRAM, str(interval_s), behaviour],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self.messages: list[Message] = []
        self._decoder = MessageDecoder()

    def read_until(self, snapshots: int) -> None:
        while sum(isinstance(message, Snapshot) for message in self.messages) < snapshots:
            data = os.read(self.stdout.fileno(), 65536)
            assert data, "the agent ended too early"
            self.messages.extend(self._decoder.feed(data))

    def read_to_the_end(self) -> None:
        while data := os.read(self.stdout.fileno(), 65536):
            self.messages.extend(self._decoder.feed(data))

    def steps(self, pid: int) -> list[float | None]:
        return [
            event.step
            for message in self.messages
            if isinstance(message, Snapshot)
            for event in message.steps
            if event.process == identity(pid)
        ]


@pytest.fixture
def children() -> Iterator[list[Child]]:
    made: list[Child] = []
    yield made
    for child in made:
        child.process.kill()
        child.process.wait(5)
        for pipe in (child.process.stdin, child.process.stdout, child.process.stderr):
            if pipe is not None:
                pipe.close()


def test_a_reader_that_stands_still_for_two_seconds_gets_fewer_snapshots_and_every_event(
    children: list[Child],
) -> None:
    child = Child(0.1, "large")
    children.append(child)
    child.read_until(3)
    time.sleep(2.0)
    child.read_until(15)
    child.stdin.write(encode(Stop()))
    child.read_to_the_end()
    assert child.process.wait(5) == 0
    sequences = [message.sequence for message in child.messages if isinstance(message, Snapshot)]
    assert sequences[-1] > len(sequences), "snapshots took the place of older ones"
    for pid in (101, 102):
        steps = child.steps(pid)
        assert steps == list(range(1, len(steps) + 1))
        assert len(steps) > len(sequences)
    assert isinstance(child.messages[-1], Bye)


def test_an_agent_whose_driver_hangs_goes_on_and_ends_at_once_with_its_input(children: list[Child]) -> None:
    child = Child(0.1, "hanging")
    children.append(child)
    child.read_until(8)
    last = child.messages[-1]
    assert isinstance(last, Snapshot)
    assert last.timings[0].waiting_s is not None
    begun_s = time.monotonic()
    child.stdin.close()
    assert child.process.wait(5) == 0
    assert time.monotonic() - begun_s < 1.5
    child.read_to_the_end()
    assert isinstance(child.messages[-1], Bye)


def test_a_reader_that_goes_away_ends_the_agent_without_a_word(children: list[Child]) -> None:
    child = Child(0.1, "plain")
    children.append(child)
    child.read_until(1)
    child.stdout.close()
    assert child.process.wait(5) == 0
    assert child.process.stderr is not None
    assert child.process.stderr.read() == b"a library that prints\n", "no traceback, and no print in the stream"


def test_the_agent_steps_back_for_the_training_and_ends_on_an_interrupt(children: list[Child]) -> None:
    child = Child(0.1, "plain")
    children.append(child)
    child.read_until(1)
    assert isinstance(child.messages[0], Hello)
    pid = child.process.pid
    assert os.getpriority(os.PRIO_PROCESS, pid) >= min(19, os.getpriority(os.PRIO_PROCESS, 0) + 10)
    with open(f"/proc/{pid}/oom_score_adj", encoding="ascii") as file:
        assert int(file.read()) >= 500
    child.process.send_signal(signal.SIGINT)
    child.read_to_the_end()
    assert child.process.wait(5) == 0
    assert child.messages[-1] == Bye(
        taken_s=child.messages[-1].taken_s, boot_s=child.messages[-1].boot_s, reason="interrupted"
    )


def test_the_agent_loads_nothing_that_it_does_not_use() -> None:
    root = PROGRAM.split("/tests/")[0]
    code = (
        f"import sys; sys.path.insert(0, {root!r})\n"
        "import msgspec; needed = set(sys.modules)  # on 3.10 it brings subprocess along, by way of uuid\n"
        "import monitor.agent.main\n"
        "heavy = {'asyncio', 'textual', 'rich', 'click', 'torch', 'psutil', 'pynvml', 'subprocess', 'hypothesis'}\n"
        "print(sorted(heavy & (set(sys.modules) - needed)))"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout.strip() == "[]"
