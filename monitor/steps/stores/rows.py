"""Rows of named figures as readings of a counter, whatever they are stored in: tables, JSON Lines, W&B history."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

from monitor.clean import clean
from monitor.steps.formats.figures import MAX_FIGURES, own_name
from monitor.steps.formats.line_format import EVIDENCE_CHARS, Origin
from monitor.steps.formats.numbers import MAX_DIGITS, duration_s, figure
from monitor.steps.formats.stamps import line_time_s
from monitor.steps.stores.store import TOP_STEP, StorePlan
from monitor.types.steps import StepEvent, StepUnit, StepValue

STEPS = (
    "train/global_step", "trainer/global_step", "global_step", "global_steps", "current_steps", "num_updates",
    "time/total_timesteps", "total_timesteps", "training_iteration", "train_step", "step", "steps", "iteration", "iter",
    "iterations", "update", "updates", "misc/total_timesteps", "total_steps_done", "_step",
)  # fmt: skip
"""In this order: what the trainer counts goes before what a logger counts for itself."""
EPOCHS = ("epoch", "train/epoch", "trainer/epoch", "epochs")
TOTALS = ("total_steps", "max_steps", "num_steps", "total_iters", "max_iters", "total_iterations")
ELAPSED = (
    "elapsed_time", "elapsed", "elapsed_s", "elapsed_seconds", "time_elapsed", "time/time_elapsed", "time_total_s",
    "_runtime", "wall", "wall_clock", "total_time", "relative", "misc/time_elapsed",
)  # fmt: skip
CLOCKS = ("_timestamp", "timestamp", "wall_time", "wall time", "walltime", "ts", "time", "date", "datetime")
UNSURE = ("time", "seconds", "wall_time", "walltime")
"""Cumulative in some programs, of one step in others. Believed when it has grown like a clock."""
MAX_FALLS_RATIO = 0.1
HELD_OUT = re.compile(r"(?:^|[/_. -])(?:val|valid|validation|eval|evaluation|test|dev|holdout)(?:[/_. -]|$)", re.I)
_KNOWN = re.compile(
    r"loss|rew|return|accuracy|(?:^|[/_. ])(?:acc|lr|auc|map|f1|iou|ppl|rmse|mae|kl|bleu|wer|fps|mfu)(?:\d|[/_. -]|$)"
    r"|learning_rate|perplexity|error|logloss|grad_norm|entropy|throughput|tokens",
    re.IGNORECASE,
)
_PLAIN_LOSS = ("loss", "train/loss", "train_loss", "total_loss", "loss/train", "train/total_loss", "train_loss_step")
_WORDS = ("split", "mode", "phase", "stage")
SURE_ROWS, _SURE_GROWTH = 4, 1.5
_YEARS_S = (9.4e8, 5e9)
"""Seconds since 1970 of the years that runs are from."""


def number(value: object) -> float | None:
    """A finite number, also one that is written as text."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    if isinstance(value, str) and (not 0 < len(value) <= MAX_DIGITS or "_" in value):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def wall_s(value: object) -> float | None:
    """Seconds since 1970, from seconds, milliseconds or a calendar stamp."""
    found = number(value)
    if found is not None:
        for scale in (1.0, 1e3, 1e9):
            if _YEARS_S[0] < found / scale < _YEARS_S[1]:
                return found / scale
        return None
    return line_time_s(value) if isinstance(value, str) and 10 <= len(value) <= 40 and ":" in value else None


@lru_cache(maxsize=2048)
def is_known_figure(name: str) -> bool:
    """Whether a column of this name is what trainings write beside their counter."""
    return _KNOWN.search(name) is not None


@lru_cache(maxsize=2048)
def figure_name(name: str) -> str | None:
    """Our name for a figure, as in the text formats, for the longer names of loggers too."""
    plain = name.strip().casefold()
    for ending in ("_step", "_epoch", "/train", "_train"):
        plain = plain.removesuffix(ending)
    if plain.endswith(("loss/val", "loss/eval", "loss/test", "loss/valid")):
        return "eval_loss"
    if HELD_OUT.search(plain) and not plain.endswith("loss"):
        return None
    short = plain.removeprefix("train/")
    return own_name(short) or own_name(short.rsplit("/", 1)[-1])


def figures_of(fields: Mapping[str, object]) -> tuple[StepValue, ...]:
    """The known figures of a row. Of several losses only one that is the whole loss by its name counts."""
    values: dict[str, StepValue] = {}
    losses = 0
    for key, value in fields.items():
        name = figure_name(key) if len(key) <= 64 else None
        if name is None or isinstance(value, bool) or not isinstance(value, (int, float, str)):
            continue
        kept = figure(name, str(value).strip()[: MAX_DIGITS + 1])
        if kept is None or name == "epoch":
            continue
        if name == "loss":
            plain = key.strip().casefold() in _PLAIN_LOSS
            losses += 0 if plain else 1
            if not plain and (losses > 1 or "loss" in values):
                if losses > 1 and not values.get("loss_is_plain"):
                    values.pop("loss", None)
                continue
            if plain:
                values["loss_is_plain"] = kept
        if name not in values or name == "loss":
            values[name] = kept
    values.pop("loss_is_plain", None)
    return tuple(list(values.values())[:MAX_FIGURES])


