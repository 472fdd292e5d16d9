"""The Hugging Face Trainer's `trainer_state.json`: written at checkpoints, without a clock."""

from __future__ import annotations

import json
from collections.abc import Mapping

import msgspec

from monitor.steps.formats.line_format import Origin
from monitor.steps.stores.rows import figures_of, number
from monitor.steps.stores.store import TOP_STEP, StorePlan
from monitor.types.documents import Setting
from monitor.types.steps import StepEvent, StepValue

MAX_ROWS = 20_000
_SETTINGS = ("max_steps", "num_train_epochs", "logging_steps", "eval_steps", "save_steps", "train_batch_size")


def is_trainer_state(name: str, head: bytes) -> bool:
    """By its name, or by what stands before the history."""
    if not head.lstrip().startswith(b"{"):
        return False
    return name == "trainer_state.json" or (b'"is_world_process_zero"' in head and b'"global_step"' in head)


class TrainerState:
    """A document that is read whole whenever it was written anew."""

    whole = True
    needs_all = True
    skip_bytes = 0

    def __init__(self) -> None:
        self._settings: tuple[Setting, ...] = ()
        self._last = -1.0

    def feed(self, data: bytes, origin: Origin) -> list[StepEvent]:
        """The rows of the history that are new, then where it stands."""
        try:
            state = json.loads(data)
        except (ValueError, RecursionError):
            return []  # just being written
        if not isinstance(state, dict):
            return []
        self._settings = tuple(
            Setting(name=name, value=float(value), source="trainer_state.json")
            for name in _SETTINGS
            if (value := number(state.get(name))) is not None
        )
        step = number(state.get("global_step"))
        if step is None or not 0 <= step < TOP_STEP:
            return []
        planned = number(state.get("max_steps"))
        total = planned if planned is not None and planned >= max(step, 1) else None
        events: list[StepEvent] = []
        history = state.get("log_history")
        for row in history[-MAX_ROWS:] if isinstance(history, list) else ():
            at = number(row.get("step")) if isinstance(row, dict) else None
            if at is not None and self._last < at <= step:
                events.append(_event(at, total, row, origin))
        latest: dict[str, StepValue] = {}
        for event in events:
            latest.update((value.name, value) for value in event.values)
        now = _event(step, total, {"epoch": state.get("epoch")}, origin)
        events.append(msgspec.structs.replace(now, values=tuple(latest.values())))
        self._last = step
        return events

    def enter(self, data: bytes, position: int) -> int:  # noqa: ARG002
        """Nowhere: half a document is none."""
        return len(data)

    def settings(self) -> tuple[Setting, ...]:
        """What the Trainer was told, as far as it stands there."""
        return self._settings

    def take_plan(self, plan: StorePlan) -> None:
        """Its own total is as good."""


def _event(step: float, total: float | None, row: Mapping[str, object], origin: Origin) -> StepEvent:
    finished = "train_runtime" in row
    return StepEvent(
        process=origin.process,
        source="trainer_state",
        where=origin.where,
        series="global_step",
        unit="optimizer_step",
        step=step,
        total=total,
        total_source="" if total is None else "max_steps",
        epoch=number(row.get("epoch")),
        seen_s=origin.seen_s,
        values=figures_of(row),
        ended="finished" if finished else None,
        confidence=0.55,
        evidence=f"global_step {step:g}" + ("; train_runtime is written at the end" if finished else ""),
    )
