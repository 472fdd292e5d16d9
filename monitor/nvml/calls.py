"""The one place that calls the driver: new spelling, then old; a value or the reason why there is none.

Final refusals (not supported, driver too old) are asked once per device and datum, others again with growing pauses.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from monitor.nvml.binding import Answer, Argument, Binding, Handle
from monitor.nvml.errors import INVALID_ARGUMENT, NAME_MISSING, NOT_SUPPORTED, REFUSALS, Refusal, refusal_of_error

FIRST_PAUSE_S = 2.0
LONGEST_PAUSE_S = 60.0


@dataclasses.dataclass(frozen=True, slots=True)
class Call:
    """A spelling: a function of the binding and what it takes after the handle."""

    name: str
    arguments: tuple[Any, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Field:
    """A spelling: a field value (NVML_FI_…), read in a batch with others."""

    field_id: int
    scope: int = 0


Spelling = Call | Field


class Question:
    """One datum of one device: its spellings, how far we have come through them, and when it may be asked again."""

    __slots__ = ("_pause_s", "position", "refusal", "retry_at_s", "spellings", "worked")

    def __init__(self, spellings: Sequence[Spelling]) -> None:
        self.spellings = tuple(spellings)
        self.position = 0
        self.worked = False
        self.refusal: Refusal | None = None
        self.retry_at_s = 0.0
        self._pause_s = FIRST_PAUSE_S

    @property
    def spelling(self) -> Spelling | None:
        """The spelling to use now; `None` when every one was refused for good."""
        return self.spellings[self.position] if self.position < len(self.spellings) else None

    def answered(self) -> None:
        """Note a value."""
        self.worked = True
        self.refusal = None
        self._pause_s = FIRST_PAUSE_S

    def refused(self, refusal: Refusal, now_s: float) -> None:
        """Note a refusal: go on to the next spelling when it is final, else wait before asking again."""
        if refusal.code == INVALID_ARGUMENT and not self.worked:
            refusal = REFUSALS[NOT_SUPPORTED]  # never worked: the driver does not know this enum value or field
        if refusal.is_final:
            if self.refusal is None or self.refusal.reason != "not_supported":
                self.refusal = refusal  # "not supported" by one spelling says more than "too old" for another
            self.position += 1
            return
        self.refusal = refusal
        if refusal.reason != "not_yet":
            self.retry_at_s = now_s + self._pause_s
            self._pause_s = min(self._pause_s * 2, LONGEST_PAUSE_S)


class Caller:
    """Calls the driver through one binding. Never raises."""

    def __init__(self, binding: Binding) -> None:
        self.binding = binding

    def call(self, name: str, *arguments: Argument) -> Answer:
        """The function's value, or a `Refusal`."""
        function = self.binding.function(name)
        if function is None:
            return NAME_MISSING
        try:
            return function(*arguments)
        except Exception as error:
            return refusal_of_error(error)

    def ask(self, question: Question, handle: Handle, now_s: float) -> Answer:
        """The value of a question whose spellings are calls, or a `Refusal`."""
        if question.retry_at_s > now_s and question.refusal is not None:
            return question.refusal
        while True:
            spelling = question.spelling
            if not isinstance(spelling, Call):
                return question.refusal or REFUSALS[NOT_SUPPORTED]
            answer = self.call(spelling.name, handle, *spelling.arguments)
            if type(answer) is not Refusal:
                question.answered()
                return answer
            question.refused(answer, now_s)
            if not answer.is_final and question.refusal is answer:
                return answer

    def symbol(self, name: str) -> Callable[..., int] | None:
        """The C function of that name, where the driver has it."""
        return self.binding.symbol(name)
