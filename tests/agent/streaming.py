"""An agent in this process, over fake sources, with everything it sent."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from monitor.agent.agent import Agent
from monitor.clock import SystemClock
from monitor.stream.codec import MessageDecoder
from monitor.types.messages import Message
from tests.agent.fake_sources import FakeGpus, FakeHost, FakeProcesses, FakeSteps

M = TypeVar("M", bound=Message)


class Streaming:
    """Runs an agent on a thread; `of` gives what it sent of one kind."""

    def __init__(self, interval_s: float = 0.05, requests_descriptor: int | None = None) -> None:
        self.gpus, self.processes, self.host, self.steps = FakeGpus(), FakeProcesses(), FakeHost(), FakeSteps()
        self.messages: list[Message] = []
        self.arrived: list[float] = []
        self.status: int | None = None
        self.begun_s = 0.0
        self._interval_s = interval_s
        self._requests_descriptor = requests_descriptor
        self._decoder = MessageDecoder()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self.agent = Agent(
            self.gpus,
            self.processes,
            self.host,
            self.steps,
            SystemClock(),
            self._interval_s,
            self._write,
            requests_descriptor=self._requests_descriptor,
            version="1.2.3",
        )
        self.begun_s = time.monotonic()
        self._thread.start()

    def of(self, kind: type[M]) -> list[M]:
        return [message for message in list(self.messages) if isinstance(message, kind)]

    def until(self, condition: Callable[[], object], timeout_s: float = 8.0) -> None:
        deadline_s = time.monotonic() + timeout_s
        while not condition():
            assert time.monotonic() < deadline_s, f"did not come: {[type(m).__name__ for m in self.messages]}"
            time.sleep(0.003)

    def end(self) -> float:
        """Stop it and return how long it took to end, in seconds. What hangs is let go afterwards."""
        begun_s = time.monotonic()
        self.agent.stop("enough")
        self._thread.join(5)
        took_s = time.monotonic() - begun_s
        for gate in (self.gpus.gate, self.gpus.open_gate, self.processes.gate):
            gate.set()
        assert not self._thread.is_alive()
        return took_s

    def _run(self) -> None:
        self.status = self.agent.run()

    def _write(self, data: bytes) -> None:
        messages = self._decoder.feed(data)
        self.arrived.extend(time.monotonic() for _ in messages)
        self.messages.extend(messages)
