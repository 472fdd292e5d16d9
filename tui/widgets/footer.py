"""The last line: the keys that matter most, as many as fit; or a short-lived notice."""

from __future__ import annotations

from collections.abc import Sequence

from tui.widgets.ink import Line, Pen, cut, width_of

Key = tuple[str, str, int, str]
"""Key, word, rank (lowest stays longest), and what a click does."""


def paint_footer(keys: Sequence[Key], width: int, notice: str = "") -> Line:
    """Keys in their order; those of the highest rank are left out first."""
    if notice:
        return Pen().gap().put(cut(notice, width - 2), "warn").line(width, "band")
    kept = list(keys)
    while kept and sum(width_of(key) + width_of(word) + 3 for key, word, _, _ in kept) + 1 > width:
        kept.remove(max(kept, key=lambda one: one[2]))
    pen = Pen().gap()
    for key, word, _, target in kept:
        pen.put(key, "key", target).put(f" {word}", "label", target).gap(2)
    return pen.line(width, "band")
