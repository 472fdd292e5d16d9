"""Asks one device for its rows of the table of metrics, each tier when it is due, and keeps the latest values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from monitor.nvml.binding import Answer, Handle
from monitor.nvml.calls import Caller, Field, Question
from monitor.nvml.errors import GPU_IS_LOST, IMPOSSIBLE, INVALID_ARGUMENT, RESET_REQUIRED, UNINITIALIZED, Refusal
from monitor.nvml.fields import FieldBatch
from monitor.nvml.metrics import PERIOD_S, Metric, Tier
from monitor.types.record import Missing

_WHOLE_DEVICE = (UNINITIALIZED, GPU_IS_LOST, RESET_REQUIRED)
"""After these no other question can be answered either."""


class _Asked:
    """A metric of the table with how far this device has come with it."""

    __slots__ = ("convert", "fields", "is_single", "question")

    def __init__(self, metric: Metric) -> None:
        self.fields = metric.fields
        self.convert = metric.convert
        self.is_single = len(metric.fields) == 1
        self.question = Question(metric.spellings)


class _TierState:
    """The metrics of one tier, split by how they are asked for now. Those refused for good are in neither part."""

    def __init__(self, asked: list[_Asked]) -> None:
        self.asked = asked
        self.due_s = float("-inf")
        self.calls: list[_Asked] = []
        self.in_batch: list[_Asked] = []
        self.batch: FieldBatch | None = None
        self.is_planned = False

    def plan(self, caller: Caller) -> None:
        """Sort the metrics again; needed when one went on to its next spelling."""
        self.calls, self.in_batch = [], []
        fields: list[Field] = []
        for asked in self.asked:
            spelling = asked.question.spelling
            if isinstance(spelling, Field):
                self.in_batch.append(asked)
                fields.append(spelling)
            elif spelling is not None:
                self.calls.append(asked)
        self.batch = FieldBatch(caller, fields) if fields else None
        self.is_planned = True


class MetricReader:
    """The metrics of one device."""

    def __init__(self, caller: Caller, metrics: Iterable[Metric], spread_s: float = 0.0) -> None:
        self._caller = caller
        self._spread_s = spread_s
        rows = tuple(metrics)
        self._tiers = {
            tier: _TierState([_Asked(row) for row in rows if row.tier is tier])
            for tier in Tier
            if any(row.tier is tier for row in rows)
        }
        self.values: dict[str, Any] = {}
        self.refusals: dict[str, Refusal] = {}
        self.answered_count = 0
        """Questions that got a value in the last reading."""
        self.last_failure: Refusal | None = None
        """A refusal of the last reading that is not for good."""
        self._missing: tuple[Missing, ...] | None = None
        self.trouble: Refusal | None = None
        """A refusal that concerns the whole device, not one datum: lost, stale handle, library closed."""

    def read(self, handle: Handle, now_s: float) -> frozenset[Tier]:
        """Ask what is due. Stops at once when the whole device is in trouble. Returns the tiers that were asked."""
        self.trouble = None
        self.answered_count = 0
        self.last_failure = None
        done: set[Tier] = set()
        for tier, state in self._tiers.items():
            if now_s < state.due_s:
                continue
            if not self._read_tier(state, handle, now_s):
                break
            done.add(tier)
            state.due_s = self._next_due_s(tier, state, now_s)
        return frozenset(done)

    def ask_all_again(self) -> None:
        """Forget pauses and due times, for a GPU that was in trouble as a whole."""
        for state in self._tiers.values():
            state.due_s = float("-inf")
            for asked in state.asked:
                asked.question.retry_at_s = 0.0

    def missing(self) -> tuple[Missing, ...]:
        """What could not be had. A nested record that is missing as a whole is one entry. Kept while unchanged."""
        if self._missing is None:
            self._missing = _missing(self.refusals, self.values)
        return self._missing

    def _next_due_s(self, tier: Tier, state: _TierState, now_s: float) -> float:
        if tier is Tier.TICK:
            return float("-inf")
        if tier is Tier.ONCE:
            return float("inf")
        first = state.due_s == float("-inf")
        # Many GPUs do not all ask their slow questions in the same tick.
        return now_s + PERIOD_S[tier] - (self._spread_s % PERIOD_S[tier] if first else 0.0)

    def _read_tier(self, state: _TierState, handle: Handle, now_s: float) -> bool:
        """Ask all of one tier; False when the whole device is in trouble."""
        if not state.is_planned:
            state.plan(self._caller)
        if state.batch is not None:
            if self._read_batch(state, state.batch, handle, now_s):
                state.plan(self._caller)  # at once, so that a field's older spelling is asked in this same reading
            if self.trouble is not None:
                return False
        for asked in state.calls:
            position = asked.question.position
            self._note(asked, self._caller.ask(asked.question, handle, now_s))
            if asked.question.position != position:
                state.is_planned = False
            if self.trouble is not None:
                return False
        return True

    def _read_batch(self, state: _TierState, batch: FieldBatch, handle: Handle, now_s: float) -> bool:
        """Read a batch of fields; True when one of them went on to another spelling or was refused for good."""
        moved = False
        for asked, answer in zip(state.in_batch, batch.read(handle), strict=True):
            question = asked.question
            if type(answer) is Refusal:
                position = question.position
                question.refused(answer, now_s)
                moved = moved or question.position != position
                self._note(asked, question.refusal or answer)
            else:
                question.answered()
                self._note(asked, answer)
            if self.trouble is not None:
                return False
        return moved

    def _note(self, asked: _Asked, answer: Answer) -> None:
        if type(answer) is Refusal:
            if not answer.is_final:
                self.last_failure = answer
            for field in asked.fields:
                self._refuse(field, answer)
            if answer.code in _WHOLE_DEVICE or (answer.code == INVALID_ARGUMENT and asked.question.worked):
                self.trouble = answer
            return
        self.answered_count += 1
        try:
            value = asked.convert(answer)
        except Exception:
            value = None
        if asked.is_single:
            self._store(asked.fields[0], value)
            return
        parts = value if isinstance(value, tuple) else (value,) * len(asked.fields)
        for field, part in zip(asked.fields, parts, strict=True):
            self._store(field, part)

    def _store(self, field: str, value: Answer) -> None:
        if value is None:
            self._refuse(field, IMPOSSIBLE)
        elif type(value) is Refusal:
            self._refuse(field, value)
        else:
            self.values[field] = value
            if self.refusals and self.refusals.pop(field, None) is not None:
                self._missing = None

    def _refuse(self, field: str, refusal: Refusal) -> None:
        self.values.pop(field, None)
        if self.refusals.get(field) is not refusal:
            self.refusals[field] = refusal
            self._missing = None


def missing_entry(field: str, refusal: Refusal) -> Missing:
    """A refusal as it goes out; the sentence only where the reason's word does not say it all."""
    detail = "" if refusal.reason in ("not_supported", "driver_too_old") else refusal.sentence
    return Missing(field=field, reason=refusal.reason, detail=detail)


def _missing(refusals: dict[str, Refusal], values: dict[str, Any]) -> tuple[Missing, ...]:
    """One entry a field; a nested record of which nothing is known is one entry, parts of a sum or list are none."""
    present = {field.partition(".")[0] for field in values}
    entries: dict[str, Missing] = {}
    for field, refusal in refusals.items():
        group, dot, part = field.partition(".")
        if dot and group in present:
            if group == "throttle_times" or "." in part:
                continue
            entries[field] = missing_entry(field, refusal)
        else:
            entries.setdefault(group, missing_entry(group, refusal))
    return tuple(entries.values())