class RowCounter:
    """The counter of one file of rows: what counts, what is the clock, and whether it is a training's at all."""

    def __init__(self, source: str, confidence: float = 0.7) -> None:
        self.source, self.confidence = source, confidence
        self.planned = StorePlan()
        self._key = ""
        self._unit: StepUnit = "step"
        self._zero_based = False
        self._last = -1.0
        self._rows = self._falls = 0
        self._known = False
        self._unsure: list[float] | None = []
        """Readings of a field that may be a clock; `None` once it was found to be none."""
        self._kind: frozenset[str] | None = None
        """Which fields the latest row has."""
        self._held: list[StepEvent] | None = []
        """Rows that are not believed yet."""
        self._latest: dict[str, StepValue] = {}
        """Of rows that are thinned out, and where training and held-out figures stand in rows of their own."""

    def read(self, fields: Mapping[str, object], origin: Origin, evidence: str = "") -> list[StepEvent]:
        """What a row says; nothing where it does not count."""
        held_out = any(HELD_OUT.fullmatch(str(fields.get(word, ""))[:16]) for word in _WORDS)
        key = self._step_key(fields)
        step = number(fields.get(key)) if key else None
        values = figures_of(fields)
        self._latest.update((value.name, value) for value in values)
        known = any(is_known_figure(name) and value not in ("", None) for name, value in fields.items())
        self._known = self._known or known or self._has_clock(fields)
        if step is None or not 0 <= step < TOP_STEP or held_out or not self._known:
            return []
        if key != self._key:
            self._choose(key, step)
        kind = frozenset(name for name, value in fields.items() if value not in ("", None))
        if step < self._last and self._kind is not None and kind != self._kind:
            return []  # results on held-out data, by epoch
        self._kind = kind
        self._rows += 1
        self._falls += step < self._last
        self._last = step
        if self._falls > max(3, MAX_FALLS_RATIO * self._rows):
            return []  # a data set that happens to have such a column
        event = self._event(fields, step, tuple(self._latest.values()), origin, evidence)
        return self._believed(event, surely=any(value.name in ("loss", "lr") for value in values))

    def _believed(self, event: StepEvent, *, surely: bool) -> list[StepEvent]:
        """Rows with a loss or a clock at once; others when several in a row have risen."""
        if self._held is None:
            return [event]
        self._held.append(event)
        if surely or event.elapsed_s is not None or event.event_s is not None:
            held, self._held = self._held, None
            return held
        if self._falls:
            self._held.clear()
        elif len(self._held) >= SURE_ROWS:
            held, self._held = self._held, None
            return held
        return []

    def _event(
        self, fields: Mapping[str, object], step: float, values: tuple[StepValue, ...], origin: Origin, evidence: str
    ) -> StepEvent:
        shown = step + 1 if self._zero_based else step
        total = next((t for name in TOTALS if (t := number(fields.get(name))) is not None and t > 0), None)
        source = "row" if total is not None else self.planned.source
        total = self.planned.total(self._unit, shown) if total is None else total
        elapsed_s, clock_s = self._clock(fields)
        clock: Literal["text", "none"] = "none" if clock_s is None else "text"
        return StepEvent(
            process=origin.process,
            source=self.source,
            where=origin.where,
            series=clean(self._key, 64),
            unit=self._unit,
            step=shown,
            total=total if total is not None and total >= shown else None,
            total_source=source if total is not None and total >= shown else "",
            epoch=next((e for name in EPOCHS if (e := number(fields.get(name))) is not None and 0 <= e < 1e9), None),
            event_s=clock_s,
            event_clock=clock,
            elapsed_s=elapsed_s,
            seen_s=origin.seen_s,
            values=values,
            confidence=self.confidence,
            evidence=clean(evidence, EVIDENCE_CHARS),
        )

    def _step_key(self, fields: Mapping[str, object]) -> str:
        for name in STEPS:
            if name == self._key:
                return self._key if name in fields else ""
            if name in fields and number(fields[name]) is not None:
                return name
        if self._key and self._key not in EPOCHS:
            return ""
        return next((name for name in EPOCHS if name in fields), "")

    def _choose(self, key: str, step: float) -> None:
        self._key, self._last, self._rows, self._falls = key, -1.0, 0, 0
        self._unit = "epoch" if key in EPOCHS else "step"
        # A row of an epoch is written when the epoch is over.
        self._zero_based = self._unit == "epoch" and step == 0

    def _has_clock(self, fields: Mapping[str, object]) -> bool:
        return any(name in fields for name in ELAPSED) or any(wall_s(fields.get(name)) for name in CLOCKS)

    def _clock(self, fields: Mapping[str, object]) -> tuple[float | None, float | None]:
        clock_s = next((t for name in CLOCKS if (t := wall_s(fields.get(name))) is not None), None)
        for name in ELAPSED:
            value = fields.get(name)
            found = number(value)
            if found is None and isinstance(value, str):
                found = duration_s(value)
            if found is not None and 0 <= found < 1e9:
                return found, clock_s
        found = next((t for name in UNSURE if (t := number(fields.get(name))) is not None), None)
        if clock_s is None and found is not None and self._grows(found):
            return found, None
        return None, clock_s

    def _grows(self, seconds: float) -> bool:
        """Whether a field has risen at each row so far, and by so much that it can only be a sum."""
        if self._unsure is None:
            return False
        if self._unsure and seconds < self._unsure[-1]:
            self._unsure = None
            return False
        if len(self._unsure) < SURE_ROWS:
            self._unsure.append(seconds)
        else:
            self._unsure[-1] = seconds
        first = self._unsure[0]
        return len(self._unsure) == SURE_ROWS and (first <= 0 or self._unsure[-1] >= _SURE_GROWTH * first)
