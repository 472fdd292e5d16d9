"""JSON objects behind a prefix or with figures as strings (fairseq), and those that tell of an epoch (DETR, MAE)."""

from __future__ import annotations

import re

import msgspec

from monitor.steps.formats.announced import UPDATE_KEYS
from monitor.steps.formats.figures import MAX_FIGURES, own_name
from monitor.steps.formats.line_format import EVIDENCE_CHARS, FileText, Origin, phase_event
from monitor.steps.formats.numbers import count, figure
from monitor.steps.lines import Line
from monitor.types.steps import StepEvent, StepUnit, StepValue

MAX_CHARS = 16_384
PREFIX_CHARS = 160
CONFIDENCE = 0.85
_STEPS = ("num_updates", "train_num_updates")
_OTHER_STEPS = ("step", "global_step", "iter", "iteration", "current_steps", "_step", "train_step")
"""Objects with one of these are read elsewhere."""
_HELD_OUT = re.compile(r"\b(?:valid\w*|eval\w*|test)\b", re.IGNORECASE)
_decode = msgspec.json.Decoder().decode


class PrefixedJsonFormat:
    """Reads the objects of one file."""

    name = "prefixed_json"

    def __init__(self) -> None:
        self._evaluating = False

    def read(self, line: Line, text: FileText, origin: Origin) -> tuple[StepEvent, ...]:
        """The update or the epoch that an object tells of."""
        content = line.text
        if not line.whole or not content.endswith("}") or len(content) > MAX_CHARS:
            return ()
        start = content.find('{"', 0, PREFIX_CHARS)
        if start < 0 or '"epoch"' not in content:
            return ()
        try:
            fields = _decode(content[start:])
        except (msgspec.DecodeError, RecursionError):
            return ()
        if not isinstance(fields, dict):
            return ()
        held_out = _HELD_OUT.search(content[:start]) is not None or any(key.startswith("valid_") for key in fields)
        step = next((n for key in _STEPS if (n := _number(fields.get(key))) is not None), None)
        if step is not None and held_out:
            return self._evaluation(line, origin)
        self._evaluating = False
        epoch = _number(fields.get("epoch"))
        if step is not None:
            total, source = text.announced.total(UPDATE_KEYS, least=step)
            wall_s = _number(fields.get("wall", fields.get("train_wall_total")))
            unit: StepUnit = "optimizer_step"
            return (self._event(line, text, origin, fields, step, total, source, epoch, unit, wall_s or None),)
        if epoch is None or any(_number(fields.get(key)) is not None for key in _OTHER_STEPS):
            return ()
        if epoch != int(epoch) or not any(key.startswith("train_") for key in fields):
            return ()
        total, source = text.announced.total(("epochs", "max_epochs", "num_epochs"), least=epoch)
        return (self._event(line, text, origin, fields, epoch, total, source, epoch, "epoch", None),)

    def _event(
        self,
        line: Line,
        text: FileText,
        origin: Origin,
        fields: dict[str, object],
        step: float,
        total: float | None,
        source: str,
        epoch: float | None,
        unit: StepUnit,
        wall_s: float | None,
    ) -> StepEvent:
        event_s, elapsed_s = text.clock.read(line.text, origin.seen_s)
        return StepEvent(
            process=origin.process,
            source=self.name,
            where=origin.where,
            series=unit,
            unit=unit,
            step=step,
            total=total,
            total_source=source,
            epoch=epoch,
            event_s=event_s,
            event_clock="none" if event_s is None else "text",
            elapsed_s=wall_s if elapsed_s is None else elapsed_s,
            seen_s=origin.seen_s,
            values=_values(fields),
            confidence=0.6 if unit == "epoch" else CONFIDENCE,
            evidence=line.text[:EVIDENCE_CHARS],
        )

    def _evaluation(self, line: Line, origin: Origin) -> tuple[StepEvent, ...]:
        if self._evaluating:
            return ()
        self._evaluating = True
        return (phase_event(self.name, "evaluating", origin, line.text[:EVIDENCE_CHARS], confidence=0.7),)


def _number(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    number = count(str(value)) if isinstance(value, (int, float, str)) else None
    return None if number is None or number < 0 else number


def _values(fields: dict[str, object]) -> tuple[StepValue, ...]:
    found: dict[str, StepValue] = {}
    for key, value in fields.items():
        name = own_name(key) if len(key) <= 64 else None
        if name is None or name == "epoch" or name in found or isinstance(value, bool):
            continue
        kept = figure(name, str(value)[:32]) if isinstance(value, (int, float, str)) else None
        if kept is not None and len(found) < MAX_FIGURES:
            found[name] = kept
    return tuple(found.values())
