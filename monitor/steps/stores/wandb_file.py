"""W&B's `run-ID.wandb`: the log that its client keeps of everything it sends, in LevelDB's blocks.

A block is 32 KiB. It holds pieces of records: checksum (4 bytes), length (2), type (1: whole, 2: first, 3: middle,
4: last), content. The file begins with seven bytes of its own. A record is a protocol-buffer message of which field
2 is a row of the history, 5 the configuration, 18 the exit.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from monitor.clean import clean
from monitor.documents.given import named, value_of
from monitor.steps.formats.line_format import Origin
from monitor.steps.stores.rows import RowCounter
from monitor.steps.stores.store import StorePlan, plan_of
from monitor.steps.stores.wire import NotAMessageError, as_double, fields, signed
from monitor.types.documents import Setting
from monitor.types.steps import StepEvent

BLOCK_BYTES = 32768
MAX_RECORD_BYTES = 1024 * 1024
MAX_FIELDS = 2048
MAX_SETTINGS = 512
_IDENT = b":W&B"
_FILE_HEADER, _PIECE_HEADER = 7, 7
_WHOLE, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4


def is_wandb_file(name: str, head: bytes) -> bool:  # noqa: ARG001
    """By its first four bytes."""
    return head.startswith(_IDENT)


@dataclass
class _Record:
    """What was put together so far of a record in several pieces; `None` while none is open."""

    pieces: list[bytes] | None = None
    size: int = 0

    def begin(self) -> None:
        self.pieces, self.size = [], 0

    def add(self, piece: bytes) -> None:
        if self.pieces is None:
            return
        self.size += len(piece)
        if self.size > MAX_RECORD_BYTES:
            self.pieces = None  # a table or a console of megabytes: nothing in it for us
            return
        self.pieces.append(piece)

    def end(self) -> bytes | None:
        pieces, self.pieces = self.pieces, None
        return None if pieces is None else b"".join(pieces)


@dataclass
class WandbFile:
    """Rows of the history are counted as rows of a table are; the configuration becomes settings."""

    whole: bool = False
    needs_all: bool = False
    skip_bytes: int = 0
    _torn: bytes = b""
    _position: int = 0
    """In the file, of the first byte that is torn."""
    _record: _Record = field(default_factory=_Record)
    _counter: RowCounter = field(default_factory=lambda: RowCounter("wandb", 0.7))
    _settings: dict[str, Setting] = field(default_factory=dict)

    def feed(self, data: bytes, origin: Origin) -> list[StepEvent]:
        """The records that are whole by now."""
        data = self._torn + data
        events: list[StepEvent] = []
        at = 0
        if self._position == 0:
            if len(data) < _FILE_HEADER:
                self._torn = data
                return []
            at = _FILE_HEADER
        while True:
            room = BLOCK_BYTES - (self._position + at) % BLOCK_BYTES
            if room < _PIECE_HEADER:
                if len(data) - at < room:
                    break
                at += room  # the end of a block that had no room for a header
                continue
            if len(data) - at < _PIECE_HEADER:
                break
            length = int.from_bytes(data[at + 4 : at + 6], "little")
            kind = data[at + 6]
            if kind not in (_WHOLE, _FIRST, _MIDDLE, _LAST) or length > room - _PIECE_HEADER:
                # Garbage, or space that is allocated and not written: the next block may be good.
                if len(data) - at < room:
                    break
                self._record.end()
                at += room
                continue
            if len(data) - at < _PIECE_HEADER + length:
                break
            record = self._piece(kind, data[at + _PIECE_HEADER : at + _PIECE_HEADER + length])
            at += _PIECE_HEADER + length
            if record is not None:
                events.extend(self._take(record, origin))
        self._position += at
        self._torn = data[at:]
        return events

    def enter(self, data: bytes, position: int) -> int:
        """At the next block."""
        self._record.end()
        start = min(len(data), -position % BLOCK_BYTES)
        self._torn, self._position = b"", position + start
        return start

    def settings(self) -> tuple[Setting, ...]:
        """The configuration that the run gave to W&B."""
        return tuple(self._settings.values())

    def take_plan(self, plan: StorePlan) -> None:
        """What documents beside the file plan, unless the file tells itself."""
        if not self._settings:
            self._counter.planned = plan

    def _piece(self, kind: int, piece: bytes) -> bytes | None:
        if kind in (_WHOLE, _FIRST):
            self._record.begin()
        self._record.add(piece)
        return self._record.end() if kind in (_WHOLE, _LAST) else None

    def _take(self, record: bytes, origin: Origin) -> list[StepEvent]:
        events: list[StepEvent] = []
        try:
            for number, content in fields(record):
                if number == 2 and isinstance(content, bytes):
                    events.extend(self._counter.read(_history(content), origin, "history"))
                elif number == 5 and isinstance(content, bytes):
                    self._take_config(content)
                elif number == 17 and isinstance(content, bytes):
                    for inner_number, inner in fields(content):
                        if inner_number == 4 and isinstance(inner, bytes):  # the run's first configuration
                            self._take_config(inner)
                elif number == 18 and isinstance(content, bytes):
                    events.append(_exit(content, origin))
        except NotAMessageError:
            return events
        return events

    def _take_config(self, content: bytes) -> None:
        """1 update: 1 key, 2 nested keys, 16 value as JSON."""
        for number, item in fields(content):
            if number != 1 or not isinstance(item, bytes):
                continue
            key, value = _item(item)
            for name, kept in _flat(key, value):
                if len(self._settings) < MAX_SETTINGS:
                    safe = clean(name, 128)
                    self._settings[safe] = Setting(name=safe, value=named(safe, kept), source="W&B configuration")
        self._counter.planned = plan_of(self._settings.values())


def _flat(key: str, value: object) -> list[tuple[str, str | float | bool | None]]:
    """Plain values; of an object its plain fields (`_wandb` holds only W&B's own facts)."""
    if not key or key == "_wandb":
        return []
    if isinstance(value, dict):
        return [pair for k, v in list(value.items())[:64] if not isinstance(v, dict) for pair in _flat(f"{key}.{k}", v)]
    if value is None or isinstance(value, bool):
        return [(key, value)]
    return [(key, value_of(str(value)[:600]))] if isinstance(value, (int, float, str)) else []


def _history(content: bytes) -> dict[str, object]:
    """1 item: as in the configuration; 2 step: 1 number."""
    row: dict[str, object] = {}
    for number, inner in fields(content):
        if number == 1 and isinstance(inner, bytes) and len(row) < MAX_FIELDS:
            key, value = _item(inner)
            if isinstance(value, (int, float, str)) and not isinstance(value, bool):
                row[key.casefold()] = value if not isinstance(value, str) else value[:64]
        elif number == 2 and isinstance(inner, bytes):
            for step_number, step in fields(inner):
                if step_number == 1 and isinstance(step, int):
                    row.setdefault("_step", signed(step))
    return row


def _item(content: bytes) -> tuple[str, object]:
    """Key (nested ones joined by slashes) and value of an item: 5 integer, 6 number, 7 text, 8 and 16 JSON."""
    keys: list[str] = []
    value: object = None
    for number, inner in fields(content):
        if number in (1, 2) and isinstance(inner, bytes):
            keys.append(clean(inner[:600], 128))
        elif number == 5 and isinstance(inner, int):
            value = signed(inner)
        elif number == 6 and isinstance(inner, int):
            value = as_double(inner)
        elif number == 7 and isinstance(inner, bytes):
            value = clean(inner[:600], 300)
        elif number in (8, 16) and isinstance(inner, bytes) and len(inner) <= 65536:
            try:
                value = json.loads(inner)
            except (ValueError, RecursionError):
                value = None
    return "/".join(keys[:8]), value


def _exit(content: bytes, origin: Origin) -> StepEvent:
    code = 0
    for number, inner in fields(content):
        if number == 1 and isinstance(inner, int):
            code = signed(inner)
    return StepEvent(
        process=origin.process,
        source="wandb",
        where=origin.where,
        seen_s=origin.seen_s,
        ended="finished" if code == 0 else "error",
        confidence=0.8,
        evidence=f"W&B: exit code {code}",
    )
