from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.history.history import MAX_GPUS, History
from monitor.history.series import SeriesKey
from monitor.types.gpu import GpuSample, ThrottleTime
from monitor.types.identity import ProcessIdentity
from monitor.types.messages import Hello, Snapshot
from monitor.types.process import HostSample
from monitor.types.run import Run, RunMember
from monitor.types.steps import StepEvent, StepValue

WALL_S = 1_800_000_000.0
UTIL = SeriesKey("gpu:A", "gpu_util_ratio")


def snapshot(boot_s: float, *samples: GpuSample, steps: tuple[StepEvent, ...] = ()) -> Snapshot:
    return Snapshot(taken_s=WALL_S + boot_s, boot_s=boot_s, gpus=samples, steps=steps)


def gpu(boot_s: float, util: float | None, uuid: str = "A", used: int | None = None) -> GpuSample:
    return GpuSample(uuid=uuid, taken_s=WALL_S + boot_s, gpu_util_ratio=util, memory_used_bytes=used)


def watched(history: History, times_s: list[float], util: float = 0.5) -> None:
    for at_s in times_s:
        history.update(snapshot(at_s, gpu(at_s, util)))


def test_a_tick_each_second_leaves_no_hole_though_ticks_jitter() -> None:
    history = History()
    watched(history, [100.99, 102.01, 103.0, 104.3, 105.1])
    assert history.series(UTIL, 5, 5, 105.1).values == pytest.approx((0.5,) * 5)


def test_slow_interval_is_held_but_a_silence_stays_unknown() -> None:
    history = History()
    history.update(Hello(taken_s=WALL_S, boot_s=0.0, interval_s=5.0))
    watched(history, [100.0, 105.0, 110.0, 140.0])
    values = history.series(UTIL, 41, 41, 140.0).values
    assert values[:11] == pytest.approx((0.5,) * 11)
    assert values[11:40] == (None,) * 29
    assert values[40] == pytest.approx(0.5)


def test_an_unknown_figure_is_none_never_zero() -> None:
    history = History()
    history.update(snapshot(10.0, gpu(10.0, None)))
    history.update(snapshot(11.0, gpu(11.0, 0.0)))
    assert history.series(UTIL, 2, 2, 11.0).values == (None, 0.0)
    assert history.series(SeriesKey("gpu:Z", "power_w"), 2, 2).values == (None, None)
    assert history.series(SeriesKey("gpu:A", "nonsense"), 2, 2).values == (None, None)


def test_a_driver_that_hangs_adds_nothing() -> None:
    history = History()
    for at_s in range(100, 110):
        history.update(snapshot(float(at_s), gpu(min(at_s, 103), 0.9)))
    values = history.series(UTIL, 10, 10, 109.0).values
    assert values[:4] == pytest.approx((0.9,) * 4)
    assert values[5:] == (None,) * 5  # one interval late is still the figure of now


def test_mean_and_maximum_are_both_kept_in_coarse_rows() -> None:
    history = History()
    for at_s in range(10_000, 11_200):
        used = 8 * 1024**3 if at_s % 60 == 30 else 4 * 1024**3
        history.update(snapshot(float(at_s), gpu(at_s, 0.1, used=used)))
    hour = history.series(SeriesKey("gpu:A", "memory_used_bytes"), 3600, 60, 11_199.0)
    peak = history.series(SeriesKey("gpu:A", "memory_used_bytes:max"), 3600, 60, 11_199.0)
    assert len(hour.known) == len(peak.known) == 20 + 1
    assert hour.known[5] == pytest.approx((59 * 4 + 8) / 60 * 1024**3, rel=1e-6)
    assert peak.known[5] == 8 * 1024**3
    day = history.series(SeriesKey("gpu:A", "memory_used_bytes:max"), 86400, 1440, 11_199.0)
    assert max(day.known) == 8 * 1024**3


