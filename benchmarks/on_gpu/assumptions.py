"""What our fakes and our reading of the driver assume, held against the real one: named checks with a verdict each."""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Callable, Iterator
from typing import Literal

from benchmarks.on_gpu.answers import union_value
from benchmarks.on_gpu.parts import Deadline, Row, failure_sentence
from benchmarks.on_gpu.target import Target
from monitor.nvml.binding import Answer
from monitor.nvml.errors import SUCCESS, Refusal

Verdict = Literal["holds", "differs", "unknown"]
When = Literal["rest", "load", "both"]


class NoAnswer(Exception):  # noqa: N818  an outcome, not an error
    """The driver refused a figure that a check needs. The text says which and why."""


@dataclasses.dataclass(frozen=True)
class Observed:
    """What a check saw."""

    verdict: Verdict
    text: str


@dataclasses.dataclass(frozen=True)
class Subject:
    """What a check works on. Checks that watch something do it for `watch_s`."""

    target: Target
    deadline: Deadline
    watch_s: float = 3.0
    training_pid: int | None = None

    def ask(self, name: str, *arguments: Answer) -> Answer:
        """The driver's answer.

        Raises:
            NoAnswer: it refused.
        """
        answer = self.target.call(name, *arguments)
        if isinstance(answer, Refusal):
            raise NoAnswer(f"{name}: {answer.sentence}")
        return answer

    def field(self, number: int, scope: int = 0) -> int | float:
        """One field value.

        Raises:
            NoAnswer: it was refused, or is no number.
        """
        value = self.ask("nvmlDeviceGetFieldValues", [(number, scope)])[0]
        if value.nvmlReturn != SUCCESS:
            raise NoAnswer(f"field {number}: the driver answers with code {value.nvmlReturn}")
        figure = union_value(value.value, int(value.valueType))
        if figure is None:
            raise NoAnswer(f"field {number}: its value cannot be read")
        return figure

    def watch(self, ask: Callable[[], float], every_s: float, for_s: float | None = None) -> list[tuple[float, float]]:
        """(time in s, value) again and again; time is that of the middle of the call."""
        seen: list[tuple[float, float]] = []
        end_s = time.monotonic() + min(self.watch_s if for_s is None else for_s, self.deadline.remaining_s)
        while not seen or time.monotonic() < end_s:
            begun_s = time.monotonic()
            value = ask()
            seen.append(((begun_s + time.monotonic()) / 2, value))
            time.sleep(every_s)
        return seen


@dataclasses.dataclass(frozen=True)
class Check:
    """One assumption. `measure` may raise `NoAnswer`."""

    name: str
    expected: str
    measure: Callable[[Subject], Observed]
    when: When = "both"


def judged(ok: bool, text: str) -> Observed:
    """A plain yes or no."""
    return Observed("holds" if ok else "differs", text)


def unknown(text: str) -> Observed:
    """Seen, but it decides nothing."""
    return Observed("unknown", text)


def steps_between_changes_s(seen: list[tuple[float, float]]) -> list[float]:
    """The times between two changes of a watched value; the first, unwatched stretch is left out."""
    changes = [after[0] for before, after in itertools.pairwise(seen) if after[1] != before[1]]
    return [after - before for before, after in itertools.pairwise(changes)]


def measure(
    target: Target, checks: tuple[Check, ...], when: When, watch_s: float = 3.0, training_pid: int | None = None
) -> Callable[[Deadline], Iterator[Row]]:
    """One row a check that fits `when`; a check that fails says so and the others go on."""

    def rows(deadline: Deadline) -> Iterator[Row]:
        subject = Subject(target, deadline, watch_s, training_pid)
        for check in checks:
            if check.when not in (when, "both"):
                continue
            if deadline.is_over:
                return
            try:
                observed = check.measure(subject)
            except NoAnswer as refusal:
                observed = unknown(str(refusal))
            except Exception as error:
                observed = unknown(failure_sentence(error))
            yield {
                "check": check.name,
                "expected": check.expected,
                "observed": observed.text,
                "verdict": observed.verdict,
                "under_load": when == "load",
            }

    return rows
