"""Questions that may hang (a dead network file system, a name service, docker) are asked on threads of their own."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from monitor.clock import Clock
from monitor.newest import put_newest

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MAX_WAITING = 16
"""Threads that may hang at once; beyond them nothing new is asked, and what is known stays known."""
MAX_KEPT = 1024


class Background(Generic[K, V]):
    """Answers of a slow function, by key. `get` never waits longer than it is told to."""

    def __init__(self, ask: Callable[[K], V | None], clock: Clock, max_age_s: float) -> None:
        self._ask = ask
        self._clock = clock
        self._max_age_s = max_age_s
        self._lock = threading.Lock()
        self._answers: dict[K, tuple[float, V | None]] = {}
        self._waiting: dict[K, threading.Event] = {}

    def get(self, key: K, wait_s: float = 0.0) -> V | None:
        """The answer if there is one that is not too old; else `None`, while the question is being asked."""
        now_s = self._clock.boot_s()
        with self._lock:
            known = self._answers.get(key)
            fresh = known is not None and now_s - known[0] <= self._max_age_s
            asked = None if fresh else self._ask_again(key)
        if not fresh and asked is not None and wait_s > 0:
            asked.wait(wait_s)
        with self._lock:
            known = self._answers.get(key)
        # An answer stays good for a second period while its successor is asked for; then it is too old to be shown.
        if known is None or now_s - known[0] > 2 * self._max_age_s:
            return None
        return known[1]

    def waiting(self, key: K) -> bool:
        """Whether a question has not been answered yet."""
        with self._lock:
            return key in self._waiting

    def _ask_again(self, key: K) -> threading.Event | None:
        """Ask on a new thread, unless that is going on already: who waits for a dead one waits once, not each time."""
        if key in self._waiting or len(self._waiting) >= MAX_WAITING:
            return None
        done = self._waiting[key] = threading.Event()
        threading.Thread(target=self._run, args=(key, done), name="traintop-background", daemon=True).start()
        return done

    def _run(self, key: K, done: threading.Event) -> None:
        answer: V | None = None
        with contextlib.suppress(Exception):  # a question that fails has no answer; that is what `None` says
            answer = self._ask(key)
        with self._lock:
            put_newest(self._answers, key, (self._clock.boot_s(), answer), MAX_KEPT)
            self._waiting.pop(key, None)
        done.set()
