"""The points that are handed on for the finish time, and totals taken from a counter that goes along. All invented."""

from __future__ import annotations

import pytest

from monitor.steps.fusion import StepFusion
from monitor.steps.trail import Trail
from monitor.types.steps import ProgressPoint, StepEvent, StepUnit

WALL_S = 1_800_000_000.0


def _line(step: float, at_s: float, source: str = "tqdm", *, total: float | None = None, **more: object) -> StepEvent:
    sure = 0.99 if source == "probe" else 0.7
    unit: StepUnit = "micro_batch" if more.get("micro") else "step"
    return StepEvent(
        source=source,
        unit=unit,
        step=step,
        total=total,
        total_source="bar" if total else "",
        event_s=WALL_S + at_s,
        event_clock="text",
        seen_s=WALL_S + at_s,
        confidence=sure,
    )


def _points(fusion: StepFusion, serial: int = 0) -> tuple[ProgressPoint, ...]:
    trail = fusion.reading(WALL_S + 1000, 1000).trail
    assert trail is not None
    return trail.after(serial)[1]


def test_only_what_is_new_is_handed_on() -> None:
    trail = Trail("a", "text", most=100)
    trail.add(1.0, 10, 0.0, None)
    newest, points = trail.after(0)
    assert [p.step for p in points] == [10]
    trail.add(2.0, 20, 0.0, "saving")
    assert [(p.time_s, p.step, p.stalled) for p in trail.after(newest)[1]] == [(2.0, 20, "saving")]
    assert trail.after(trail.after(newest)[0])[1] == ()


def test_it_stays_bounded_with_both_ends_and_every_stall() -> None:
    trail = Trail("a", "text", most=64)
    for step in range(1, 10_001):
        trail.add(float(step), step, 0.0, "evaluating" if step == 9_900 else None)
    points = trail.after(0)[1]
    assert len(points) <= 64
    assert [p.step for p in points] == sorted({p.step for p in points})
    assert points[-1].step == 10_000
    assert [p.step for p in points[-16:]] == list(range(9_985, 10_001))
    assert [p.stalled for p in points].count("evaluating") == 1


def test_a_stall_is_said_of_the_point_after_it() -> None:
    fusion = StepFusion()
    for step in range(1, 6):
        fusion.update(_line(step, step * 10.0), step * 10.0)
        if step == 3:
            fusion.update(StepEvent(source="phase_words", phase="evaluating", seen_s=WALL_S + 31), 31)
    assert [(p.step, p.stalled) for p in _points(fusion)][2:] == [(3, None), (4, "evaluating"), (5, None)]


def test_a_restart_and_another_clock_have_keys_of_their_own() -> None:
    fusion, keys = StepFusion(), []
    for step, at_s in ((10, 1.0), (20, 2.0), (30, 3.0), (1, 10.0), (2, 11.0), (3, 12.0)):
        fusion.update(_line(step, at_s), at_s)
        trail = fusion.reading(WALL_S + at_s, at_s).trail
        keys.append(None if trail is None else trail.key)
    assert keys[2] is not None
    assert keys[5] is not None
    assert keys[2] != keys[5]
    assert [p.step for p in _points(fusion)] == [1, 2, 3]


def test_a_counter_without_a_total_takes_it_from_one_that_goes_along() -> None:
    fusion = StepFusion()
    for step in range(100, 150):
        fusion.update(_line(step, step / 10, "probe"), step / 10)
        if step % 10 == 9:
            fusion.update(_line(step, step / 10, total=4000), step / 10)
    steps = fusion.reading(WALL_S + 15, 15)
    assert (steps.source, steps.step, steps.total) == ("probe", 149, 4000)
    assert "tqdm" in steps.total_source
    assert [m.field for m in steps.missing] == []


@pytest.mark.parametrize(("step", "total"), [(30, 4000), (900, 4000), (149, 120)])
def test_a_counter_that_does_not_go_along_lends_no_total(step: float, total: float) -> None:
    fusion = StepFusion()
    for count in range(100, 150):
        fusion.update(_line(count, count / 10, "probe"), count / 10)
    fusion.update(_line(step, 15, total=total), 15)
    steps = fusion.reading(WALL_S + 15, 15)
    assert (steps.step, steps.total) == (149, None)


def test_micro_batches_lend_their_total_divided() -> None:
    fusion = StepFusion()
    for count in range(1, 101):
        fusion.update(_line(count, count, "probe"), count)
        fusion.update(_line(4 * count, count, total=1600, micro=True), count)
    steps = fusion.reading(WALL_S + 100, 100)
    assert (steps.step, steps.total) == (100, 400)
