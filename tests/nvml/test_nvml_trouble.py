"""GPUs and drivers that fail while we watch."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests.fake_nvml.gpu import NO_PERMISSION, FakeGpu
from tests.fake_nvml.library import FakeLibrary
from tests.nvml.bench import bench


@pytest.mark.parametrize(("code", "state"), [(999, "error"), (15, "lost"), (4, "no_permission"), (16, "needs_reset")])
def test_a23_a_dead_gpu_does_not_hide_the_others(tmp_path: Path, code: int, state: str) -> None:
    def kill(library: FakeLibrary) -> None:
        library.handle_refused[2] = code

    with bench(tmp_path, *(FakeGpu() for _ in range(4)), prepare=kill) as b:
        samples = b.read()
        assert [sample.state for sample in samples] == ["ok", "ok", state, "ok"]
        assert [gpu.index for gpu in b.info.gpus] == [0, 1, 2, 3]
        assert samples[2].state_detail.endswith(".")
        assert samples[2].gpu_util_ratio is None
        assert not samples[2].processes_known
        assert samples[3].gpu_util_ratio == 0.83


def test_a_gpu_without_handle_is_asked_again_and_comes_back_under_its_own_uuid(tmp_path: Path) -> None:
    def kill(library: FakeLibrary) -> None:
        library.handle_refused[1] = 999

    with bench(tmp_path, FakeGpu(), FakeGpu(), prepare=kill) as b:
        b.read()
        asked = b.library.calls["nvmlDeviceGetName"]
        for _ in range(20):
            b.read(after_s=1)
        assert b.library.calls["nvmlDeviceGetName"] == asked  # healthy GPUs are not identified again for its sake
        assert 3 <= b.library.calls["nvmlDeviceGetHandleByIndex_v2"] <= 8  # growing pauses
        b.library.handle_refused.clear()
        for _ in range(40):
            samples = b.read(after_s=1)
        assert [sample.state for sample in samples] == ["ok", "ok"]
        assert samples[1].uuid == b.library.gpus[1].uuid.decode()
        assert [gpu.uuid for gpu in b.driver.info().gpus] == [sample.uuid for sample in samples]


def test_a24_a_gpu_is_lost_while_running(tmp_path: Path) -> None:
    with bench(tmp_path, *(FakeGpu() for _ in range(3))) as b:
        for _ in range(10):
            assert [sample.state for sample in b.read(after_s=1)] == ["ok"] * 3
        uuid = b.library.gpus[1].uuid.decode()
        b.library.gpus[1].lost = True
        samples = b.read(after_s=1)
        lost_at_s = b.clock.wall_s()
        for _ in range(5):
            samples = b.read(after_s=1)
        lost = samples[1]
        assert [sample.state for sample in samples] == ["ok", "lost", "ok"]
        assert (lost.uuid, lost.state_since_s) == (uuid, lost_at_s)
        assert "Xid 79" in lost.state_detail
        assert lost.memory_total_bytes is not None
        assert {entry.reason for entry in lost.missing} == {"lost"}
        assert samples[2].taken_s == b.clock.wall_s()


def test_a_lost_gpu_is_asked_with_growing_pauses_and_can_come_back(tmp_path: Path) -> None:
    with bench(tmp_path, FakeGpu()) as b:
        b.read()
        b.library.gpus[0].lost = True
        b.library.calls.clear()
        for _ in range(60):
            b.read(after_s=1)
        assert sum(b.library.calls.values()) <= 6  # 2, 4, 8, 16, 32 s: one call each
        b.library.gpus[0].lost = False
        for _ in range(61):
            (sample,) = b.read(after_s=1)
        assert (sample.state, sample.state_since_s, sample.gpu_util_ratio) == ("ok", None, 0.83)


def test_slow_figures_are_asked_at_once_when_a_gpu_comes_back(tmp_path: Path) -> None:
    gpu = FakeGpu(fan=45)
    with bench(tmp_path, gpu) as b:
        b.read()
        b.read(after_s=5)
        gpu.lost = True
        b.read(after_s=0.5)
        gpu.lost, gpu.fan = False, 80  # it was reset: what was known before may be wrong
        (sample,) = b.read(after_s=2)
        assert (sample.state, sample.fan_ratio) == ("ok", 0.8)


def test_a_gpu_that_refuses_everything_is_in_error_and_comes_back(tmp_path: Path) -> None:
    with bench(tmp_path, FakeGpu(), FakeGpu()) as b:
        b.read()
        b.library.gpus[0].refused["*"] = 999
        first, second = b.read(after_s=1)
        assert (first.state, second.state) == ("error", "ok")
        b.library.gpus[0].refused.clear()
        first, _second = b.read(after_s=3)
        assert first.state == "ok"


def test_one_refused_figure_is_a_reason_not_a_state(tmp_path: Path) -> None:
    gpu = FakeGpu(refused={"nvmlDeviceGetMemoryInfo_v2": NO_PERMISSION})
    with bench(tmp_path, gpu) as b:
        (sample,) = b.read()
        assert (sample.state, sample.memory_used_bytes, sample.gpu_util_ratio) == ("ok", None, 0.83)
        assert b.missing(sample)["memory_used_bytes"] == "no_permission"
        assert not b.info.gpus[0].unified_memory
        gpu.refused.clear()
        (sample,) = b.read(after_s=5)  # permission may come: asked again
        assert sample.memory_used_bytes is not None
        assert "memory_used_bytes" not in b.missing(sample)


def test_a_stale_handle_is_taken_again(tmp_path: Path) -> None:
    with bench(tmp_path, FakeGpu(), FakeGpu()) as b:
        b.read()
        b.library.gpus[1].refused["nvmlDeviceGetUtilizationRates"] = 2  # it worked before
        samples = b.read(after_s=1)
        assert [sample.state for sample in samples] == ["ok", "error"]
        assert b.library.calls["nvmlDeviceGetHandleByIndex_v2"] == 4
        b.library.gpus[1].refused.clear()
        samples = b.read(after_s=1)
        assert [(sample.state, sample.state_since_s) for sample in samples] == [("ok", None)] * 2


def test_gpus_that_the_driver_numbers_anew_keep_their_uuids(tmp_path: Path) -> None:
    with bench(tmp_path, *(FakeGpu(utilisation=(share, 0)) for share in (10, 20, 30))) as b:
        first, second, third = (sample.uuid for sample in b.read())
        b.library.gpus.pop(0)  # removed: the rest moves up, and the last handle means nothing any more
        b.read(after_s=1)
        samples = {sample.uuid: sample for sample in b.read(after_s=1)}
        assert (samples[second].gpu_util_ratio, samples[third].gpu_util_ratio) == (0.2, 0.3)
        assert samples[first].gpu_util_ratio is None  # keeps its row, but shows no other GPU's figures
        b.library.calls.clear()
        for _ in range(60):
            b.read(after_s=1)
        assert b.library.calls["nvmlDeviceGetHandleByIndex_v2"] <= 6  # looked for with growing pauses


def test_no_gpu_is_listed_twice_when_numbers_move_and_one_gives_no_handle(tmp_path: Path) -> None:
    with bench(tmp_path, FakeGpu(), FakeGpu(), FakeGpu()) as b:
        before = {sample.uuid for sample in b.read()}
        b.library.gpus.pop(0)
        b.library.handle_refused[1] = 999
        for _ in range(3):
            samples = b.read(after_s=1)
        uuids = [sample.uuid for sample in samples]
        assert sorted(uuids) == sorted(before)
        assert [sample.state == "ok" for sample in samples].count(True) == 1


def test_a_library_that_was_closed_is_opened_once_more(tmp_path: Path) -> None:
    with bench(tmp_path, FakeGpu()) as b:
        b.read()
        b.library.gpus[0].refused["*"] = 1
        for _ in range(5):
            b.read(after_s=1)
        assert b.library.calls["nvmlInitWithFlags"] == 2  # not at every tick
        b.library.gpus[0].refused.clear()
        for _ in range(12):
            samples = b.read(after_s=1)
        assert [sample.state for sample in samples] == ["ok"]


def test_a29_a_hanging_call_blocks_only_the_thread_that_reads(tmp_path: Path) -> None:
    with bench(tmp_path, FakeGpu()) as b:
        b.read()
        before = threading.active_count()
        release = b.library.hang = threading.Event()
        thread = threading.Thread(target=b.read, daemon=True)
        thread.start()
        thread.join(0.1)
        assert thread.is_alive()
        assert b.driver.info().state == "ok"  # does not wait for the driver
        assert threading.active_count() == before + 1
        b.library.hang = None
        release.set()
        thread.join(5)
        assert not thread.is_alive()


def test_a_hanging_event_thread_is_left_behind_without_shutting_the_library(tmp_path: Path) -> None:
    with bench(tmp_path, FakeGpu(), with_events=True) as b:
        b.read()
        release = threading.Event()
        b.library.hang = release
        finished = threading.Thread(target=b.driver.release, daemon=True)
        # Freeing GPM buffers makes no call here, so release only waits for the event thread, and not for long.
        finished.start()
        finished.join(4)
        assert not finished.is_alive()
        assert b.library.calls["nvmlShutdown"] == 0
        b.library.hang = None
        release.set()


HOSTILE = [
    b"\xff\xfe\x80NVIDIA",
    b"\x1b]0;owned\x07\x1b[2JGPU",
    "NVIDIA \u202eGPU\u200b".encode(),
    b"",
    b"[/x][red]" * 20,
]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_become_safe_text(tmp_path: Path, name: bytes) -> None:
    with bench(tmp_path, FakeGpu(name=name)) as b:
        (identity,) = b.info.gpus
        b.read()
    assert 0 < len(identity.name) <= 96
    assert identity.name.isprintable()


def test_duplicate_uuids_do_not_crash(tmp_path: Path) -> None:
    gpus = [FakeGpu(), FakeGpu()]

    def same(library: FakeLibrary) -> None:
        library.gpus[1].uuid = library.gpus[0].uuid

    with bench(tmp_path, *gpus, prepare=same) as b:
        assert len(b.read()) == 2


def test_a_counter_that_goes_back_is_passed_on_as_it_is(tmp_path: Path) -> None:
    gpu = FakeGpu(energy_mj=9_000_000)
    with bench(tmp_path, gpu) as b:
        assert b.read()[0].energy_j == 9000.0
        gpu.energy_mj = 1000  # the driver was loaded anew; rates are the reader's business
        assert b.read(after_s=1)[0].energy_j == 1.0
