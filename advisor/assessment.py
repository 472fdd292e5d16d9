"""What a run's figures mean: the answer that screens, text and JSON show."""

from __future__ import annotations

from monitor.types.record import Range, Record


class Assessment(Record, frozen=True, kw_only=True):
    """The judgement on one run. `remaining_s` is `None` where it cannot be known; then `unknown_because` says why."""

    run_id: str
    framework: str | None = None
    remaining_s: Range | None = None
    finish_s: Range | None = None
    """Wall clock: `remaining_s` counted from the stream's time."""
    unknown_because: str = ""
    at_most: bool = False
    """True where the run may end earlier by itself (early stopping): the time left is an upper bound."""
    includes: tuple[str, ...] = ()
    """What the time left holds beside steps: "14 evaluations of 52 s"."""
    changed_because: str = ""
    """Why the finish time moved by much last, in words."""
    within_limit_ratio: float | None = None
    """Chance to finish before the scheduler's limit, where there is one."""
    basis: str = ""
    """What the time left is computed from, for the steps tab."""
