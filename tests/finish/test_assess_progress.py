"""The judgement on runs whose counter gives points. All figures are invented."""

from __future__ import annotations

import msgspec
import pytest

from advisor.assess import Assessor
from advisor.assessment import Assessment
from monitor.types.documents import Setting
from monitor.types.messages import Snapshot
from monitor.types.run import Run
from monitor.types.steps import ProgressPoint
from tests.finish.courses import noisy, points

WALL_S = 1_800_000_000.0


def _run(course: list[ProgressPoint], **more: object) -> Run:
    run = Run(
        run_id="r",
        name="r",
        step=course[-1].step,
        total=1000,
        step_seconds=99.0,
        wall_seconds_per_step=99.0,
        rate_clock="source",
        rate_steps=400,
        rate_window_s=400,
        phase="training",
        progress=tuple(course),
        progress_key="bar",
    )
    return msgspec.structs.replace(run, **more)


def _tick(assessor: Assessor, time_s: float, *runs: Run) -> Assessment:
    assessor.update(Snapshot(taken_s=WALL_S + time_s, boot_s=50 + time_s), runs)
    return assessor.assessments()["r"]


def _left(answer: Assessment) -> float:
    assert answer.remaining_s is not None, answer.unknown_because
    return answer.remaining_s.likely


def test_points_win_over_the_plain_mean() -> None:
    answer = _tick(Assessor(), 0, _run(points([1.0] * 400)))
    assert _left(answer) == pytest.approx(600)
    assert "pauses apart" in answer.basis


def test_new_points_are_added_to_those_before() -> None:
    steps = noisy(1000)
    for place in range(99, 1000, 100):
        steps[place] += 30
    course = points(steps)
    assessor = Assessor()
    for tick in range(20, 560, 20):
        answer = _tick(assessor, tick, _run(course[tick - 20 : tick], step=course[tick - 1].step))
    at = int(course[539].step)
    assert _left(answer) == pytest.approx(sum(steps[at:]), rel=0.04)
    assert answer.includes == ("5 pauses of 30 s (every 100 steps)",)


def test_what_the_settings_say_reaches_the_answer() -> None:
    settings = (
        Setting(name="early_stopping_patience", value=3, source="a flag"),
        Setting(name="eval_steps", value=100, source="a flag"),
    )
    limit_s = WALL_S + 10_000
    run = _run(points([1.0] * 400), settings=settings, job_limit_s=limit_s, last_step_s=WALL_S)
    answer = _tick(Assessor(), 0, run)
    assert answer.at_most
    assert answer.within_limit_ratio is not None
    assert answer.within_limit_ratio > 0.99
    later = _tick(Assessor(), 0, msgspec.structs.replace(run, job_limit_s=WALL_S + 60))
    assert later.within_limit_ratio is not None
    assert later.within_limit_ratio < 0.01


def test_between_two_answers_the_words_stay() -> None:
    assessor = Assessor()
    run = _run(points([1.0] * 400), settings=(Setting(name="patience", value=3, source="a flag"),))
    first = _tick(assessor, 0, run)
    second = _tick(assessor, 1, msgspec.structs.replace(run, progress=()))
    assert second.at_most
    assert second.basis == first.basis
    assert second.finish_s == first.finish_s
    assert _left(second) == pytest.approx(599)


def test_a_resumed_run_counts_from_where_it_resumed() -> None:
    assessor = Assessor()
    _tick(assessor, 0, _run(points([1.0] * 400)))
    again = _run(points([2.0] * 20, first=300, start_s=3000.0), progress_key="bar again")
    answer = _tick(assessor, 10, again)
    assert answer.remaining_s is not None
    assert 680 <= answer.remaining_s.likely <= 2 * 680
    assert answer.changed_because == "it began again at step 300"
