"""One row of the tables of known lines: how a framework prints its counter."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from monitor.steps.formats.announced import EPOCH_KEYS
from monitor.types.steps import Phase, StepUnit

N = r"(?:\d{1,3}(?:,\d{3}){1,4}|\d{1,12})(?!\d)"
"""A counter."""
D = r"\d{1,9}(?:\.\d{1,9})?"
"""A decimal number."""


@dataclass(frozen=True)
class LineShape:
    """How one line of one framework looks.

    The named groups of `pattern` say what stands where: `n` and `total` count the run, `batch` and `batches` an epoch,
    `epoch` and `epochs` number the epoch. Of times, `each` is that of one step, `elapsed` that of the run, `lasted`
    that of the epoch, `since` that since the line before, and `left` what the framework thinks is left.
    """

    framework: str
    hints: tuple[str, ...]
    """Plain words that all stand in the line: searched for before the pattern is."""
    pattern: re.Pattern[str]
    unit: StepUnit = "step"
    first_epoch: int | None = None
    """The number of the first epoch; `None` where the text must tell."""
    last_is_total: bool = False
    """The number of epochs (or of steps) is printed as that of the last one, counted from 0."""
    when: Literal["during", "begin", "done"] = "during"
    """Where in its epoch the line stands, for a line that names an epoch only."""
    zero_based: bool = False
    """`n` is that of a round which is over, counted from 0."""
    totals: tuple[str, ...] = ()
    """Names of settings that hold the total of `n`."""
    epoch_totals: tuple[str, ...] = EPOCH_KEYS
    each: re.Pattern[str] | None = None
    """Where the time of a step stands, if not in `pattern`; its group 1 is seconds."""
    elapsed_after: re.Pattern[str] | None = None
    """Where a later line of the same block tells the time of the run; its group 1 is a duration."""
    scale_s: float = 1.0
    """Seconds of one unit of `each`."""
    each_key: str = ""
    """The name of an announced figure that is the time of a step, where another line tells it."""
    confidence: float = 0.85
    """Of a counter of steps; one of epochs gives way to any surer counter of steps."""


@dataclass(frozen=True)
class Mark:
    """A line that says what the run does, or how it ended, without counting a step."""

    framework: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    phase: Phase | None = None
    ended: str | None = None
    epochs: bool = False
    """Its groups `epoch` and `epochs` tell which epoch begins."""


def compiled(pattern: str) -> re.Pattern[str]:
    """With `{N}` and `{D}` for numbers, so that rows stay short."""
    return re.compile(pattern.replace("{N}", N).replace("{D}", D))


def longest_first(hints: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The longest hint, and the others."""
    ordered = sorted(hints, key=len, reverse=True)
    return ordered[0], tuple(ordered[1:])
