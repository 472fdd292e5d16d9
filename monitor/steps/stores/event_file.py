"""TensorBoard event files: framed records, each an event with a step, a wall clock and figures under tags.

A frame is the length (8 bytes), its masked CRC-32C (4), the event, and the event's checksum (4). The length's
checksum is held to always: it tells a torn tail, which is waited for, from garbage, which is passed over.
"""

from __future__ import annotations

import json
import math
import struct
from dataclasses import dataclass, field

from monitor.clean import clean
from monitor.documents.given import named, value_of
from monitor.steps.formats.figures import MAX_FIGURES
from monitor.steps.formats.line_format import Origin
from monitor.steps.stores.rows import HELD_OUT, figure_name
from monitor.steps.stores.store import TOP_STEP, StorePlan, plan_of
from monitor.steps.stores.wire import NotAMessageError, as_double, as_float, fields, masked_crc32c, signed
from monitor.types.documents import Setting
from monitor.types.steps import StepEvent, StepUnit, StepValue

MAX_EVENT_BYTES = 1024 * 1024
"""Longer events are graphs and pictures: passed over unread."""
MAX_LENGTH = 1 << 40
MAX_TAGS = 4096
MAX_SETTINGS = 512
_HEADER, _FOOTER = 12, 4
_FLOAT, _DOUBLE, _INT32, _STRING, _INT64 = 1, 2, 3, 7, 9
_YEARS_S = (9.4e8, 5e9)


def is_event_file(name: str, head: bytes) -> bool:
    """By its first record, which names the version of the format; or by its name, where it is still empty."""
    if len(head) < _HEADER:
        return "tfevents" in name and not head.strip(b"\0")
    return _length(head, 0) is not None and (b"brain.Event:" in head[:80] or "tfevents" in name)


@dataclass
class _Gathered:
    """Everything that was written of one step, which comes as one event a figure."""

    step: float
    wall_s: float | None
    values: dict[str, StepValue] = field(default_factory=dict)
    epoch: float | None = None
    counted: bool = False
    finished: bool = False


