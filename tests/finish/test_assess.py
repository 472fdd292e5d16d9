"""The judgement on runs, tick by tick. All figures are invented."""

from __future__ import annotations

import msgspec
import pytest

from advisor.assess import Assessor
from advisor.assessment import Assessment
from monitor.types.messages import Snapshot
from monitor.types.run import Run, RunEnd

WALL_S = 1_800_000_000.0


def _run(step: float = 400.0, **more: object) -> Run:
    run = Run(
        run_id="r",
        name="r",
        step=step,
        total=1000,
        step_seconds=1.0,
        wall_seconds_per_step=1.0,
        rate_clock="watched",
        rate_window_s=400,
        rate_steps=400,
        rate_spread_ratio=0.02,
        phase="training",
    )
    return msgspec.structs.replace(run, **more)


def _tick(assessor: Assessor, time_s: float, *runs: Run) -> dict[str, Assessment]:
    assessor.update(Snapshot(taken_s=WALL_S + time_s, boot_s=50 + time_s), runs)
    return assessor.assessments()


def _finish(assessment: Assessment) -> float:
    assert assessment.finish_s is not None
    return assessment.finish_s.likely


def test_finish_is_the_streams_time_and_what_is_left() -> None:
    answer = _tick(Assessor(), 0, _run())["r"]
    assert _finish(answer) == pytest.approx(WALL_S + 600)
    assert answer.remaining_s is not None
    assert answer.remaining_s.likely == pytest.approx(600)
    assert answer.basis


def test_small_changes_leave_the_finish_time_and_the_time_left_counts_down() -> None:
    assessor = Assessor()
    first = _finish(_tick(assessor, 0, _run())["r"])
    later = _tick(assessor, 10, _run(412))["r"]
    assert _finish(later) == first
    assert later.remaining_s is not None
    assert later.remaining_s.likely == pytest.approx(590)


def test_a_real_change_moves_it_but_not_within_two_seconds() -> None:
    assessor = Assessor()
    first = _finish(_tick(assessor, 0, _run())["r"])
    slower = _run(401, wall_seconds_per_step=2.0)
    assert _finish(_tick(assessor, 1, slower)["r"]) == first
    assert _finish(_tick(assessor, 3, slower)["r"]) == pytest.approx(WALL_S + 3 + 599 * 2)


def test_another_total_is_judged_at_once() -> None:
    assessor = Assessor()
    _tick(assessor, 0, _run())
    assert _finish(_tick(assessor, 0.5, _run(total=2000))["r"]) == pytest.approx(WALL_S + 0.5 + 1600)


def test_the_time_left_counts_from_the_last_step_between_rare_lines() -> None:
    run = _run(last_step_s=WALL_S - 20)
    assert _finish(_tick(Assessor(), 0, run)["r"]) == pytest.approx(WALL_S - 20 + 600)


def test_a_run_that_stands_still_ends_later_and_later() -> None:
    run = _run(last_step_s=WALL_S)
    assessor = Assessor()
    finishes = [_finish(_tick(assessor, t, run)["r"]) for t in (0.0, 100.0, 200.0, 300.0)]
    assert finishes == sorted(finishes)
    assert finishes[-1] == pytest.approx(WALL_S + 300 - 30 + 600)


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (_run(total=None), "total"),
        (_run(kind="serving"), "no training"),
        (_run(ended=RunEnd(how="error", seen_s=WALL_S)), "ended"),
    ],
)
def test_unknown_says_why(run: Run, why: str) -> None:
    answer = _tick(Assessor(), 0, run)["r"]
    assert (answer.finish_s, answer.remaining_s) == (None, None)
    assert why in answer.unknown_because


def test_the_end_of_a_finished_run_does_not_move_on_with_the_clock() -> None:
    assessor = Assessor()
    over = _run(step=1000.0, ended=RunEnd(how="finished", seen_s=WALL_S + 7), last_step_s=WALL_S + 6)
    for later_s in (8.0, 12.0, 400.0):
        answer = _tick(assessor, later_s, over)["r"]
        assert _finish(answer) == WALL_S + 7
        assert answer.remaining_s is not None
        assert answer.remaining_s.high == 0


def test_runs_that_are_gone_are_forgotten_and_one_does_not_touch_another() -> None:
    assessor = Assessor()
    other = msgspec.structs.replace(_run(), run_id="other", total=None)
    assert set(_tick(assessor, 0, _run(), other)) == {"r", "other"}
    assert set(_tick(assessor, 1, other)) == {"other"}


def test_same_messages_same_answers() -> None:
    answers = []
    for _ in range(2):
        assessor = Assessor()
        for t in range(20):
            answer = _tick(assessor, float(t), _run(400.0 + t * 1.3))
        answers.append(answer)
    assert answers[0] == answers[1]
