"""Repeatable noise: a function of a seed and a number, so that any moment can be computed without those before it."""

from __future__ import annotations

import math
import zlib

_MASK = (1 << 64) - 1


def seed_of(*parts: int | str) -> int:
    """One seed from several parts; the same in every process and Python version (unlike `hash`)."""
    return zlib.crc32("\x1f".join(map(str, parts)).encode())


def noise(seed: int, number: int) -> float:
    """A value from -1 to 1, evenly spread: the finaliser of SplitMix64 (Steele, Lea, Flood 2014)."""
    mixed = (seed * 0x9E3779B97F4A7C15 + number * 0xBF58476D1CE4E5B9 + 0x94D049BB133111EB) & _MASK
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
    return (mixed ^ (mixed >> 31)) / 9223372036854775808.0 - 1.0


def slow_noise(seed: int, at: float) -> float:
    """Noise that runs smoothly from one whole number to the next, from -1 to 1."""
    whole = math.floor(at)
    part = at - whole
    part = part * part * (3.0 - 2.0 * part)
    return noise(seed, whole) * (1.0 - part) + noise(seed, whole + 1) * part
