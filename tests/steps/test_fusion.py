"""Where readings meet: rates, restarts, conflicts, stalls. All figures are invented."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.steps.fusion import FusedSteps, StepFusion
from monitor.steps.pace import MAX_INTERVALS, Pace
from monitor.types.steps import Phase, StepEvent

WALL_S = 1_800_000_000.0


def _watched(steps: list[tuple[float, float]], total: float | None = 1000, **more: object) -> StepFusion:
    """Feed (seconds, step) as we would see them while watching, one a look."""
    fusion = StepFusion()
    for time_s, step in steps:
        event = StepEvent(source="step_line", step=step, total=total, seen_s=WALL_S + time_s, confidence=0.7)
        fusion.update(event, 500 + time_s)
    return fusion


def _now(fusion: StepFusion, time_s: float) -> FusedSteps:
    return fusion.reading(WALL_S + time_s, 500 + time_s)


def test_one_reading_claims_no_rate_and_says_why() -> None:
    steps = _now(_watched([(0, 7)]), 1)
    assert (steps.step, steps.step_seconds, steps.rate_clock) == (7, None, None)
    assert [(m.field, m.detail) for m in steps.missing] == [("step_seconds", "one reading so far")]


def test_no_reading_is_no_step() -> None:
    steps = StepFusion().reading(WALL_S, 0.0)
    assert (steps.step, steps.phase) == (None, "starting")
    assert steps.missing[0].field == "step"


@pytest.mark.parametrize("each_s", [0.02, 0.3, 1.0, 2.7])
def test_watched_rate_is_right_after_half_a_minute(each_s: float) -> None:
    looks = [(float(t), float(int((t + 0.4) / each_s))) for t in range(31)]
    steps = _now(_watched([(t, n) for t, n in looks if n > 0], total=10**6), 30)
    assert steps.rate_clock == "watched"
    assert steps.step_seconds == pytest.approx(each_s, rel=max(0.02, 1.5 * each_s / 30))


def test_the_first_step_that_compiles_is_left_out() -> None:
    times = [(0.0, 0.0), (120.0, 1.0), (120.5, 2.0), (121.0, 3.0), (121.5, 4.0), (122.0, 5.0)]
    steps = _now(_watched(times), 122)
    assert steps.wall_seconds_per_step == pytest.approx(0.5)


def test_evaluation_and_checkpoint_pauses_are_in_the_wall_time_only() -> None:
    time_s, looks = 0.0, [(0.0, 0.0)]
    for n in range(1, 194):
        time_s += 34
        looks.append((time_s, float(n)))
        time_s += 103 * (n % 50 == 0) + 20 * (n % 25 == 0)
    end_s = time_s
    seen = [look for look in looks if look[1] <= 110]
    steps = _now(_watched(seen, total=193), seen[-1][0])
    assert steps.step_seconds == pytest.approx(34, rel=0.001)
    assert steps.wall_seconds_per_step is not None
    finish_s = seen[-1][0] + (193 - 110) * steps.wall_seconds_per_step
    assert finish_s == pytest.approx(end_s, rel=0.03)


def test_a_fall_of_the_count_begins_a_new_segment() -> None:
    looks = [(float(t), 500.0 + t) for t in range(10)] + [(20.0 + t, 100.0 + 2 * t) for t in range(10)]
    steps = _now(_watched(looks), 30)
    assert steps.step == 118
    assert steps.step_seconds == pytest.approx(0.5)
    assert "fell from 509 to 100" in steps.notes[0]


def test_another_ranks_line_is_no_restart() -> None:
    looks = [(float(t), float(n)) for t, n in enumerate([100, 101, 100, 102, 101, 103])]
    steps = _now(_watched(looks), 6)
    assert steps.step == 103
    assert not steps.notes


def test_steps_that_are_skipped_on_resume_are_no_progress() -> None:
    looks = [(0.0, 0.0), (1.0, 5000.0)] + [(1.0 + 2 * k, 5000.0 + k) for k in range(1, 20)]
    steps = _now(_watched(looks, total=6000), 40)
    assert steps.wall_seconds_per_step == pytest.approx(2.0)


def test_silence_is_called_a_stall_only_after_long() -> None:
    fusion = _watched([(float(t), float(t)) for t in range(60)])
    assert _now(fusion, 80).phase == "training"
    assert _now(fusion, 95).phase == "stalled"
    assert _now(fusion, 95).phase_since_s == WALL_S + 59


def test_rare_lines_that_print_their_step_time_are_no_stall() -> None:
    fusion = StepFusion()
    for n in (100, 200, 300):
        fusion.update(
            StepEvent(source="step_line", step=n, total=9000, seconds_per_step=2.0, seen_s=WALL_S, confidence=0.7),
            500.0,
        )
    assert _now(fusion, 150).phase == "training"
    assert _now(fusion, 1100).phase == "stalled"


def test_an_old_line_seen_late_is_dated_by_its_file() -> None:
    fusion = StepFusion()
    for time_s, written_s, step in ((0.0, -240.0, 100), (60.0, 60.0, 200)):
        event = StepEvent(
            source="step_line",
            step=step,
            seen_s=WALL_S + time_s,
            event_s=WALL_S + written_s,
            event_clock="file_time",
            confidence=0.7,
        )
        fusion.update(event, 500 + time_s)
    assert _now(fusion, 61).step_seconds == pytest.approx(3.0)


def _both(first: StepEvent, second: StepEvent) -> FusedSteps:
    fusion = StepFusion()
    fusion.update(first, 1.0)
    fusion.update(second, 1.0)
    return fusion.reading(WALL_S, 1.0)


def test_conflicts_are_shown_not_averaged() -> None:
    bar = StepEvent(source="tqdm", step=480, total=1000, confidence=0.9)
    line = StepEvent(source="step_line", step=300, confidence=0.6)
    steps = _both(bar, line)
    assert (steps.step, steps.source) == (480, "tqdm")
    assert [(s.step, s.used) for s in steps.sources] == [(480, True), (300, False)]
    assert steps.sources[1].note == "says 300, the one used says 480"


def test_a_whole_ratio_of_counts_and_totals_is_accumulation() -> None:
    micro = StepEvent(source="tqdm", step=801, total=4000, confidence=0.9)
    optimizer = StepEvent(source="step_line", step=200, total=1000, confidence=0.6)
    assert any("4 counts of tqdm" in note for note in _both(micro, optimizer).notes)


def test_a_bar_at_its_end_gives_way_to_one_that_goes_on() -> None:
    cache = StepEvent(source="tqdm", series="a", step=50, total=50, confidence=0.7)
    train = StepEvent(source="tqdm", series="b", step=3, total=900, confidence=0.65)
    assert _both(cache, train).total == 900


@pytest.mark.parametrize("phase", ["evaluating", "saving", "preparing"])
def test_a_phase_lasts_until_the_next_step(phase: Phase) -> None:
    fusion = _watched([(0.0, 1.0), (1.0, 2.0)])
    fusion.update(StepEvent(source="tqdm", phase=phase, seen_s=WALL_S + 2), 502.0)
    assert (_now(fusion, 3).phase, _now(fusion, 3).phase_since_s) == (phase, WALL_S + 2)
    fusion.update(StepEvent(source="step_line", step=3, total=1000, seen_s=WALL_S + 4, confidence=0.7), 504.0)
    assert _now(fusion, 4).phase == "training"


def test_an_error_stands_until_the_line_that_names_it() -> None:
    fusion = _watched([(0.0, 1.0)])
    for how in ("error", "out_of_memory", "finished"):
        fusion.update(StepEvent(source="endings", ended=how, seen_s=WALL_S + 1), 501.0)
    ended = _now(fusion, 2).ended
    assert ended is not None
    assert (ended.how, _now(fusion, 2).phase) == ("out_of_memory", "ended")


@given(
    st.lists(
        st.tuples(st.floats(0, 1e6), st.floats(0, 1e9), st.sampled_from(["a", "b"]), st.booleans(), st.floats(0, 1e6)),
        max_size=60,
    )
)
def test_same_events_same_state_and_no_absurd_figure(events: list[tuple[float, float, str, bool, float]]) -> None:
    readings = []
    for _ in range(2):
        fusion = StepFusion()
        for time_s, step, series, own, own_s in events:
            event = StepEvent(
                source="tqdm", series=series, step=step, seen_s=time_s, elapsed_s=own_s if own else None, confidence=0.5
            )
            fusion.update(event, time_s)
            fusion.reading(time_s, time_s)
        readings.append(fusion.reading(1e6, 1e6))
    assert readings[0] == readings[1]
    for figure in (readings[0].step_seconds, readings[0].wall_seconds_per_step):
        assert figure is None or figure > 0


def test_many_counters_and_many_points_stay_bounded() -> None:
    fusion = StepFusion()
    for n in range(500):
        fusion.update(StepEvent(source="tqdm", series=str(n), step=n, confidence=0.1), float(n))
    assert len(fusion._tracks) <= 24
    pace = Pace(0.0)
    for n in range(100_000):
        pace.add(n * 0.25, n)
    assert len(pace._intervals) <= MAX_INTERVALS
    rate = pace.rate()
    assert rate is not None
    assert rate.step_seconds == pytest.approx(0.25)
    assert rate.steps == pytest.approx(99_999, rel=0.001)
