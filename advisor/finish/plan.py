"""What a run is known to have before it: its total, its periods and what may end it sooner."""

from __future__ import annotations

import math
from dataclasses import dataclass

from monitor.types.run import Run
from monitor.types.steps import StepUnit

_EVAL_KEYS = (
    "eval_steps",
    "eval_interval",
    "eval_every",
    "eval_freq",
    "val_check_interval",
    "val_interval",
    "test.eval_period",
)
_SAVE_KEYS = (
    "save_steps",
    "save_interval",
    "save_every",
    "save_freq",
    "checkpoint_interval",
    "solver.checkpoint_period",
)
_EPOCH_KEYS = ("steps_per_epoch", "iters_per_epoch")
_PATIENCE_KEYS = ("early_stopping_patience", "patience", "early_stopping")
_TIME_KEYS = ("max_wallclock_seconds", "max_time_s", "max_train_seconds")
_STEP_UNITS: tuple[StepUnit, ...] = ("step", "optimizer_step")
"""Periods are planned in these."""


@dataclass(frozen=True)
class Plan:
    """What lies ahead of a run, as far as it was told. Periods are in steps of the counter."""

    total: float | None = None
    total_source: str = ""
    eval_every: float | None = None
    save_every: float | None = None
    epoch_steps: float | None = None
    early_stopping: bool = False
    max_time_s: float | None = None
    """The program ends itself after this long."""
    limit_s: float | None = None
    """Seconds from the last step until the scheduler ends the job."""
    ended: str | None = None

    @property
    def known_periods(self) -> tuple[tuple[float, str], ...]:
        """(steps, what comes then)."""
        named = ((self.eval_every, "evaluating"), (self.save_every, "saving"), (self.epoch_steps, "end of epoch"))
        return tuple((every, label) for every, label in named if every is not None and every >= 1)


def plan_of(run: Run, now_s: float | None = None) -> Plan:
    """The plan of a run. `now_s`: wall clock that the time left counts from, for the job's limit."""
    said = _settings(run)
    in_steps = run.unit in _STEP_UNITS
    anchor_s = run.last_step_s if run.last_step_s is not None else now_s
    return Plan(
        total=run.total,
        total_source=run.total_source,
        eval_every=_number(said, _EVAL_KEYS) if in_steps else None,
        save_every=_number(said, _SAVE_KEYS) if in_steps else None,
        epoch_steps=_number(said, _EPOCH_KEYS) if in_steps else None,
        early_stopping=_stops_early(said),
        max_time_s=_number(said, _TIME_KEYS),
        limit_s=None if run.job_limit_s is None or anchor_s is None else run.job_limit_s - anchor_s,
        ended=None if run.ended is None else run.ended.how,
    )


def _settings(run: Run) -> dict[str, str | float | bool | None]:
    """By the last part of the name, in small letters and with underscores; the first of a name wins."""
    out: dict[str, str | float | bool | None] = {}
    for setting in run.settings:
        whole = setting.name.lstrip("-").replace("-", "_").lower()
        for name in (whole, whole.rsplit(".", 1)[-1]):
            out.setdefault(name, setting.value)
    return out


def _number(said: dict[str, str | float | bool | None], names: tuple[str, ...]) -> float | None:
    for name in names:
        value = said.get(name)
        if isinstance(value, bool) or value is None:
            continue
        try:
            number = float(value)
        except ValueError:
            continue
        if math.isfinite(number) and number >= 1:
            return number
    return None


def _stops_early(said: dict[str, str | float | bool | None]) -> bool:
    for name in _PATIENCE_KEYS:
        value = said.get(name)
        if value is True or (isinstance(value, str) and value.strip().lower() == "true"):
            return True
        if _number({name: value}, (name,)) is not None:
            return True
    return False
