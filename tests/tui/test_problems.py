from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from monitor.history.least_free import LeastFree
from monitor.types.gpu import EccCounts, XidEvent
from monitor.types.process import Pressure
from monitor.types.record import Missing
from monitor.types.run import Run, RunEnd
from monitor.types.steps import StepValue
from tests.tui import parts, scenes
from tests.tui.test_details import gpu_detail, tab
from tests.tui.test_gpu_panel import board_of
from tui.view import View
from tui.widgets.problems import alarm_count, cpu_words, gpu_problems, problems_of


def changed(view: View, index: int, **changes: object) -> View:
    """The view with one GPU's sample changed."""
    assert view.snapshot is not None
    samples = list(view.snapshot.gpus)
    samples[index] = msgspec.structs.replace(samples[index], **changes)
    return replace(view, snapshot=msgspec.structs.replace(view.snapshot, gpus=tuple(samples)))


def run_with(view: View, **changes: object) -> tuple[View, Run]:
    run = msgspec.structs.replace(view.runs[0], **changes)
    return replace(view, runs=(run, *view.runs[1:])), run


def texts(view: View, run: Run | None = None) -> str:
    return "\n".join(f"{one.text} {one.more}" for one in problems_of(board_of(view), run or view.runs[0]))


def test_a_lost_gpu_comes_first_with_what_it_means() -> None:
    view = changed(scenes.view_of("eight"), 2, state="lost", state_detail="")
    first = problems_of(board_of(view), view.runs[0])[0]
    assert first.text == "GPU 2: lost: the driver cannot reach it."
    assert "wait for that GPU for ever, often at 100 % of a core" in first.more
    assert "lost: the driver cannot reach it" in gpu_detail(view, 2)
    assert "A run on it cannot go on" in gpu_detail(view, 2)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"state": "needs_reset"}, "GPU 0: needs a reset."),
        (
            {"recovery_action": "drain_and_reset"},
            "GPU 0: the driver asks for a drain of its work and a reset.",
        ),
        ({"ecc": EccCounts(remap_pending=True)}, "GPU 0: a faulty memory row waits to be remapped."),
        ({"ecc": EccCounts(remap_failed=True)}, "GPU 0: remapping a faulty memory row has failed."),
        ({"ecc": EccCounts(uncorrected_volatile=3)}, "GPU 0: 3 uncorrected memory errors"),
        ({"throttle": ("power_brake",)}, "GPU 0: the power supply makes it brake"),
    ],
)
def test_each_trouble_of_a_gpu_is_told_of_its_run_and_of_itself(changes: dict[str, object], words: str) -> None:
    view = changed(scenes.view_of("eight"), 0, **changes)
    assert words in texts(view)
    assert words in gpu_detail(view, 0, width=160)
    assert words not in texts(scenes.view_of("eight"))


def test_xids_are_explained_as_far_as_known() -> None:
    xids = (XidEvent(xid=63, seen_s=parts.NOW_S - 90), XidEvent(xid=79, seen_s=parts.NOW_S - 60))
    view = changed(scenes.view_of("eight"), 0, xids=xids)
    assert "GPU 0: the driver reported XID 79 at 14:01 (the GPU has fallen off the bus)." in texts(view)
    assert "1 more before it: 63." in texts(view)
    unknown = changed(scenes.view_of("eight"), 0, xids=(XidEvent(xid=9999, seen_s=parts.NOW_S),))
    assert "XID 9999 at 14:02." in texts(unknown)


def test_a_power_cap_is_no_trouble() -> None:
    view = changed(scenes.view_of("eight"), 6, throttle=("power_cap",), throttle_times=())
    assert problems_of(board_of(view), view.runs[0]) == []


def test_others_on_its_gpu_are_a_fact_and_no_alarm() -> None:
    view = scenes.view_of("shared")
    board = board_of(view)
    found = problems_of(board, view.runs[0])
    assert any("is shared with train.py --seed 3 of dora" in one.text for one in found)
    assert alarm_count(found) == 0
    assert not any("shared" in one.text for one in gpu_problems(board, board.gpus[2]))


