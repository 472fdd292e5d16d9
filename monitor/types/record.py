"""The base of every record that travels on the stream."""

from __future__ import annotations

import msgspec


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """An immutable record. Fields at their default are left out of the JSON, so old readers and new writers agree."""


class Missing(Record, frozen=True, kw_only=True):
    """A datum that could not be had, and why. `field` is the name of the field that is `None`."""

    field: str
    reason: str
    """One of: not_supported, driver_too_old, no_permission, lost, timeout, not_yet, hidden, failed."""
    detail: str = ""
    """A plain sentence for a person, already cleaned; empty where the reason says it all."""


class Range(Record, frozen=True, kw_only=True):
    """An 80 % interval with its most likely value, all in the unit that the field name states."""

    low: float
    likely: float
    high: float