class EventFile:
    """Reads scalars as counts and figures, and the text that frameworks keep their arguments in as settings."""

    whole = False
    needs_all = False

    def __init__(self) -> None:
        self.skip_bytes = 0
        self._plan = StorePlan()
        self._torn = b""
        self._tags: dict[str, float] = {}
        self._top = -1.0
        self._by_epoch = True
        self._settings: dict[str, Setting] = {}
        self._latest: dict[str, StepValue] = {}
        self._trainer = False

    def feed(self, data: bytes, origin: Origin) -> list[StepEvent]:
        """The records that are whole by now; a torn one is kept."""
        data = self._torn + data
        events: list[StepEvent] = []
        gathered: _Gathered | None = None
        at = 0
        while len(data) - at >= _HEADER:
            length = _length(data, at)
            if length is None:
                at = self._next_record(data, at + 1)
                continue
            whole = _HEADER + length + _FOOTER
            if length > MAX_EVENT_BYTES:
                self.skip_bytes = max(0, whole - (len(data) - at))
                at = min(len(data), at + whole)
                continue
            if len(data) - at < whole:
                break
            gathered = self._take(data[at + _HEADER : at + _HEADER + length], gathered, events, origin)
            at += whole
        self._torn = data[at:]
        if gathered is not None:
            events.extend(self._events(gathered, origin))
        return events

    def enter(self, data: bytes, position: int) -> int:  # noqa: ARG002
        """At the next header whose checksum holds."""
        self._torn, self.skip_bytes = b"", 0
        return self._next_record(data, 0)

    def settings(self) -> tuple[Setting, ...]:
        """Arguments that the Trainer, Lightning and others write into the file."""
        return tuple(self._settings.values())

    def take_plan(self, plan: StorePlan) -> None:
        """What documents beside the file plan, unless the file tells itself."""
        if not self._settings:
            self._plan = plan

    @staticmethod
    def _next_record(data: bytes, start: int) -> int:
        """Where the next good header begins; the last eleven bytes may be the beginning of one."""
        at = start
        while True:
            # Lengths are small numbers: the upper half of their eight bytes is zero.
            found = data.find(b"\0\0\0\0", at + 4)
            if found < 0 or found + 8 > len(data):
                return max(start, len(data) - _HEADER + 1)
            at = found - 4
            if _length(data, at) is not None:
                return at
            at += 1

    def _take(
        self, payload: bytes, gathered: _Gathered | None, events: list[StepEvent], origin: Origin
    ) -> _Gathered | None:
        try:
            step, wall_s, values = _event(payload)
        except NotAMessageError:
            return gathered
        if not 0 <= step < TOP_STEP:
            return gathered
        for value in values:
            tag, scalar, texts = value
            if texts:
                self._take_text(tag, texts)
            if scalar is None:
                continue
            if gathered is None or gathered.step != step:
                if gathered is not None:
                    events.extend(self._events(gathered, origin))
                gathered = _Gathered(float(step), wall_s)
            self._take_scalar(tag, scalar, gathered)
        return gathered

    def _take_scalar(self, tag: str, scalar: float, gathered: _Gathered) -> None:
        name = figure_name(tag)
        plain = tag.casefold()
        if plain.rsplit("/", 1)[-1] == "epoch" and 0 <= scalar < 1e9:
            gathered.epoch = scalar
        elif name is not None and name not in gathered.values and len(gathered.values) < MAX_FIGURES:
            gathered.values[name] = StepValue(name=name, value=scalar if math.isfinite(scalar) else _word(scalar))
        if plain.rsplit("/", 1)[-1] == "train_runtime":
            gathered.finished = True
        if HELD_OUT.search(tag):
            return
        before = self._tags.get(tag, -1.0)
        if tag in self._tags or len(self._tags) < MAX_TAGS:
            self._tags[tag] = gathered.step
        self._by_epoch = self._by_epoch and plain.startswith("epoch_")
        if gathered.step >= self._top:
            gathered.counted = True
        elif before > gathered.step and before >= 0.5 * self._top:
            gathered.counted = True  # what led has fallen: begun anew; tags that count epochs never led
            self._tags = {tag: gathered.step}
        if gathered.counted:
            self._top = gathered.step

    def _events(self, gathered: _Gathered, origin: Origin) -> list[StepEvent]:
        unit: StepUnit = "epoch" if self._by_epoch else "optimizer_step" if self._trainer else "step"
        counted = gathered.counted
        self._latest.update(gathered.values)
        step = gathered.step + (1 if self._by_epoch else 0)
        total = self._plan.total(unit, step) if counted else None
        if not counted and not gathered.values:
            return []
        return [
            StepEvent(
                process=origin.process,
                source="tensorboard",
                where=origin.where,
                series="step",
                unit=unit,
                step=step if counted else None,
                total=total,
                total_source="" if total is None else self._plan.source,
                epoch=gathered.epoch,
                event_s=gathered.wall_s,
                event_clock="none" if gathered.wall_s is None else "text",
                seen_s=origin.seen_s,
                values=tuple(self._latest.values()),
                ended="finished" if gathered.finished else None,
                confidence=0.75,
                evidence=f"step {gathered.step:g}",
            )
        ]

    def _take_text(self, tag: str, texts: list[bytes]) -> None:
        """Arguments as JSON: `args/text_summary`, `model_config/text_summary`."""
        prefix = tag.removesuffix("/text_summary")
        if prefix == tag or len(texts) != 1 or not texts[0].lstrip().startswith(b"{"):
            return
        try:
            read = json.loads(texts[0].decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return
        self._trainer = self._trainer or prefix == "args"
        for key, value in list(read.items())[:MAX_SETTINGS] if isinstance(read, dict) else ():
            if isinstance(value, (str, int, float)) and len(self._settings) < MAX_SETTINGS:
                name = clean(str(key), 128) if prefix == "args" else clean(f"{prefix}.{key}", 128)
                kept = value if isinstance(value, bool) else value_of(str(value)[:600])
                source = clean(f"event file, {prefix}", 200)
                self._settings[name] = Setting(name=name, value=named(name, kept), source=source)
        self._plan = plan_of(self._settings.values())


def _word(value: float) -> str:
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def _length(data: bytes, at: int) -> int | None:
    """The length that a good header tells."""
    if at + _HEADER > len(data):
        return None
    length = int.from_bytes(data[at : at + 8], "little")
    if length > MAX_LENGTH or int.from_bytes(data[at + 8 : at + 12], "little") != masked_crc32c(data[at : at + 8]):
        return None
    return length


_Value = tuple[str, float | None, list[bytes]]


def _event(payload: bytes) -> tuple[int, float | None, list[_Value]]:
    """Step, wall clock and the tagged values of an event: 1 wall_time, 2 step, 5 summary of 1 value."""
    step, wall_s = 0, None
    values: list[_Value] = []
    for number, content in fields(payload):
        if number == 1 and isinstance(content, int):
            read = as_double(content)
            wall_s = read if _YEARS_S[0] < read < _YEARS_S[1] else None
        elif number == 2 and isinstance(content, int):
            step = signed(content)
        elif number == 5 and isinstance(content, bytes):
            values.extend(_value(inner) for n, inner in fields(content) if n == 1 and isinstance(inner, bytes))
    return step, wall_s, values


def _value(content: bytes) -> _Value:
    """1 tag, 2 simple_value, 8 tensor."""
    tag, scalar = "", None
    texts: list[bytes] = []
    for number, inner in fields(content):
        if number == 1 and isinstance(inner, bytes):
            tag = clean(inner[:600], 200)
        elif number == 2 and isinstance(inner, int):
            scalar = as_float(inner)
        elif number == 8 and isinstance(inner, bytes):
            scalar, texts = _tensor(inner)
    return tag, scalar, texts


def _tensor(content: bytes) -> tuple[float | None, list[bytes]]:
    """A tensor of one number, or of texts: 1 type, 4 raw content, 5 floats, 6 doubles, 7 ints, 8 texts, 10 longs."""
    kind, raw, one = 0, b"", None
    texts: list[bytes] = []
    for number, inner in fields(content):
        if number == 1 and isinstance(inner, int):
            kind = inner
        elif number == 8 and isinstance(inner, bytes):
            texts.append(inner)
        elif number in (4, 5, 6) and isinstance(inner, bytes):
            raw = inner
        elif number == 5 and isinstance(inner, int):
            one = as_float(inner)
        elif number == 6 and isinstance(inner, int):
            one = as_double(inner)
    if kind == _STRING:
        return None, texts
    shape = {_FLOAT: "<f", _DOUBLE: "<d", _INT32: "<i", _INT64: "<q"}.get(kind)
    if one is None and shape is not None and len(raw) == struct.calcsize(shape):
        one = float(struct.unpack(shape, raw)[0])
    return one, []