def test_the_ring_forgets_what_is_older_than_it_holds() -> None:
    history = History()
    watched(history, [float(at_s) for at_s in range(1000, 1100)], util=0.9)
    watched(history, [float(at_s) for at_s in range(1100, 1750)], util=0.1)
    assert history.series(UTIL, 600, 600, 1749.0).values == pytest.approx((0.1,) * 600)
    assert history.series(UTIL, 1000, 100, 1749.0).known[5] == pytest.approx(0.9)
    watched(history, [5000.0])  # suspended for longer than the finest ring is long
    assert history.series(UTIL, 600, 600, 5000.0).known == (0.5,)


def test_several_samples_of_one_second_are_averaged() -> None:
    history = History()
    for at_s, util in ((10.0, 0.2), (10.25, 0.4), (10.5, 0.6), (10.75, 0.8)):
        history.update(snapshot(at_s, gpu(at_s, util)))
    assert history.series(UTIL, 1, 1, 10.9).values == pytest.approx((0.5,))


def test_windows_say_when_they_begin_and_end() -> None:
    history = History()
    watched(history, [1000.5])
    series = history.series(UTIL, 60, 6, 1000.5)
    assert (series.start_s, series.end_s) == (WALL_S + 950, WALL_S + 1010)


def test_throttle_ratio_is_the_largest_share_of_any_one_reason() -> None:
    history = History()
    for at_s, heat, power, idle in (
        (10.0, 5.0, 1.0, 0.0),
        (11.0, 5.4, 1.3, 1.0),
        (12.0, 0.0, 1.3, 2.0),
        (13.0, 0.0, 1.3, 3.0),
    ):
        times = (
            ThrottleTime(reason="hw_thermal", total_s=heat),
            ThrottleTime(reason="power_cap", total_s=power),
            ThrottleTime(reason="idle", total_s=idle),
        )
        history.update(snapshot(at_s, GpuSample(uuid="A", taken_s=WALL_S + at_s, throttle_times=times)))
    values = history.series(SeriesKey("gpu:A", "throttle_ratio"), 4, 4, 13.0).values
    assert values[0] is None
    assert values[1] == pytest.approx(0.4, abs=1e-6)
    assert values[2] is None  # the counter was reset
    assert values[3] == 0.0


def run(step: float | None, **more: object) -> Run:
    fields: dict[str, object] = {
        "run_id": "r1",
        "name": "one",
        "step": step,
        "members": (RunMember(process=ProcessIdentity(pid=5, start_ticks=1), role="trainer"),),
        "started_s": WALL_S + 100,
        **more,
    }
    return Run(**fields)  # type: ignore[arg-type]


def line(at_s: float, step: float, seen_s: float) -> StepEvent:
    return StepEvent(
        process=ProcessIdentity(pid=5, start_ticks=1),
        source="step_line",
        step=step,
        event_s=WALL_S + at_s,
        event_clock="text",
        seen_s=WALL_S + seen_s,
        values=(StepValue(name="loss", value=2.5), StepValue(name="lr", value="nan")),
    )


def test_run_figures_are_watched_and_lines_of_the_past_are_filled_in_marked() -> None:
    history = History()
    past = tuple(line(at_s, at_s / 10, 1000.0) for at_s in (90.0, 940.0, 960.0, 980.0))
    for at_s, steps in ((1000.0, past), (1001.0, ())):
        now = snapshot(at_s, steps=steps)
        history.update(now)
        history.note_runs((run(100.0, values=(StepValue(name="loss", value="nan"),)),), now)
    series = history.series(SeriesKey("run:r1", "step"), 120, 120, 1001.0)
    known = {
        round(series.start_s - WALL_S + at): (value, mark)
        for at, (value, mark) in enumerate(zip(series.values, series.marked, strict=True))
        if value is not None
    }
    assert known == {
        940: (94.0, True),
        960: (96.0, True),
        980: (98.0, True),
        1000: (100.0, False),
        1001: (100.0, False),
    }
    assert history.series(SeriesKey("run:r1", "step_seconds"), 120, 120, 1001.0).known == pytest.approx((10.0, 10.0))
    assert history.series(SeriesKey("run:r1", "loss"), 120, 120, 1001.0).known == (2.5, 2.5, 2.5)
    hours = history.series(SeriesKey("run:r1", "step"), 7200, 720, 1001.0)
    assert hours.known == (94.0, 96.0, 98.0, 100.0)
    assert hours.marked.count(True) == 3


