"""Readings of a step counter. One record per reading; conflicts are shown, never averaged."""

from __future__ import annotations

from typing import Literal

from monitor.types.identity import ProcessIdentity
from monitor.types.record import Record

StepUnit = Literal["optimizer_step", "micro_batch", "epoch", "log_line", "step"]
"""What one count is. "step" where the text says step and nothing tells which kind."""

Phase = Literal[
    "starting",
    "preparing",
    "skipping",
    "warming",
    "training",
    "evaluating",
    "saving",
    "generating",
    "stalled",
    "ended",
    "not_training",
]


class StepValue(Record, frozen=True, kw_only=True):
    """A figure that came with a step: loss, lr, tokens_per_s, grad_norm, epoch… Text only for nan, inf and -inf."""

    name: str
    value: float | str


class StepEvent(Record, frozen=True, kw_only=True):
    """One reading of one counter of one process (or of a log file, where `process` is `None`)."""

    process: ProcessIdentity | None = None
    source: str
    """Which reader: for example tqdm, hf_dict, step_line."""
    where: str = ""
    """What it read, for a person: "stderr → logs/train.err"."""
    series: str = ""
    """Tells counters of one source apart: two bars of one file are two series."""
    unit: StepUnit = "step"
    step: float | None = None
    """`None` for a reading that carries a phase or values but no counter."""
    total: float | None = None
    total_source: str = ""
    epoch: float | None = None
    event_s: float | None = None
    """Wall clock at which the count was reached, where the source tells."""
    event_clock: Literal["text", "file_time", "none"] = "none"
    elapsed_s: float | None = None
    """The source's own elapsed time at this count (tqdm prints it); for rates, not for the calendar."""
    seconds_per_step: float | None = None
    """What the source itself prints as its rate; quoted, not trusted."""
    seen_s: float = 0.0
    phase: Phase | None = None
    ended: str | None = None
    """finished, out_of_memory, error, killed, time_limit when the text says so."""
    values: tuple[StepValue, ...] = ()
    confidence: float = 0.5
    """0 to 1: how sure the reader is that this counter is the training's."""
    evidence: str = ""
    """The line itself, cleaned and cut."""


class ProgressPoint(Record, frozen=True, kw_only=True):
    """One point of the counter that is used, for the finish time. Points of one counter rise in time and in step."""

    time_s: float
    """By the clock named in `clock`; only differences mean something."""
    step: float
    clock: Literal["text", "elapsed", "watched", "printed"] = "watched"
    resolution_s: float = 0.0
    """How coarse that clock is."""
    stalled: Phase | None = None
    """evaluating, saving, generating: what is known to have lain between the point before and this one."""
