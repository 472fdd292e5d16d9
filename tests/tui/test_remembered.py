"""What one session leaves to the next, from the counters of the stream to the words on the screen."""

from __future__ import annotations

from pathlib import Path

import msgspec

from monitor.clock import ManualClock
from monitor.store.state import StateStore
from monitor.types.gpu import EccCounts, GpuSample, ThrottleTime
from monitor.types.messages import Facts, Hello, Message, Snapshot
from monitor.types.process import ProcessEnd
from monitor.types.steps import StepEvent
from tests.tui import parts
from tests.tui.test_details import gpu_detail
from tui.remembered import PREDICTED_AFTER_S, SAVE_EVERY_S, RememberingBuilder
from tui.view import View
from tui.widgets.board import Letters, build_board
from tui.widgets.looking_back import since_trouble

GPU = parts.gpu(0)
NOON_S = 1_800_000_000.0


def hello(**changes: object) -> Hello:
    return msgspec.structs.replace(parts.hello((GPU,)), boot_id="boot", **changes)


def tick(at_s: float, energy_j: float, heat_s: float, corrected: int = 0) -> Snapshot:
    sample = GpuSample(
        uuid=GPU.uuid,
        energy_j=energy_j,
        throttle_times=(
            ThrottleTime(reason="hw_thermal", total_s=heat_s),
            ThrottleTime(reason="low_utilization", total_s=at_s),
        ),
        ecc=EccCounts(enabled=True, corrected_aggregate=corrected),
    )
    return Snapshot(taken_s=NOON_S + at_s, boot_s=5000.0 + at_s, gpus=(sample,))


def session(folder: Path, *messages: Message) -> RememberingBuilder:
    builder = RememberingBuilder(StateStore(str(folder / "traintop"), ManualClock(wall_s=NOON_S)))
    for message in messages:
        builder.update(message)
    return builder


def trouble(view: View) -> str:
    board = build_board(view, Letters())
    return since_trouble(board, board.gpus[0])


def test_the_next_session_says_what_happened_since_the_last_look(tmp_path: Path) -> None:
    session(tmp_path, hello(), tick(0, 1e6, 100.0)).save()
    view = session(tmp_path, hello(), tick(7200, 1e6 + 7200 * 350, 100.0 + 720, corrected=2)).view()
    text = " ".join(gpu_detail(view, 0).split())
    assert "since you last looked" in text
    assert "energy 0.70 kWh, 350 W on average" in text
    assert "held down by hw thermal 12 min" in text
    assert "corrected memory errors 2" in text
    assert "low utilization" not in text, "nothing ran: that holds nobody down"
    said = trouble(view)
    assert said.startswith("GPU 0, since you last looked at ")
    assert said.endswith("held down by hw thermal for 12 min, 2 corrected memory errors.")


def test_nothing_is_said_without_a_look_before_nor_after_a_short_absence(tmp_path: Path) -> None:
    first = session(tmp_path, hello(), tick(0, 1e6, 100.0))
    assert "since you last looked" not in gpu_detail(first.view(), 0)
    first.save()
    soon = session(tmp_path, hello(), tick(30, 2e6, 130.0, corrected=5)).view()
    assert "since you last looked" not in gpu_detail(soon, 0)
    assert trouble(soon) == ""


def test_a_gpu_is_compared_once_with_the_session_before(tmp_path: Path) -> None:
    session(tmp_path, hello(), tick(0, 1e6, 0.0)).save()
    builder = session(tmp_path, hello(), tick(3600, 2e6, 0.0), tick(3601, 3e6, 0.0))
    assert builder.view().since[GPU.uuid].energy_j == 1e6


def test_it_is_saved_now_and_then_without_an_end(tmp_path: Path) -> None:
    session(tmp_path, hello(), tick(0, 1e6, 0.0), tick(SAVE_EVERY_S - 1, 1e6, 0.0))
    assert not (tmp_path / "traintop" / "state.json").exists()
    session(tmp_path, hello(), tick(0, 1e6, 0.0), tick(SAVE_EVERY_S, 1e6, 0.0))
    assert (tmp_path / "traintop" / "state.json").exists()


def test_simulated_gpus_leave_nothing(tmp_path: Path) -> None:
    session(tmp_path, hello(simulated=True), tick(0, 1e6, 0.0), tick(SAVE_EVERY_S, 1e6, 0.0)).save()
    assert not (tmp_path / "traintop" / "state.json").exists()


class Ending:
    """A run of ours, told by the processes and their log as the agent tells them."""

    process = parts.process(4242)

    def facts(self, at_s: float) -> Facts:
        fact = parts.facts_of(4242, "me", ("python", "train.py"), mine=True)
        return Facts(taken_s=NOON_S + at_s, boot_s=5000.0 + at_s, processes=(fact,))

    def tick(self, at_s: float, *, over: bool = False) -> Snapshot:
        sample = parts.sample_of(4242)
        step = StepEvent(
            process=self.process,
            source="tqdm",
            where="stderr → train.err",
            step=at_s * 10,
            total=20_000,
            elapsed_s=at_s,
            seen_s=NOON_S + at_s,
            confidence=0.7,
        )
        last = ProcessEnd(process=self.process, seen_s=NOON_S + at_s)
        return Snapshot(
            taken_s=NOON_S + at_s,
            boot_s=5000.0 + at_s,
            processes=() if over else (sample,),
            steps=() if over else (step,),
            ended=(last,) if over else (),
        )


def test_own_runs_that_ended_are_remembered_with_what_was_predicted(tmp_path: Path) -> None:
    one = Ending()
    ticks = [one.tick(float(at)) for at in range(1, int(PREDICTED_AFTER_S) + 120)]
    builder = session(tmp_path, hello(), one.facts(0), *ticks, one.tick(241, over=True), one.tick(260, over=True))
    builder.save()
    (past,) = StateStore(str(tmp_path / "traintop"), ManualClock(wall_s=NOON_S + 300)).load().past_runs
    assert past.total == 20_000
    assert past.step == 2390
    assert past.ended_s >= NOON_S + 240
    assert past.predicted_s is not None
    assert past.predicted_s - NOON_S <= PREDICTED_AFTER_S + 2, "what was said early, not a moment before the end"
    left = past.predicted_remaining_s
    assert left is not None
    assert abs(left.likely - (20_000 - (past.predicted_s - NOON_S) * 10) / 10) < 20


def test_two_sessions_at_once_do_not_lose_each_others_runs(tmp_path: Path) -> None:
    one = Ending()
    early = session(tmp_path, hello(), tick(0, 1e6, 0.0))
    late = session(tmp_path, hello(), one.facts(0), one.tick(1), one.tick(2), one.tick(3, over=True))
    late.update(one.tick(30, over=True))
    late.save()
    early.save()
    assert len(StateStore(str(tmp_path / "traintop"), ManualClock(wall_s=NOON_S + 300)).load().past_runs) == 1
