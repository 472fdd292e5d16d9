"""When a look is enough, and when what was seen is only a part."""

from __future__ import annotations

from dataclasses import replace

import pytest

from monitor.types.gpu import GpuSample
from monitor.types.messages import Fault, Snapshot, SourceTiming
from monitor.types.process import ProcessSample
from tests.outputs.views import MINE, NOW_S, free_view, full_view, hello, no_driver_view
from tui.commands.watching import answered, began_after, first_look_done, is_partial
from tui.view import View, ViewBuilder


@pytest.mark.parametrize(
    ("timing", "has"),
    [
        (SourceTiming(source="steps", waiting_s=0.1), False),
        (SourceTiming(source="steps", waiting_s=0.1, age_s=1.0), True),
        (SourceTiming(source="steps", took_s=0.01), True),
    ],
)
def test_whether_a_source_has_answered(timing: SourceTiming, has: bool) -> None:
    assert answered(timing) is has


def test_steps_that_were_read_before_the_processes_were_known_do_not_count() -> None:
    processes = SourceTiming(source="processes", took_s=0.05, age_s=0.10)
    assert began_after(SourceTiming(source="steps", took_s=0.02, age_s=0.05), processes)
    assert not began_after(SourceTiming(source="steps", took_s=0.02, age_s=0.12), processes)
    assert began_after(None, processes)


def looked(*timings: SourceTiming, driver_state: str = "ok", gpus: int = 1, processes: int = 1) -> bool:
    builder = ViewBuilder()
    builder.update(hello(driver_state=driver_state))
    builder.update(
        Snapshot(
            taken_s=NOW_S,
            boot_s=10.0,
            gpus=tuple(GpuSample(uuid=f"GPU-{index}") for index in range(gpus)),
            processes=tuple(ProcessSample(process=MINE) for _ in range(processes)),
            timings=timings,
        )
    )
    return first_look_done(builder)


READ = (
    SourceTiming(source="driver", took_s=0.01, age_s=0.2),
    SourceTiming(source="processes", took_s=0.02, age_s=0.1),
    SourceTiming(source="steps", took_s=0.02, age_s=0.01),
)
HUNG = SourceTiming(source="driver", waiting_s=3.0)


def test_a_look_is_enough_when_each_source_has_seen_what_the_one_before_found() -> None:
    assert looked(*READ)
    assert not looked(*READ, driver_state="asking")
    assert not looked(HUNG, *READ[1:])
    assert not looked(*READ, gpus=0)
    assert looked(*READ, driver_state="absent", gpus=0)
    early_steps = SourceTiming(source="steps", took_s=0.0, age_s=0.19)
    assert not looked(*READ[:2], early_steps)
    assert looked(*READ[:2], early_steps, processes=0)


def test_a_stream_without_timings_is_taken_as_it_is() -> None:
    assert looked()


def with_fault(key: str) -> View:
    fault = Fault(taken_s=NOW_S, boot_s=10.0, key=key, source="driver", sentence="So it is.")
    return replace(free_view(), faults=(fault,))


@pytest.mark.parametrize(
    ("view", "partial"),
    [
        (no_driver_view(), False),
        (replace(no_driver_view(), hello=hello(driver_state="failed")), True),
        (replace(no_driver_view(), hello=hello(driver_state="asking")), True),
        (free_view(), False),
        (full_view(), True),
        (with_fault("driver-silent"), True),
        (with_fault("agent-stderr"), False),
        (View(), True),
    ],
)
def test_what_counts_as_partial_data(view: View, partial: bool) -> None:
    assert is_partial(view) is partial
