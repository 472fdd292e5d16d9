"""What settings plan for a run: its total, epochs, and how often it evaluates, saves and logs."""

from __future__ import annotations

from collections.abc import Iterable

from monitor.types.documents import Setting
from monitor.types.record import Record

TOTAL = (
    "max_steps", "max_train_steps", "train_iters", "max_update", "max_iters", "max_iter", "num_iterations",
    "total_timesteps", "total_training_steps", "total_steps", "num_train_steps", "training.steps", "iterations",
    "steps",
)  # fmt: skip
EPOCHS = ("num_train_epochs", "max_epochs", "num_epochs", "total_epochs", "max_epoch", "epochs")
EVERY_EVAL = ("eval_steps", "eval_interval", "val_check_interval", "validation_steps", "evaluation_interval",
              "validate_interval_updates", "test_freq")  # fmt: skip
EVERY_SAVE = ("save_steps", "save_interval", "checkpointing_steps", "every_n_train_steps", "save_every_n_steps",
              "save_interval_updates", "checkpoint.interval", "save_freq")  # fmt: skip
EVERY_LOG = ("logging_steps", "log_interval", "log_every_n_steps", "log_freq", "steps_per_print", "log_every")
PATIENCE = ("early_stopping_patience", "patience", "early_stopping")
ACCUMULATION = (
    "gradient_accumulation_steps", "accumulate_grad_batches", "grad_accum_steps", "accum_grad", "accum_freq",
    "update_freq",
)  # fmt: skip

MINUTES = ("exit_duration_in_mins",)
"""Megatron-LM's own limit."""
CLOCK = ("max_time",)
"""Lightning's `DD:HH:MM:SS`."""


class Planned(Record, frozen=True, kw_only=True):
    """What is planned; `None` where no setting says so. Counts are in the framework's own steps."""

    total: float | None = None
    total_source: str = ""
    epochs: float | None = None
    eval_every: float | None = None
    save_every: float | None = None
    early_stopping: bool | None = None
    max_time_s: float | None = None
    accumulation: float | None = None
    log_every: float | None = None


def planned(settings: Iterable[Setting]) -> Planned:
    """Read a plan. Earlier settings win over later ones, and an earlier key of a table over a later key."""
    known: dict[str, Setting] = {}
    for setting in settings:
        name = setting.name.lower().replace("-", "_")
        known.setdefault(name, setting)
        parts = name.split(".")
        for start in range(1, len(parts)):
            rest = ".".join(parts[start:])
            if rest != "steps" and rest != "iterations":  # too plain to mean the run's total under any parent
                known.setdefault(rest, setting)
    total = _first(known, TOTAL, least=1)
    patience = _first_any(known, PATIENCE)
    return Planned(
        total=_number(total),
        total_source=total.source if total else "",
        epochs=_number(_first(known, EPOCHS, least=0)),
        eval_every=_number(_first(known, EVERY_EVAL, least=1)),
        save_every=_number(_first(known, EVERY_SAVE, least=1)),
        early_stopping=_is_on(patience),
        max_time_s=_max_time_s(known),
        accumulation=_number(_first(known, ACCUMULATION, least=1)),
        log_every=_number(_first(known, EVERY_LOG, least=1)),
    )


def _first(known: dict[str, Setting], keys: tuple[str, ...], *, least: float) -> Setting | None:
    """Only a positive number counts: -1 and null mean "not set", and shares below one are no step counts."""
    for key in keys:
        number = _number(known.get(key))
        if number is not None and number > 0 and number >= least:
            return known[key]
    return None


def _first_any(known: dict[str, Setting], keys: tuple[str, ...]) -> Setting | None:
    return next((known[key] for key in keys if key in known), None)


def _number(setting: Setting | None) -> float | None:
    if setting is None or isinstance(setting.value, bool) or not isinstance(setting.value, (int, float)):
        return None
    number = float(setting.value)
    return number if 0 <= number < 1e15 else None


def _is_on(setting: Setting | None) -> bool | None:
    if setting is None or isinstance(setting.value, str) or setting.value is None:
        return None
    return setting.value > 0


def _max_time_s(known: dict[str, Setting]) -> float | None:
    minutes = _number(_first(known, MINUTES, least=0))
    if minutes is not None:
        return minutes * 60.0
    clock = _first_any(known, CLOCK)
    if clock is None or not isinstance(clock.value, str):
        return None
    parts = clock.value.split(":")
    if len(parts) != 4 or not all(p.isascii() and p.isdigit() and len(p) < 6 for p in parts):
        return None
    days, hours, mins, seconds = (int(p) for p in parts)
    return float(days * 86400 + hours * 3600 + mins * 60 + seconds)
