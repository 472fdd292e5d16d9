"""The frame around every part: a limit in time, and a failure that does not hide the other parts.

A part is a generator of rows, so that what it found before it was cut or failed is kept. It runs on a daemon thread: a
driver call that never returns cannot be ended, only left behind.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from monitor.clean import clean

Row: TypeAlias = dict[str, Any]
"""One finding, ready for JSON."""
Measure: TypeAlias = "Callable[[Deadline], Iterator[Row]]"

GRACE_S = 2.0
"""Between the end of a part's time, which it watches itself, and the moment when it is left behind."""


class Deadline:
    """A point in time that work must not pass."""

    def __init__(self, seconds: float) -> None:
        self._end_s = time.monotonic() + seconds

    @property
    def remaining_s(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self._end_s - time.monotonic())

    @property
    def is_over(self) -> bool:
        """Whether nothing is left."""
        return self.remaining_s <= 0

    def within(self, seconds: float) -> Deadline:
        """A deadline of its own for one part, not later than this one."""
        return Deadline(min(seconds, self.remaining_s))


@dataclasses.dataclass
class PartResult:
    """What one part found. `trouble` is a sentence where it did not come to its end."""

    name: str
    rows: list[Row]
    took_s: float = 0.0
    trouble: str = ""
    is_hung: bool = False
    """A call has not returned: the thread was left behind."""


def run_part(name: str, measure: Measure, deadline: Deadline, limit_s: float) -> PartResult:
    """Run one part within its limit and the deadline. Never raises; never waits longer than the limit and a grace."""
    result = PartResult(name, [])
    if deadline.is_over:
        result.trouble = "It was left out: the time was up."
        return result
    own = deadline.within(limit_s)
    rows: list[Row] = []
    troubles: list[str] = []
    begun_s = time.monotonic()

    def work() -> None:
        try:
            for row in measure(own):
                rows.append(row)  # noqa: PERF402  what was found before a failure is kept
        except Exception as error:
            troubles.append(failure_sentence(error))

    thread = threading.Thread(target=work, name=name, daemon=True)
    thread.start()
    thread.join(own.remaining_s + GRACE_S)
    result.is_hung = thread.is_alive()
    result.rows = list(rows)
    result.took_s = round(time.monotonic() - begun_s, 2)
    if result.is_hung:
        result.trouble = f"It was cut after {result.took_s:.0f} s: a call did not return."
    elif troubles:
        result.trouble = troubles[0]
    elif own.is_over:
        result.trouble = f"It was cut after {result.took_s:.0f} s: its time was up."
    return result


def failure_sentence(error: Exception) -> str:
    """What went wrong, as one sentence with the place, for whoever mends the script."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = "" if trace is None else f" in {trace.tb_frame.f_code.co_name}, line {trace.tb_lineno}"
    return f"It failed{place}: {type(error).__name__}: {clean(str(error), 300)}"