def test_a_run_that_is_gone_takes_its_rings_with_it() -> None:
    history = History()
    now = snapshot(10.0)
    history.update(now)
    history.note_runs((run(1.0),), now)
    assert history.size_bytes > 0
    history.note_runs((), now)
    assert history.size_bytes == 0


def test_the_host_has_a_history() -> None:
    history = History()
    host = HostSample(cpu_ratio=0.25, memory_total_bytes=1000, memory_available_bytes=400)
    history.update(Snapshot(taken_s=WALL_S, boot_s=5.0, host=host))
    assert history.series(SeriesKey("host", "cpu_ratio"), 1, 1, 5.0).values == (0.25,)
    assert history.series(SeriesKey("host", "memory_used_bytes"), 1, 1, 5.0).values == (600.0,)


def test_another_boot_begins_anew_and_a_clock_set_back_changes_nothing() -> None:
    history = History()
    history.update(Hello(taken_s=WALL_S, boot_s=0.0, boot_id="one"))
    watched(history, [500.0, 400.0])
    assert history.series(UTIL, 200, 200, 500.0).known == (0.5,)
    history.update(Hello(taken_s=WALL_S, boot_s=0.0, boot_id="two"))
    watched(history, [20.0], util=0.25)
    assert history.series(UTIL, 600, 600, 20.0).known == (0.25,)


def test_a_stream_of_ever_new_gpus_stays_bounded() -> None:
    history = History()
    for tick in range(40):
        history.update(snapshot(float(tick), *(gpu(tick, 0.5, uuid=f"G{tick}-{one}") for one in range(20))))
    assert history.size_bytes <= MAX_GPUS * 8 * 2400
    history.update(snapshot(10_000.0, gpu(10_000.0, 0.5)))
    assert history.series(SeriesKey("gpu:G39-0", "gpu_util_ratio"), 86400, 10).known == ()


def test_64_gpus_take_less_than_15_mb_and_little_time() -> None:
    history = History()
    uuids = [f"GPU-{index}" for index in range(64)]
    clock = 0.0
    ticks = 700
    for at in range(ticks):
        now = snapshot(float(at), *(gpu(at, 0.5, uuid, used=1024**3) for uuid in uuids))
        begun = time.process_time()
        history.update(now)
        clock += time.process_time() - begun
    assert history.size_bytes < 15_000_000
    assert clock / ticks < 0.05  # budget 2 ms; the bound is generous because test machines are slow


@given(
    st.lists(st.tuples(st.floats(0, 1e5), st.none() | st.floats(0, 1)), max_size=40),
    st.floats(0.1, 1e6),
    st.integers(-3, 50),
)
def test_any_sequence_gives_values_within_what_was_seen(
    ticks: list[tuple[float, float | None]], window_s: float, points: int
) -> None:
    history = History()
    for at_s, util in ticks:
        history.update(snapshot(at_s, gpu(at_s, util)))
    series = history.series(UTIL, window_s, points)
    assert len(series.values) == len(series.marked) == max(1, points)
    seen = [util for _, util in ticks if util is not None]
    assert all(min(seen) - 1e-6 <= value <= max(seen) + 1e-6 for value in series.known)


@given(
    st.lists(st.tuples(st.sampled_from((0.5, 1.0, 1.3, 5.0, 40.0)), st.none() | st.floats(0, 1)), max_size=60),
    st.sampled_from((15.0, 300.0, 900.0)),
    st.sampled_from((30, 400)),
)
def test_reading_at_every_tick_gives_the_same_as_reading_once(
    ticks: list[tuple[float, float | None]], window_s: float, points: int
) -> None:
    followed, asked_once = History(), History()
    at_s = 100.0
    for step_s, util in ticks:
        at_s += step_s
        for history in (followed, asked_once):
            history.update(snapshot(at_s, gpu(at_s, util)))
        followed.series(UTIL, window_s, points)
    assert followed.series(UTIL, window_s, points) == asked_once.series(UTIL, window_s, points)
