from __future__ import annotations

from monitor.history.last_words import MAX_PROCESSES, LastWords
from monitor.history.least_free import RunMemory
from monitor.types.gpu import GpuIdentity, GpuSample
from monitor.types.identity import ProcessIdentity
from monitor.types.messages import Hello, Snapshot
from monitor.types.process import ProcessEnd
from monitor.types.run import Run, RunEnd

GIB = 1024**3


def tick(*samples: GpuSample) -> Snapshot:
    return Snapshot(taken_s=1.0, boot_s=1.0, gpus=samples)


def card(uuid: str, used_gib: float, **more: object) -> GpuSample:
    values = {"uuid": uuid, "memory_total_bytes": 80 * GIB, "memory_used_bytes": int(used_gib * GIB), **more}
    return GpuSample(**values)  # type: ignore[arg-type]


def test_the_tightest_moment_of_the_tightest_gpu_is_kept() -> None:
    memory = RunMemory()
    run = Run(run_id="r", name="r", gpu_uuids=("a", "b"))
    for used_a, used_b in ((10, 20), (50, 71), (12, 30)):
        memory.note_runs((run,), tick(card("a", used_a), card("b", used_b)))
    found = memory.least_free()["r"]
    assert (found.gpu_uuid, found.free_bytes, found.total_bytes) == ("b", 9 * GIB, 80 * GIB)


def test_what_the_driver_keeps_is_not_free_and_its_own_figure_counts() -> None:
    memory = RunMemory()
    run = Run(run_id="r", name="r", gpu_uuids=("a",))
    memory.note_runs((run,), tick(card("a", 70, memory_reserved_bytes=GIB)))
    assert memory.least_free()["r"].free_bytes == 9 * GIB
    memory.note_runs((run,), tick(card("a", 70, memory_free_bytes=8 * GIB)))
    assert memory.least_free()["r"].free_bytes == 8 * GIB


def test_before_a_run_was_there_nothing_counts_and_an_ended_one_keeps_its_figure() -> None:
    memory = RunMemory()
    memory.note_runs((), tick(card("a", 79)))
    run = Run(run_id="r", name="r", gpu_uuids=("a",))
    memory.note_runs((run,), tick(card("a", 40)))
    over = Run(run_id="r", name="r", gpu_uuids=("a",), ended=RunEnd(how="finished", seen_s=2.0))
    memory.note_runs((over,), tick(card("a", 75)))
    assert memory.least_free()["r"].free_bytes == 40 * GIB
    memory.note_runs((), tick(card("a", 75)))
    assert memory.least_free() == {}


def test_nothing_is_claimed_without_a_figure_or_of_shared_memory() -> None:
    memory = RunMemory()
    unified = GpuIdentity(uuid="u", index=0, name="GB10", unified_memory=True)
    memory.update(Hello(taken_s=0.0, boot_s=0.0, gpus=(unified,)))
    runs = (Run(run_id="r", name="r", gpu_uuids=("u",)), Run(run_id="s", name="s", gpu_uuids=("lost", "x")))
    lost = card("lost", 3, state="lost")
    memory.note_runs(runs, tick(card("u", 3), lost, card("x", 0, memory_used_bytes=None)))
    assert memory.least_free() == {}


def test_last_words_are_kept_and_bounded() -> None:
    words = LastWords()
    for pid in range(MAX_PROCESSES + 5):
        tail = tuple(f"line {number}" for number in range(300))
        end = ProcessEnd(process=ProcessIdentity(pid=pid, start_ticks=1), seen_s=1.0, tail=tail)
        silent = ProcessEnd(process=ProcessIdentity(pid=pid, start_ticks=2), seen_s=1.0)
        words.update(Snapshot(taken_s=1.0, boot_s=1.0, ended=(end, silent)))
    kept = words.lines()
    assert len(kept) == MAX_PROCESSES
    assert ProcessIdentity(pid=0, start_ticks=1) not in kept
    last = kept[ProcessIdentity(pid=MAX_PROCESSES + 4, start_ticks=1)]
    assert last[-1] == "line 299"
    assert len(last) == 200
