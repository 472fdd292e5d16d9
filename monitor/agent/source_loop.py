"""One source on its own thread, with a one-slot box for its latest reading. A slow source delays only itself."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from monitor.agent.schedule import EventWaiter, Schedule, Waiter
from monitor.clean import clean
from monitor.clock import Clock
from monitor.types.messages import SourceTiming

T = TypeVar("T")

BUSY_RATIO = 0.2
"""A source may spend this share of the time; one that needs more is asked less often."""
MAX_STRIDE = 10
"""Even the slowest source is asked at least every tenth tick."""


@dataclass(frozen=True)
class Reading(Generic[T]):
    """What a source said, and what that cost. Times are by the boot clock."""

    value: T
    begun_s: float
    landed_s: float
    late_s: float

    @property
    def took_s(self) -> float:
        """How long the call lasted."""
        return self.landed_s - self.begun_s


class SourceLoop(Generic[T]):
    """Calls `read` at each due time on a daemon thread and keeps the newest answer.

    `after` names a source whose reading of the same tick this one would like to see first; it waits for it no longer
    than `patience_s`. `on_landed` is called on this loop's thread after each good reading.
    """

    def __init__(
        self,
        name: str,
        read: Callable[[], T],
        clock: Clock,
        schedule: Schedule,
        *,
        after: SourceLoop[Any] | None = None,
        patience_s: float = 0.1,
        on_landed: Callable[[], None] = lambda: None,
        waiter: Waiter | None = None,
    ) -> None:
        self.name = name
        self.failure: str | None = None
        """Why the last call failed, as cleaned text; `None` when it did not."""
        self.landings = 0
        """Good readings so far."""
        self.stride = 1
        """The source is asked at every so many ticks; more than 1 while it backs off."""
        self._read = read
        self._clock = clock
        self._schedule = schedule
        self._after = after
        self._patience_s = patience_s
        self._on_landed = on_landed
        self._waiter: Waiter = waiter or EventWaiter()
        self._landed = threading.Condition()
        self._latest: Reading[T] | None = None
        self._calling_since_s: float | None = None
        self._at_work = False
        self._extra = False
        self._stopped = False
        self._took_before_s = 0.0

    def start(self) -> None:
        """Begin on a daemon thread: one that hangs in the kernel must not keep the agent from ending."""
        threading.Thread(target=self._run, name=f"traintop-{self.name}", daemon=True).start()

    def stop(self) -> None:
        """Ask the thread to end after the call that goes on; does not wait for it."""
        self._stopped = True
        self._waiter.wake()

    def wake(self) -> None:
        """Read once more without waiting for the next due time."""
        self._extra = True
        self._waiter.wake()

    def latest(self) -> Reading[T] | None:
        """The newest reading; `None` before the first."""
        return self._latest

    def waiting_s(self, now_s: float) -> float | None:
        """For how long the call that goes on has not returned; `None` between calls."""
        since_s = self._calling_since_s
        return None if since_s is None else max(0.0, now_s - since_s)

    def expected_by(self, due_s: float) -> bool:
        """Whether a reading for the tick at `due_s` is still to come (a source that backs off sits some out)."""
        latest = self._latest
        if latest is not None and latest.landed_s >= due_s:
            return False
        return self._at_work or self._schedule.due_s <= due_s

    def wait_landed(self, due_s: float, timeout_s: float) -> None:
        """Wait until a reading that landed at or after `due_s` is there, at most `timeout_s`."""
        with self._landed:
            self._landed.wait_for(lambda: not self.expected_by(due_s), timeout=max(0.0, timeout_s))

    def timing(self, now_s: float) -> SourceTiming:
        """How late this source was, what it cost and how old its data is. Before the first answer it is waiting."""
        waiting_s = self.waiting_s(now_s)
        latest = self._latest
        if latest is None:
            return SourceTiming(source=self.name, waiting_s=round(waiting_s or 0.0, 3))
        return SourceTiming(
            source=self.name,
            late_s=round(latest.late_s, 4),
            took_s=round(latest.took_s, 4),
            age_s=round(max(0.0, now_s - latest.landed_s), 3),
            waiting_s=None if waiting_s is None else round(waiting_s, 3),
        )

    def _run(self) -> None:
        while not self._stopped:
            now_s = self._clock.boot_s()
            due_s = self._schedule.due_s
            if now_s >= due_s:
                self._at_work = True  # before the tick is taken: in between it would look as if none were to come
                late_s = self._schedule.take(now_s, self.stride)
            elif self._extra:
                self._at_work = True
                due_s, late_s = now_s, 0.0
            else:
                self._waiter.wait(due_s - now_s)
                continue
            self._wait_for_upstream(due_s, now_s)
            self.read_once(late_s)

    def _wait_for_upstream(self, due_s: float, now_s: float) -> None:
        upstream = self._after
        if upstream is None or (upstream.waiting_s(now_s) or 0.0) > self._patience_s:
            return
        upstream.wait_landed(due_s, self._patience_s)

    def read_once(self, late_s: float) -> None:
        """Make one call, on the thread that calls this. An error becomes `failure`; the reading before stays."""
        self._extra = False
        begun_s = self._clock.boot_s()
        self._calling_since_s = begun_s
        try:
            value = self._read()
        except Exception as error:  # a source must not raise; if one does, the others and this loop go on
            self.failure = clean(f"{type(error).__name__}: {error}", 200)
            self._finish(begun_s)
            return
        self.failure = None
        self._latest = Reading(value, begun_s, self._clock.boot_s(), late_s)
        self.landings += 1
        self._finish(begun_s)
        self._on_landed()

    def _finish(self, begun_s: float) -> None:
        took_s = self._clock.boot_s() - begun_s
        # The cheaper of two calls in a row decides, so that one hiccup does not thin the readings out.
        needed = min(took_s, self._took_before_s) / (BUSY_RATIO * self._schedule.interval_s)
        self.stride = max(1, min(MAX_STRIDE, math.ceil(needed)))
        self._took_before_s = took_s
        with self._landed:
            self._calling_since_s = None
            self._at_work = False
            self._landed.notify_all()
