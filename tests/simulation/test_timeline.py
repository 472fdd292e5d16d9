from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from monitor.simulation.noise import noise, slow_noise
from monitor.simulation.plans import RunPlan
from monitor.simulation.timeline import Timeline

PLAN = RunPlan(
    name="r",
    argv=("python", "train.py"),
    startup_s=10.0,
    total=95,
    step_s=2.0,
    evaluate_every=10,
    evaluate_s=5.0,
    save_every=20,
    save_s=3.0,
)


def test_phases_come_in_their_order() -> None:
    timeline = Timeline(PLAN)
    phases = [timeline.at(age_s).phase for age_s in (0.0, 9.9, 10.1, 29.9, 30.1, 34.9, 35.1, 55.1, 60.1, 63.1)]
    assert phases == [
        "starting", "starting", "training", "training", "evaluating", "evaluating", "training", "evaluating", "saving",
        "training",
    ]  # fmt: skip
    assert timeline.at(30.1).evaluations == 1
    assert timeline.at(56.0).evaluations == 2


def test_duration_is_steps_and_pauses_together() -> None:
    timeline = Timeline(PLAN)
    assert timeline.duration_s == 10.0 + 95 * 2.0 + 9 * 5.0 + 4 * 3.0
    assert timeline.at(timeline.duration_s).step == 95
    assert timeline.at(timeline.duration_s).phase == "ended"
    assert math.isinf(Timeline(RunPlan(name="s", argv=("serve",))).duration_s)


@given(st.floats(0, 400), st.floats(0, 50))
def test_the_count_never_falls(age_s: float, later_s: float) -> None:
    timeline = Timeline(PLAN)
    assert 0 <= timeline.at(age_s).step <= timeline.at(age_s + later_s).step <= PLAN.total


@given(st.integers(1, 95))
def test_a_step_is_done_at_its_age(step: int) -> None:
    timeline = Timeline(PLAN)
    age_s = timeline.age_of_step(step)
    assert timeline.at(age_s + 1.5 * PLAN.step_s).step >= step
    assert timeline.at(max(0.0, age_s - 1.5 * PLAN.step_s)).step <= step


@given(st.integers(0, 2**32), st.integers(-(2**40), 2**40))
def test_noise_is_bounded_and_repeatable(seed: int, number: int) -> None:
    assert -1.0 <= noise(seed, number) <= 1.0
    assert noise(seed, number) == noise(seed, number)
    assert -1.0 <= slow_noise(seed, number / 7.0) <= 1.0


def test_noise_has_no_lean() -> None:
    assert abs(sum(noise(5, number) for number in range(4000)) / 4000) < 0.05