def test_a_stalled_step_says_for_how_long_and_what_was_usual() -> None:
    view, run = run_with(
        scenes.view_of("one"), phase="stalled", phase_since_s=parts.NOW_S - 300, cpu_ratio=0.04, step_seconds=0.184
    )
    text = texts(view, run)
    assert "Step 3,120 has not moved on for 5 min 00 s; a step usually takes 0.184 s." in text
    assert "Its processes use 4 % of a core now." in text


def test_waiting_for_disk_names_the_processes_and_the_pressure() -> None:
    view, run = run_with(scenes.view_of("one"), waits_for_disk=True)
    assert view.snapshot is not None
    assert view.snapshot.host is not None
    host = msgspec.structs.replace(view.snapshot.host, pressures=(Pressure(resource="io", some_ratio=0.62),))
    samples = tuple(msgspec.structs.replace(one, state="D") for one in view.snapshot.processes)
    snapshot = msgspec.structs.replace(view.snapshot, host=host, processes=samples)
    text = texts(replace(view, snapshot=snapshot), run)
    assert "In state D now: pid 812." in text
    assert "62% of the last 10 s" in text


def test_a_loss_that_is_no_number_is_critical() -> None:
    view, run = run_with(scenes.view_of("one"), values=(StepValue(name="loss", value="nan"),))
    assert [(one.text, one.style) for one in problems_of(board_of(view), run)] == [("Its loss is nan.", "critical")]


def test_the_ways_to_a_step_are_those_of_its_own_reason() -> None:
    why = Missing(field="step", reason="not_supported", detail="its output goes to a terminal; start it with `> a.log`")
    view, run = run_with(scenes.view_of("one"), step=None, missing=(why,))
    text = " ".join(tab(replace(view, assessments={}), "advice", run=run))
    assert "start it with `> a.log`" in text
    assert "from the least effort" not in text, "the general ways add nothing"


def test_an_ended_run_shows_its_last_words() -> None:
    end = RunEnd(how="error", seen_s=parts.NOW_S - 60, evidence="RuntimeError: shapes do not match [/x]")
    view, run = run_with(scenes.view_of("one"), ended=end)
    lines = tuple(f"line {number}" for number in range(30))
    view = replace(view, last_words={run.members[0].process: (*lines, "RuntimeError: shapes do not match [/x]")})
    advice = tab(view, "advice", run=run)
    assert advice[0] == "  ▲ Ended 14:01 at step 3,120 of 9,750: error."
    assert advice[1].strip() == "RuntimeError: shapes do not match [/x]"
    assert "line 29" in "\n".join(advice)
    log = tab(view, "log", room=8, run=run)
    assert log[0].strip() == "What it wrote last"
    assert log[-1].strip() == "RuntimeError: shapes do not match [/x]"
    assert len(log) == 8


def test_an_end_that_is_not_known_is_no_alarm() -> None:
    view, run = run_with(scenes.view_of("one"), ended=RunEnd(how="unknown", seen_s=parts.NOW_S))
    assert tab(view, "advice", run=run)[0] == "  ● Ended 14:02 at step 3,120 of 9,750: it is not known how."


@pytest.mark.parametrize(("ratio", "words"), [(0.0, "0 % of a core"), (0.04, "4 % of a core"), (1.26, "1.3 cores")])
def test_a_little_cpu_is_told_in_percent(ratio: float, words: str) -> None:
    assert cpu_words(ratio) == words


def test_the_steps_of_an_ended_run_are_told_as_the_past() -> None:
    end = RunEnd(how="killed", seen_s=parts.NOW_S - 60)
    view, run = run_with(scenes.view_of("one"), step=None, step_seconds=None, ended=end)
    assert tab(replace(view, assessments={}), "steps", run=run)[0].strip() == "Its step was never read."


def test_little_free_memory_is_told_and_is_no_alarm() -> None:
    view = scenes.view_of("eight")
    uuid = board_of(view).gpus[2].uuid
    least = LeastFree(gpu_uuid=uuid, free_bytes=300 * 1024**2, total_bytes=80 * parts.GIB)
    view = replace(view, least_free={view.runs[0].run_id: least})
    assert "GPU 2 had only 300 MiB of 80.0 GiB free at its peak." in texts(view)
    before = alarm_count(problems_of(board_of(scenes.view_of("eight")), view.runs[0]))
    assert alarm_count(problems_of(board_of(view), view.runs[0])) == before
