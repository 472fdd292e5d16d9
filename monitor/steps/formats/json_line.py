"""Lines that are one JSON object each, as programs write them for machines: `{"step": 40, "loss": 1.9}`."""

from __future__ import annotations

import math

import msgspec

from monitor.steps.formats.figures import MAX_FIGURES, own_name
from monitor.steps.formats.line_format import EVIDENCE_CHARS, FileText, Origin
from monitor.steps.formats.numbers import duration_s, figure
from monitor.steps.lines import Line
from monitor.types.steps import StepEvent, StepValue

MAX_CHARS = 16_384
_STEPS = ("global_step", "current_steps", "step", "_step", "iteration", "iter", "num_updates", "train_step")
_TOTALS = ("total_steps", "max_steps", "num_steps", "total_iters", "max_iters", "total_iterations")
_ELAPSED = ("elapsed_time", "elapsed", "elapsed_s", "elapsed_seconds", "_runtime")
_WALL = ("_timestamp", "timestamp", "time", "wall_time", "ts")
_PLAUSIBLE_S = (1e9, 5e9)
"""Seconds since 1970 of the years that logs are from; anything else under these names is no such clock."""
_HELD_OUT = ("eval", "val", "test", "valid", "validation")
_decode = msgspec.json.Decoder().decode


class JsonLineFormat:
    """Reads a step, its total, the clock and the figures of an object; nested ones are left alone."""

    name = "json_line"

    def read(self, line: Line, text: FileText, origin: Origin) -> tuple[StepEvent, ...]:  # noqa: ARG002
        """The counter of an object that names one and is no result on held-out data."""
        content = line.text.strip()
        if not line.whole or not content.startswith('{"') or not content.endswith("}") or len(content) > MAX_CHARS:
            return ()
        try:
            fields = _decode(content)
        except (msgspec.DecodeError, RecursionError):
            return ()
        step = _first(fields, _STEPS)
        if step is None or step < 0 or str(fields.get("split") or fields.get("mode")).casefold() in _HELD_OUT:
            return ()
        total, epoch, wall_s = _first(fields, _TOTALS), _first(fields, ("epoch",)), _first(fields, _WALL)
        stamped = wall_s is not None and _PLAUSIBLE_S[0] < wall_s < _PLAUSIBLE_S[1]
        values = _values(fields)
        if not values and total is None:
            return ()
        return (
            StepEvent(
                process=origin.process,
                source=self.name,
                where=origin.where,
                series="step",
                unit="step",
                step=step,
                total=total if total and total >= step else None,
                total_source="" if total is None else "log line",
                epoch=epoch,
                event_s=wall_s if stamped else None,
                event_clock="text" if stamped else "none",
                elapsed_s=_elapsed_s(fields),
                seen_s=origin.seen_s,
                values=values,
                confidence=0.8 if any(value.name == "loss" for value in values) else 0.7,
                evidence=content[:EVIDENCE_CHARS],
            ),
        )


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _first(fields: dict[str, object], names: tuple[str, ...]) -> float | None:
    return next((number for name in names if (number := _number(fields.get(name))) is not None), None)


def _elapsed_s(fields: dict[str, object]) -> float | None:
    for name in _ELAPSED:
        value = fields.get(name)
        found = duration_s(value) if isinstance(value, str) else _number(value)
        if found is not None:
            return found
    return None


def _values(fields: dict[str, object]) -> tuple[StepValue, ...]:
    values: dict[str, StepValue] = {}
    for key, value in fields.items():
        name = own_name(key) if len(key) <= 64 else None
        if name is None or name == "epoch" or name in values or isinstance(value, bool):
            continue
        kept = figure(name, str(value)[:32]) if isinstance(value, (int, float, str)) else None
        if kept is not None:
            values[name] = kept
            if len(values) == MAX_FIGURES:
                break
    return tuple(values.values())
