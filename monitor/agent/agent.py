"""The agent: four sources, one stream out, requests in. It runs beside the training and stays out of its way."""

from __future__ import annotations

import threading
from collections.abc import Callable

from monitor.agent.composer import Composer
from monitor.agent.greeting import first_hello
from monitor.agent.outbox import Outbox
from monitor.agent.request_reader import RequestReader
from monitor.agent.sampling import DRIVER_PATIENCE_S, Sampling
from monitor.agent.schedule import EventWaiter, Schedule
from monitor.clock import Clock
from monitor.sources import GpuSource, HostSource, ProcessSource, StepSource
from monitor.types.messages import Ability, Message
from monitor.types.requests import Allow, Release, Request, Stop, Tail, Watch

EARLY_SNAPSHOTS = 4
"""The first snapshots come as soon as a source has answered: GPUs, then processes, then steps."""
EARLY_GAP_S = 0.02
"""Answers that come this close together share a snapshot."""
EARLY_S = 0.5
"""At least this long, however short the interval, nothing is sent before there is something to see."""
MAX_GRACE_S = 0.3
"""How long a tick waits for sources that are still reading."""
FLUSH_S = 0.3
"""How long the end of the agent waits for a slow reader."""


class Agent:
    """Samples, composes and sends until it is told to stop, its input ends, or nobody reads any more.

    `write` takes bytes and raises OSError when the reader is gone. A snapshot's `timings` tell which sources have
    answered: one that never did has `waiting_s` set.
    """

    def __init__(
        self,
        gpus: GpuSource,
        processes: ProcessSource,
        host: HostSource,
        steps: StepSource,
        clock: Clock,
        interval_s: float,
        write: Callable[[bytes], None],
        *,
        requests_descriptor: int | None = None,
        version: str = "",
        simulated: bool = False,
        abilities: tuple[Ability, ...] = (),
    ) -> None:
        self._clock = clock
        self._interval_s = interval_s
        self._waiter = EventWaiter()
        self._news = threading.Event()
        self._ended: str | None = None
        self._started_s = clock.boot_s()
        hello = first_hello(clock, interval_s, version=version, simulated=simulated, abilities=abilities)
        self._composer = Composer(hello, clock)
        self._composing = threading.Lock()
        self._sampling = Sampling(
            gpus,
            processes,
            host,
            steps,
            clock=clock,
            start_s=self._started_s,
            interval_s=interval_s,
            on_news=self._on_news,
        )
        self._outbox = Outbox(write, on_broken=lambda: self.stop("nobody reads any more"))
        self._requests = (
            None
            if requests_descriptor is None
            else RequestReader(requests_descriptor, self._answer, lambda: self.stop("the input has ended"))
        )

    def run(self) -> int:
        """Work until the end and return the exit status. Never waits for a source that hangs."""
        self._outbox.start()
        self._outbox.put(self._composer.first_hello)
        self._sampling.start()
        if self._requests is not None:
            self._requests.start()
        try:
            self._begin()
            self._go_on()
        except KeyboardInterrupt:
            self.stop("interrupted")
        self._sampling.stop()
        self._put((self._composer.bye(self._ended or ""),))
        self._outbox.close(FLUSH_S)
        return 0

    def stop(self, reason: str) -> None:
        """End soon; from any thread."""
        if self._ended is None:
            self._ended = reason
        self._waiter.wake()

    def _on_news(self) -> None:
        self._news.set()
        self._waiter.wake()

    def _begin(self) -> None:
        """The first snapshots: what is there is sent, and what follows right after is not kept for an interval."""
        sent = 0
        until_s = self._started_s + max(self._interval_s, EARLY_S)
        while self._ended is None and sent < EARLY_SNAPSHOTS:
            now_s = self._clock.boot_s()
            if now_s >= until_s:
                return
            if self._news.is_set() and self._worth_sending(now_s):
                self._wait(EARLY_GAP_S)
                self._tick()
                sent += 1
            else:
                self._put(self._composer.greet_again(self._sampling.driver_info()))
                patience_s = self._started_s + DRIVER_PATIENCE_S - now_s
                self._waiter.wait(min(until_s - now_s, patience_s if patience_s > 0 else self._interval_s))

    def _worth_sending(self, now_s: float) -> bool:
        """GPUs are true figures at once; without any, the processes are what there is to see."""
        if self._sampling.gpus():
            return True
        driver_had_time = self._sampling.driver.landings > 0 or now_s - self._started_s >= DRIVER_PATIENCE_S
        return driver_had_time and self._sampling.processes.landings > 0

    def _wait(self, seconds: float) -> None:
        until_s = self._clock.boot_s() + seconds
        while self._ended is None and (left_s := until_s - self._clock.boot_s()) > 0:
            self._waiter.wait(left_s)

    def _go_on(self) -> None:
        schedule = Schedule(self._started_s, self._interval_s)
        schedule.take(self._started_s)
        grace_s = min(MAX_GRACE_S, 0.3 * self._interval_s)
        while self._ended is None:
            now_s = self._clock.boot_s()
            due_s = schedule.due_s
            if now_s < due_s:
                self._put(self._composer.greet_again(self._sampling.driver_info()))
                self._waiter.wait(due_s - now_s)
                continue
            schedule.take(now_s)
            self._sampling.wait_for_tick(due_s, grace_s)
            self._tick()

    def _tick(self) -> None:
        self._news.clear()
        with self._composing:
            messages = self._composer.tick(self._sampling.take())
        self._put(messages)

    def _put(self, messages: tuple[Message, ...]) -> None:
        for message in messages:
            self._outbox.put(message)

    def _answer(self, request: Request) -> None:
        """Act on a request; on the requests thread. None of this waits for a source."""
        if isinstance(request, Watch):
            self._sampling.watch(request)
        elif isinstance(request, Tail):
            self._sampling.tail(request)
        elif isinstance(request, Release):
            self._sampling.release(request)
        elif isinstance(request, Allow):
            with self._composing:
                self._put(
                    self._composer.fault(
                        f"allow-{request.process.pid}-{request.process.start_ticks}",
                        "agent",
                        f"No source of process {request.process.pid} asks for permission in this version.",
                        request.process,
                    )
                )
        elif isinstance(request, Stop):
            self.stop("stopped on request")
