"""Runs cut short: what was seen, and how long the run really went on from there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.finish.families import FAMILIES, UNFORESEEN, course

FRACTIONS = (0.10, 0.25, 0.50, 0.75)
LEAST_LINES = 4


@dataclass(frozen=True)
class Cut:
    """A run up to a moment."""

    group: str
    seen: list[tuple[float, float]]
    total: float
    truth_s: float


def invented(seeds: int, first_seed: int) -> Iterator[Cut]:
    """Cuts of invented runs."""
    for family in FAMILIES:
        kind = "unforeseen" if family in UNFORESEEN else "foreseen"
        for seed in range(first_seed, first_seed + seeds):
            pairs = [(s, float(n)) for s, n in course(family, seed)]
            yield from _cuts(f"{kind}: {family}", pairs, pairs[-1][1])


def recorded(folder: Path) -> Iterator[Cut]:
    """Cuts of the traces of a folder: JSON Lines with time, step and total_steps; a group for each first word."""
    for path in sorted(folder.glob("*.jsonl")):
        pairs: list[tuple[float, float]] = []
        total = 0.0
        with path.open(encoding="utf-8") as lines:
            for text in lines:
                row = json.loads(text)
                if not isinstance(row, dict) or not {"time", "step", "total_steps"} <= row.keys():
                    break
                pairs.append((float(row["time"]), float(row["step"])))
                total = float(row["total_steps"] or pairs[-1][1])
        if len(pairs) > LEAST_LINES:
            words = path.stem.split("_")
            name = " ".join(word for word in words if not word.isdigit()) if words[0] != "real" else "real"
            yield from _cuts(name, pairs, min(total, pairs[-1][1]) if total else pairs[-1][1])


def _cuts(group: str, pairs: list[tuple[float, float]], total: float) -> Iterator[Cut]:
    first = pairs[0][1]
    for fraction in FRACTIONS:
        at = next((i for i, pair in enumerate(pairs) if pair[1] >= first + fraction * (total - first)), len(pairs))
        if LEAST_LINES <= at + 1 < len(pairs):
            yield Cut(group, pairs[: at + 1], total, pairs[-1][0] - pairs[at][0])
