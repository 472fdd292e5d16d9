from __future__ import annotations

import threading

from monitor.agent.schedule import Schedule
from monitor.agent.source_loop import MAX_STRIDE, SourceLoop
from monitor.clock import ManualClock, SystemClock


def test_a_reading_tells_what_it_cost_and_how_old_it_is() -> None:
    clock = ManualClock()

    def read() -> str:
        clock.advance(0.05)
        return "value"

    loop = SourceLoop("host", read, clock, Schedule(clock.boot_s(), 1.0))
    loop.read_once(0.02)
    clock.advance(2.0)
    timing = loop.timing(clock.boot_s())
    assert (timing.late_s, timing.took_s, timing.age_s, timing.waiting_s) == (0.02, 0.05, 2.0, None)


def test_before_the_first_answer_a_source_counts_as_waiting() -> None:
    clock = ManualClock()
    loop = SourceLoop("host", lambda: 1, clock, Schedule(clock.boot_s(), 1.0))
    assert loop.timing(clock.boot_s()).waiting_s == 0.0


def test_an_error_keeps_the_reading_before_and_is_gone_when_it_works_again() -> None:
    clock = ManualClock()
    answers: list[object] = ["good", ValueError("bad \x1b[31m value"), "good again"]

    def read() -> object:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    loop = SourceLoop("steps", read, clock, Schedule(clock.boot_s(), 1.0))
    loop.read_once(0.0)
    loop.read_once(0.0)
    assert loop.failure == "ValueError: bad ^[[31m value"
    latest = loop.latest()
    assert latest is not None
    assert latest.value == "good"
    loop.read_once(0.0)
    assert loop.failure is None


def _strides(costs_s: list[float]) -> list[int]:
    """How many ticks the loop sits out after each call, told by when its source is expected next."""
    clock = ManualClock(boot_s=0.0)
    left = list(costs_s)
    loop = SourceLoop("processes", lambda: clock.advance(left.pop(0)), clock, Schedule(0.0, 1.0))
    strides = []
    for _ in costs_s:
        loop.read_once(0.0)
        strides.append(loop.stride)
    return strides


def test_a_source_that_needs_more_than_a_fifth_of_the_time_is_asked_less_often() -> None:
    assert _strides([0.05, 0.05]) == [1, 1]
    assert _strides([0.5, 0.5, 0.5]) == [1, 3, 3]
    assert _strides([9.0, 9.0]) == [1, MAX_STRIDE]
    assert _strides([0.5, 0.05, 0.5]) == [1, 1, 1], "one hiccup changes nothing"


def test_a_hanging_call_tells_for_how_long_and_another_loop_goes_on() -> None:
    clock = SystemClock()
    gate = threading.Event()
    landed = threading.Event()
    now_s = clock.boot_s()
    hanging = SourceLoop("driver", lambda: gate.wait(10), clock, Schedule(now_s, 0.02))
    other = SourceLoop(
        "processes",
        lambda: 1,
        clock,
        Schedule(now_s, 0.02),
        after=hanging,
        patience_s=0.05,
        on_landed=lambda: landed.set() if other.landings >= 5 else None,
    )
    hanging.start()
    other.start()
    assert landed.wait(5)
    assert hanging.latest() is None
    assert (hanging.waiting_s(clock.boot_s()) or 0) > 0.05
    hanging.stop()
    other.stop()
    gate.set()


def test_a_wake_up_reads_once_more_before_the_next_due_time() -> None:
    clock = SystemClock()
    landed = threading.Semaphore(0)
    loop = SourceLoop("steps", lambda: 1, clock, Schedule(clock.boot_s(), 60.0), on_landed=landed.release)
    loop.start()
    assert landed.acquire(timeout=5)
    loop.wake()
    assert landed.acquire(timeout=5)
    loop.stop()


def test_a_source_that_still_waits_for_the_one_before_it_is_expected_to_land() -> None:
    clock = SystemClock()
    gate = threading.Event()
    start_s = clock.boot_s()
    slow = SourceLoop("processes", lambda: gate.wait(10), clock, Schedule(start_s, 60.0))
    after = SourceLoop("steps", lambda: 1, clock, Schedule(start_s, 60.0), after=slow, patience_s=5.0)
    slow.start()
    after.start()
    try:
        after.wait_landed(start_s, 0.05)
        assert after.latest() is None
        assert after.expected_by(start_s)
    finally:
        gate.set()
    after.wait_landed(start_s, 5.0)
    assert after.latest() is not None
    assert not after.expected_by(start_s)
    slow.stop()
    after.stop()
