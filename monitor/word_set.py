"""A set of words written as lines of text: short to read, short to change."""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """The words of a text that are set apart by blanks."""
    return frozenset(text.split())
