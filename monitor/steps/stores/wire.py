"""The two outer shells of event files: protocol-buffer fields and the checksum of a record's length."""

from __future__ import annotations

import struct
from collections.abc import Iterator

Field = tuple[int, int | bytes]
"""Number of a field, and its value: varints and fixed fields as integers, everything else as bytes."""


class NotAMessageError(Exception):
    """The bytes are no protocol-buffer message."""


def fields(data: bytes) -> Iterator[Field]:
    """The fields of a message, in order. Doubles and floats come as their raw bits.

    Raises:
        NotAMessageError: a field is cut, has an impossible number or type.
    """
    at, end = 0, len(data)
    while at < end:
        tag, at = _varint(data, at)
        number, kind = tag >> 3, tag & 7
        if number == 0:
            raise NotAMessageError
        if kind == 0:
            value, at = _varint(data, at)
            yield number, value
            continue
        if kind == 2:
            size, at = _varint(data, at)
        elif kind == 1:
            size = 8
        elif kind == 5:
            size = 4
        else:
            raise NotAMessageError
        if size > end - at:
            raise NotAMessageError
        piece = data[at : at + size]
        at += size
        yield number, (piece if kind == 2 else int.from_bytes(piece, "little"))


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise NotAMessageError
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
        shift += 7


def signed(value: int) -> int:
    """A varint as the signed 64-bit number that it stands for."""
    return value - (1 << 64) if value >= 1 << 63 else value


def as_double(bits: int) -> float:
    """The raw bits of a fixed 64-bit field as a number."""
    return float(struct.unpack("<d", bits.to_bytes(8, "little"))[0])


def as_float(bits: int) -> float:
    """The raw bits of a fixed 32-bit field as a number."""
    return float(struct.unpack("<f", bits.to_bytes(4, "little"))[0])


def _table() -> tuple[int, ...]:
    entries = []
    for n in range(256):
        value = n
        for _ in range(8):
            value = (value >> 1) ^ 0x82F63B78 if value & 1 else value >> 1
        entries.append(value)
    return tuple(entries)


_CRC32C = _table()


def masked_crc32c(data: bytes) -> int:
    """The checksum of TFRecord files: CRC-32C (Castagnoli), rotated right by 15 bits, plus 0xA282EAD8."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC32C[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF
