"""The finish time on invented runs whose true time left is known."""

from __future__ import annotations

import msgspec
import pytest

from advisor.finish.estimator import FinishEstimator
from advisor.finish.history import MAX_STRETCHES
from advisor.finish.plan import Plan
from monitor.types.steps import ProgressPoint
from tests.finish.courses import judged, noisy, points, seconds_of


def test_equal_steps_are_exact() -> None:
    left = seconds_of(judged(points([0.5] * 100), Plan(total=1000)))
    assert left.likely == pytest.approx(450)
    assert left.low < 450 < left.high
    assert left.high - left.low < 0.1 * 450


def test_slow_first_steps_do_not_count() -> None:
    course = [60.0, 8.0] + [0.5] * 10
    left = seconds_of(judged(points(course), Plan(total=1000)))
    assert left.likely == pytest.approx(0.5 * (1000 - 12), rel=0.005)


@pytest.mark.parametrize("shown", [1, 5])
def test_evaluations_seen_twice_are_expected_again(shown: int) -> None:
    steps = noisy(2000)
    for place in range(249, 2000, 250):
        steps[place] += 40
    for upto in (520, 610, 740):
        left = judged(points(steps[:upto], every=shown), Plan(total=2000))
        truth = sum(steps[upto // shown * shown :])
        assert seconds_of(left).likely == pytest.approx(truth, rel=0.03)
        assert any("40 s" in words for words in left.includes)


def test_a_pause_after_the_step_has_its_place_too() -> None:
    steps = noisy(1000)
    for place in range(100, 1000, 100):  # it falls into step 101, 201, ...: none after step 1000
        steps[place] += 50
    left = judged(points(steps[:450]), Plan(total=1000))
    assert seconds_of(left).likely == pytest.approx(sum(steps[450:]), rel=0.03)
    assert left.includes == ("5 pauses of 50 s (every 100 steps)",)


def test_labels_name_what_is_included() -> None:
    estimator = FinishEstimator()
    now_s = 0.0
    for step in range(301):
        evaluated = step % 50 == 1 and step > 1
        now_s += 31.0 if evaluated else 1.0
        estimator.add(ProgressPoint(time_s=now_s, step=step, clock="text", stalled="evaluating" if evaluated else None))
    left = estimator.estimate(Plan(total=1000, eval_every=50))
    assert left.includes == ("14 evaluations of 30 s",)
    assert seconds_of(left).likely == pytest.approx(700 + 14 * 30, rel=0.02)


def test_only_steps_since_the_resume_count() -> None:
    left = seconds_of(judged(points([6.0] * 10, first=900), Plan(total=1000)))
    assert left.likely == pytest.approx(540)


def test_a_machine_that_slept_is_not_expected_to_sleep_again() -> None:
    steps = noisy(400)
    steps[200] += 20_000
    left = judged(points(steps[:240]), Plan(total=1000))
    assert seconds_of(left).likely == pytest.approx(760, rel=0.01)
    assert "stood still for 5 h 33 min" in left.changed_because


def test_a_count_that_went_back_begins_a_segment_and_stalls_are_remembered() -> None:
    steps = noisy(800)
    for place in range(99, 800, 100):
        steps[place] += 30
    before = points(steps[:450])
    again = points(steps[400:430], first=400, start_s=before[-1].time_s + 500)
    left = judged([*before, *again], Plan(total=800))
    truth = sum(steps[430:])
    assert seconds_of(left).likely == pytest.approx(truth, rel=0.05)
    assert left.changed_because == "it began again at step 400"


def test_steps_that_slow_down_little_by_little_are_followed() -> None:
    steps = [each * (1 + 0.3 * i / 2000) for i, each in enumerate(noisy(2000))]
    truth = sum(steps[1000:])
    left = seconds_of(judged(points(steps[:1000], every=4), Plan(total=2000)))
    mean = sum(steps[:1000])
    assert abs(left.likely / truth - 1) < 0.02 < abs(mean / truth - 1)
    assert left.low < truth < left.high


def test_work_that_doubled_stays_so_and_is_said() -> None:
    steps = noisy(1000) + noisy(400, each_s=2.0)
    left = judged(points(steps, every=4), Plan(total=2000))
    assert seconds_of(left).likely == pytest.approx(1200, rel=0.05)
    assert left.changed_because.startswith("steps take 2 times as long since about step 9")


def test_a_slower_stretch_that_is_over_is_forgotten() -> None:
    steps = noisy(600) + noisy(400, each_s=1.4, seed=2) + noisy(1000, seed=3)
    left = seconds_of(judged(points(steps[:1200], every=4), Plan(total=2000)))
    assert left.likely == pytest.approx(sum(steps[1200:]), rel=0.05)  # the mean is wrong by 13 %


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        (Plan(), "total"),
        (Plan(total_source="its data has no length"), "its data has no length"),
        (Plan(total=1000, ended="error"), "ended"),
    ],
)
def test_no_answer_without_a_total_or_after_an_end(plan: Plan, why: str) -> None:
    left = judged(points([1.0] * 50), plan)
    assert left.seconds is None
    assert why in left.unknown_because


def test_nothing_is_said_too_early_and_nothing_of_clocks_that_stand() -> None:
    assert judged([], Plan(total=10)).seconds is None
    assert judged(points([1.0]), Plan(total=10)).seconds is None
    assert judged(points([0.0] * 5), Plan(total=10)).seconds is None
    watched = [ProgressPoint(time_s=float(i), step=i, clock="watched") for i in range(6)]
    left = judged(watched, Plan(total=1000))
    assert left.seconds is None
    assert "watched 5 steps" in left.unknown_because


@pytest.mark.parametrize("known", [True, False])
def test_a_clock_of_whole_seconds_makes_no_stalls(known: bool) -> None:
    steps = noisy(1200, each_s=0.3)
    for place in range(199, 1200, 200):
        steps[place] += 25
    course = [
        msgspec.structs.replace(point, time_s=float(int(point.time_s)), resolution_s=1.0 if known else 0.0)
        for point in points(steps[:700])
    ]
    left = judged(course, Plan(total=1200))
    assert seconds_of(left).likely == pytest.approx(sum(steps[700:]), rel=0.06)


def test_a_rate_watched_for_seconds_has_a_wide_range() -> None:
    course = [msgspec.structs.replace(point, clock="watched") for point in points([0.05] * 100)]
    left = seconds_of(judged(course, Plan(total=10_000)))
    assert left.likely == pytest.approx(0.05 * 9900)
    assert left.low <= 0.7 * left.likely < 1.3 * left.likely <= left.high


def test_all_steps_done() -> None:
    assert seconds_of(judged(points([1.0] * 10), Plan(total=10))).high == 0
    assert seconds_of(judged(points([1.0] * 10), Plan(total=99, ended="finished"))).high == 0


def test_early_stopping_says_at_most() -> None:
    assert judged(points([1.0] * 50), Plan(total=100, early_stopping=True)).at_most
    assert not judged(points([1.0] * 50), Plan(total=100)).at_most


def test_the_chance_to_finish_before_the_limit_of_the_job() -> None:
    course = points(noisy(500))
    sure = judged(course, Plan(total=1000, limit_s=1000.0)).within_limit_ratio
    even = judged(course, Plan(total=1000, limit_s=500.0)).within_limit_ratio
    none = judged(course, Plan(total=1000, limit_s=300.0)).within_limit_ratio
    assert sure is not None
    assert even is not None
    assert none is not None
    assert sure > 0.99 > even > 0.01 > none
    assert judged(course, Plan(total=1000, limit_s=-5.0)).within_limit_ratio == 0
    assert judged(course, Plan(total=1000)).within_limit_ratio is None


def test_a_program_that_stops_itself_by_the_clock_ends_then() -> None:
    left = judged(points([1.0] * 100), Plan(total=1000, max_time_s=600.0))
    assert seconds_of(left).likely == pytest.approx(500)
    assert "time limit" in left.basis


def test_memory_is_bounded_and_the_answer_stays() -> None:
    estimator = FinishEstimator()
    for point in points(noisy(20_000, each_s=0.1)):
        estimator.add(point)
        assert estimator.size <= MAX_STRETCHES
    left = seconds_of(estimator.estimate(Plan(total=40_000)))
    assert left.likely == pytest.approx(2000, rel=0.01)


def test_same_points_same_answer_however_they_come() -> None:
    course = points(noisy(300))
    whole, parts = FinishEstimator(), FinishEstimator()
    whole.take("bar", "step", course)
    for point in course:
        parts.take("bar", "step", [point])
        parts.take("bar", "step", [point])  # seen twice counts once
    assert whole.estimate(Plan(total=1000)) == parts.estimate(Plan(total=1000))


def test_another_counter_begins_anew_and_a_resumed_one_goes_on() -> None:
    estimator = FinishEstimator()
    estimator.take("bar", "step", points([1.0] * 100))
    estimator.take("lines", "step", points([10.0] * 20))
    assert seconds_of(estimator.estimate(Plan(total=100))).likely == pytest.approx(800)
    estimator.take("lines of another process", "step", points([10.0] * 5, first=10, start_s=5000.0))
    left = estimator.estimate(Plan(total=100))
    assert seconds_of(left).likely == pytest.approx(850)
    assert left.changed_because == "it began again at step 10"
    assert estimator.size == 25
    estimator.take("epochs", "epoch", points([100.0] * 4, start_s=9000.0))
    assert seconds_of(estimator.estimate(Plan(total=10))).likely == pytest.approx(600)
