from __future__ import annotations

from monitor.history.failed_gpus import GRACE_TICKS, FailedGpus
from monitor.types.gpu import GpuSample
from monitor.types.messages import Snapshot
from monitor.types.run import Run, RunEnd


def tick(**states: str) -> Snapshot:
    gpus = tuple(GpuSample(uuid=uuid, state=state) for uuid, state in states.items())
    return Snapshot(taken_s=1.0, boot_s=1.0, gpus=gpus)


def on(*uuids: str, ended: RunEnd | None = None) -> tuple[Run, ...]:
    return (Run(run_id="r", name="r", gpu_uuids=uuids, ended=ended),)


def uuids_of(failed: FailedGpus, runs: tuple[Run, ...]) -> tuple[str, ...]:
    return failed.with_failed(runs)[0].gpu_uuids


def test_a_run_stays_with_the_gpu_that_was_lost_under_it() -> None:
    failed = FailedGpus()
    failed.note_runs(on("a", "b"), tick(a="ok", b="ok"))
    for _ in range(50):
        failed.note_runs(on("a"), tick(a="ok", b="lost"))
        assert uuids_of(failed, on("a")) == ("a", "b")


def test_the_list_of_processes_may_go_before_the_state_does() -> None:
    failed = FailedGpus()
    failed.note_runs(on("a", "b"), tick(a="ok", b="ok"))
    for _ in range(GRACE_TICKS):
        failed.note_runs(on("a"), tick(a="ok", b="ok"))
        assert uuids_of(failed, on("a")) == ("a",)
    failed.note_runs(on("a"), tick(a="ok", b="needs_reset"))
    assert uuids_of(failed, on("a")) == ("a", "b")


def test_a_gpu_that_a_run_had_left_before_is_not_its_trouble() -> None:
    failed = FailedGpus()
    failed.note_runs(on("a", "b"), tick(a="ok", b="ok"))
    for _ in range(GRACE_TICKS + 1):
        failed.note_runs(on("a"), tick(a="ok", b="ok"))
    failed.note_runs(on("a"), tick(a="ok", b="lost"))
    assert uuids_of(failed, on("a")) == ("a",)


def test_a_gpu_that_is_back_and_a_run_that_ended_are_as_they_are() -> None:
    failed = FailedGpus()
    failed.note_runs(on("a"), tick(a="ok"))
    failed.note_runs(on(), tick(a="lost"))
    assert uuids_of(failed, on()) == ("a",)
    failed.note_runs(on(), tick(a="ok"))
    assert uuids_of(failed, on()) == ()
    over = on(ended=RunEnd(how="error", seen_s=2.0))
    failed.note_runs(over, tick(a="lost"))
    assert uuids_of(failed, over) == ()
