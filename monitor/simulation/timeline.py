"""Where a simulated run stands at a given age: a pure function, so that every source sees the same run at any time."""

from __future__ import annotations

import math
from dataclasses import dataclass

from monitor.simulation.plans import RunPlan
from monitor.types.steps import Phase

_TREMBLE_STEPS = 0.6
"""Steps are a little early or late against an even pace; far below one tenth of the pace, so the count never falls."""


@dataclass(frozen=True)
class Moment:
    """A run at one moment."""

    phase: Phase
    step: int
    phase_s: float
    """For how long it has been in this phase."""
    part: float
    """How much of this phase is done, from 0 to 1."""
    evaluations: int
    """Begun so far."""


@dataclass(frozen=True)
class _Segment:
    phase: Phase
    duration_s: float
    steps: int


class Timeline:
    """Start-up, then training with evaluations and saves in a fixed cycle."""

    def __init__(self, plan: RunPlan) -> None:
        self._plan = plan
        self._segments = _cycle(plan)
        self._cycle_s = sum(segment.duration_s for segment in self._segments)
        self._cycle_steps = sum(segment.steps for segment in self._segments)
        self._cycle_evaluations = sum(segment.phase == "evaluating" for segment in self._segments)
        self.duration_s = self.age_of_step(plan.total) if plan.total else math.inf
        """Age at which the last step is done."""

    def age_of_step(self, step: int) -> float:
        """Age at which this many steps are done (before any pause that follows)."""
        cycles, rest = divmod(step, self._cycle_steps)
        if rest == 0 and cycles:
            cycles, rest = cycles - 1, self._cycle_steps
        age_s = self._plan.startup_s + cycles * self._cycle_s
        for segment in self._segments:
            if segment.steps >= rest:
                return age_s + rest * self._plan.step_s
            rest -= segment.steps
            age_s += segment.duration_s
        return age_s

    def at(self, age_s: float) -> Moment:
        """The run at this age; negative ages count as 0."""
        plan = self._plan
        if age_s < plan.startup_s:
            return Moment("starting", 0, max(0.0, age_s), max(0.0, age_s) / plan.startup_s, 0)
        if not plan.total:
            return Moment("not_training", 0, age_s - plan.startup_s, 0.0, 0)
        if age_s >= self.duration_s:
            return Moment(
                "ended", plan.total, age_s - self.duration_s, 1.0, self.at(self.duration_s - 1e-3).evaluations
            )
        cycles, rest_s = divmod(age_s - plan.startup_s, self._cycle_s)
        step = int(cycles) * self._cycle_steps
        evaluations = int(cycles) * self._cycle_evaluations
        for segment in self._segments:
            evaluations += segment.phase == "evaluating"
            if rest_s < segment.duration_s or segment is self._segments[-1]:
                step += _steps_done(segment, rest_s / plan.step_s)
                return Moment(
                    segment.phase, min(step, plan.total), rest_s, min(1.0, rest_s / segment.duration_s), evaluations
                )
            rest_s -= segment.duration_s
            step += segment.steps
        raise AssertionError("a cycle has at least one segment")


def _steps_done(segment: _Segment, even_pace: float) -> int:
    if not segment.steps:
        return 0
    return max(0, min(segment.steps, math.floor(even_pace + _TREMBLE_STEPS * math.sin(even_pace / 6.0) + 1e-6)))


def _cycle(plan: RunPlan) -> tuple[_Segment, ...]:
    length = max(plan.evaluate_every, plan.save_every) or max(1, plan.total)
    block = plan.evaluate_every or length
    segments: list[_Segment] = []
    for _ in range(max(1, length // block)):
        segments.append(_Segment("training", block * plan.step_s, block))
        if plan.evaluate_every and plan.evaluate_s:
            segments.append(_Segment("evaluating", plan.evaluate_s, 0))
    if plan.save_every and plan.save_s:
        segments.append(_Segment("saving", plan.save_s, 0))
    return tuple(segments)
