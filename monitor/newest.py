"""Mappings that stay bounded: the newest entries are kept, in the order in which they were last put."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def put_newest(kept: MutableMapping[K, V], key: K, value: V, most: int) -> None:
    """Put an entry last, also where its key was there before, and let the oldest go beyond `most`."""
    kept.pop(key, None)
    kept[key] = value
    drop_oldest(kept, most)


def drop_oldest(kept: MutableMapping[K, V], most: int) -> None:
    """Let the oldest entries go until `most` are left."""
    while len(kept) > most:
        del kept[next(iter(kept))]
