"""Event files and W&B logs made byte by byte, and small ways to read them. All values are invented."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

from monitor.steps.formats.line_format import Origin
from monitor.steps.stores.follower import StoreFollower, StorePoll
from monitor.steps.stores.wire import masked_crc32c
from monitor.types.steps import StepEvent

T0_S = 1_770_000_000.0
ORIGIN = Origin(None, "store", T0_S + 1e6)


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def inner(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def number_field(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def frame(payload: bytes) -> bytes:
    length = struct.pack("<Q", len(payload))
    return length + struct.pack("<I", masked_crc32c(length)) + payload + b"\0\0\0\0"


def event(step: int, wall_s: float, *values: bytes) -> bytes:
    content = varint(1 << 3 | 1) + struct.pack("<d", wall_s) + number_field(2, step)
    return frame(content + inner(5, b"".join(inner(1, value) for value in values)))


def scalar(tag: str, value: float) -> bytes:
    return inner(1, tag.encode()) + varint(2 << 3 | 5) + struct.pack("<f", value)


def tensor(tag: str, value: float) -> bytes:
    return inner(1, tag.encode()) + inner(8, number_field(1, 1) + inner(4, struct.pack("<f", value)))


def text(tag: str, content: str) -> bytes:
    return inner(1, tag.encode()) + inner(8, number_field(1, 7) + inner(8, content.encode()))


HEADER = frame(varint(1 << 3 | 1) + struct.pack("<d", T0_S) + inner(3, b"brain.Event:2"))


def blocks(records: list[bytes]) -> bytes:
    """Records in 32 KiB blocks, in pieces where they do not fit."""
    out = b":W&B" + struct.pack("<HB", 0xBEE1, 0)
    for record in records:
        rest, first = record, True
        while True:
            room = 32768 - len(out) % 32768
            if room < 7:
                out += b"\0" * room
                continue
            piece, rest = rest[: room - 7], rest[room - 7 :]
            kind = (1 if first else 4) if not rest else (2 if first else 3)
            out += struct.pack("<IHB", 0, len(piece), kind) + piece
            first = False
            if not rest:
                break
    return out


def history(**row: object) -> bytes:
    items = [inner(2, key.encode()) + inner(16, json.dumps(value).encode()) for key, value in row.items()]
    return inner(2, b"".join(inner(1, item) for item in items))


def read(path: Path, *, follower: StoreFollower | None = None) -> StorePoll:
    follower = follower or StoreFollower(path.name, tick_bytes=1 << 26, most_events=10_000)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return follower.poll(descriptor, ORIGIN)
    finally:
        os.close(descriptor)


def counts(polled: StorePoll) -> list[StepEvent]:
    return [e for e in polled.events if e.step is not None]


def steps(polled: StorePoll) -> list[float]:
    return [e.step for e in polled.events if e.step is not None]
