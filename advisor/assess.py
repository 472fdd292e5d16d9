"""The judgement on every run, tick by tick: a deterministic reducer, steady enough to be read."""

from __future__ import annotations

from dataclasses import dataclass, replace

import msgspec

from advisor.assessment import Assessment
from advisor.finish.estimator import FinishEstimator
from advisor.finish.plain_mean import Pace, Remaining, remaining
from advisor.finish.plan import plan_of
from advisor.finish.spread import within
from monitor.types.messages import Snapshot
from monitor.types.record import Range
from monitor.types.run import Run

REFRESH_S = 2.0
"""A finish time changes at most this often."""
HYSTERESIS_RATIO = 0.01
"""A finish time that would move by less than this share of the time left stays."""
LATE_FLOOR_S = 30.0
LATE_RATIO = 0.05
"""The time left counts from the last step, but from no further back than this: a run that stands still ends later."""


@dataclass
class _Kept:
    """What was said of a run last."""

    assessment: Assessment
    judged_boot_s: float
    cause: tuple[object, ...]
    """What makes a new judgement due at once."""
    estimator: FinishEstimator


class Assessor:
    """Takes each snapshot with the runs of that moment."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}

    def update(self, snapshot: Snapshot, runs: tuple[Run, ...]) -> None:
        """Judge the runs anew. Runs that are no longer there are forgotten."""
        kept: dict[str, _Kept] = {}
        for run in runs:
            before = self._kept.get(run.run_id)
            kept[run.run_id] = _judge(run, snapshot, before)
        self._kept = kept

    def assessments(self) -> dict[str, Assessment]:
        """The judgement on each run, by run id."""
        return {run_id: kept.assessment for run_id, kept in self._kept.items()}


def pace_of(run: Run) -> Pace:
    """The part of a run that its finish time follows from."""
    return Pace(
        step=run.step,
        total=run.total,
        total_source=run.total_source,
        step_seconds=run.step_seconds,
        wall_seconds_per_step=run.wall_seconds_per_step,
        rate_clock=run.rate_clock,
        rate_window_s=run.rate_window_s,
        rate_steps=run.rate_steps,
        rate_spread_ratio=run.rate_spread_ratio,
        ended=None if run.ended is None else run.ended.how,
    )


def _judge(run: Run, snapshot: Snapshot, before: _Kept | None) -> _Kept:
    estimator = FinishEstimator() if before is None else before.estimator
    if run.kind != "training":
        unknown = Assessment(run_id=run.run_id, unknown_because="this is no training run")
        return _Kept(unknown, snapshot.boot_s, ("no training",), estimator)
    estimator.take(run.progress_key, run.unit, run.progress)
    cause = (run.total, run.total_source, None if run.ended is None else run.ended.how)
    if before is not None and before.cause == cause and before.assessment.finish_s is not None:
        if snapshot.boot_s - before.judged_boot_s < REFRESH_S:
            return _Kept(_moved_on(before.assessment, snapshot.taken_s), before.judged_boot_s, cause, estimator)
        fresh = _assessment(run, _left(run, estimator, snapshot), snapshot.taken_s)
        if _close(before.assessment, fresh):
            return _Kept(_moved_on(before.assessment, snapshot.taken_s), snapshot.boot_s, cause, estimator)
        return _Kept(fresh, snapshot.boot_s, cause, estimator)
    left = _left(run, estimator, snapshot)
    return _Kept(_assessment(run, left, snapshot.taken_s), snapshot.boot_s, cause, estimator)


def _left(run: Run, estimator: FinishEstimator, snapshot: Snapshot) -> Remaining:
    """From the points of the run's counter; by the plain mean of its figures where there are none."""
    plan = plan_of(run, snapshot.taken_s)
    if estimator.has_points:
        return estimator.estimate(plan)
    left = remaining(pace_of(run))
    if left.seconds is None:
        return left
    chance = None if plan.limit_s is None else within(left.seconds, plan.limit_s)
    return replace(left, at_most=plan.early_stopping, within_limit_ratio=chance)


def _assessment(run: Run, left: Remaining, now_s: float) -> Assessment:
    if left.seconds is None:
        return Assessment(run_id=run.run_id, unknown_because=left.unknown_because)
    if run.ended is not None:  # it finished: the time of that stays, however long one goes on to look
        at_s = min(now_s, run.ended.seen_s)
        over, none_left = Range(low=at_s, likely=at_s, high=at_s), Range(low=0.0, likely=0.0, high=0.0)
        return Assessment(run_id=run.run_id, finish_s=over, remaining_s=none_left, basis=left.basis)
    anchor_s = now_s
    if run.last_step_s is not None and left.seconds.likely > 0:
        allowed_s = max(LATE_FLOOR_S, LATE_RATIO * left.seconds.likely)
        anchor_s = min(now_s, max(run.last_step_s, now_s - allowed_s))
    finish_s = _shifted(left.seconds, anchor_s, now_s)
    return Assessment(
        run_id=run.run_id,
        finish_s=finish_s,
        remaining_s=_shifted(finish_s, -now_s, 0.0),
        at_most=left.at_most,
        includes=left.includes,
        changed_because=left.changed_because,
        within_limit_ratio=left.within_limit_ratio,
        basis=left.basis,
    )


def _shifted(span: Range, by_s: float, least_s: float) -> Range:
    return Range(
        low=max(least_s, span.low + by_s), likely=max(least_s, span.likely + by_s), high=max(least_s, span.high + by_s)
    )


def _moved_on(assessment: Assessment, now_s: float) -> Assessment:
    """The same finish time, seen from a later moment."""
    finish_s = assessment.finish_s
    if finish_s is None:
        return assessment
    return msgspec.structs.replace(assessment, remaining_s=_shifted(finish_s, -now_s, 0.0))


def _close(old: Assessment, new: Assessment) -> bool:
    """Whether the finish time and its range would hardly move."""
    if old.finish_s is None or new.finish_s is None or new.remaining_s is None:
        return False
    allowed_s = HYSTERESIS_RATIO * new.remaining_s.likely
    pairs = zip(_ends(old.finish_s), _ends(new.finish_s), strict=True)
    return all(abs(a - b) <= allowed_s for a, b in pairs)


def _ends(span: Range) -> tuple[float, float, float]:
    return span.low, span.likely, span.high
