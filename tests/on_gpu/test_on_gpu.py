"""The script for a real GPU, proved over the fakes: every part reports, and none hides the others."""

from __future__ import annotations

import ctypes
import dataclasses
import importlib.util
import json
import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.on_gpu import assumptions, call_times, features, field_values, sample_buffers, sessions, study
from benchmarks.on_gpu.__main__ import main
from benchmarks.on_gpu.answers import plain
from benchmarks.on_gpu.parts import Deadline, Measure, PartResult, Row, run_part
from benchmarks.on_gpu.study import CHECKS, RECORDING, Options, Study
from benchmarks.on_gpu.target import Opening, Target, occupied
from benchmarks.on_gpu.training_process import SMALL, Session, Torch, find_torch
from monitor.clock import SystemClock
from monitor.nvml.driver import Driver
from monitor.nvml.errors import REFUSALS
from monitor.nvml.machine import Machine
from monitor.types.requests import Watch
from tests.fake_nvml.fixtures import stub_library
from tests.fake_nvml.gpu import FakeGpu
from tests.fake_nvml.library import FakeLibrary, installed, no_library

__all__ = ["stub_library"]

ROOT = Path(__file__).resolve().parents[2]
DRIVER_PARTS = ("opening the driver", "call times", "sample buffers", "field values", "features", "assumptions")
PROCESS_LISTS = tuple(f"nvmlDeviceGet{part}RunningProcesses_v3" for part in ("Compute", "Graphics", "MPSCompute"))
GIBI = 1 << 30


class SamplingLibrary(FakeLibrary):
    """The fake library with sample buffers: 120 power samples, 20 ms apart; no other buffer."""

    asked: threading.Event | None = None
    """While set to an event, asking for samples hangs until it is set."""

    def nvmlDeviceGetSamples(  # noqa: N802  the C function's name
        self, handle: Any, kind: Any, since: Any, value_type: Any, count: Any, samples: Any
    ) -> int:
        if self.asked is not None:
            self.asked.wait(20)
        if kind.value != 0:
            return 3
        newest_us = 1_800_000_000_000_000
        stamps = [newest_us - 20_000 * age for age in range(120) if newest_us - 20_000 * age > since.value]
        if not stamps:
            return 6
        value_type._obj.value, count._obj.value = 1, len(stamps)
        for position, stamp in enumerate(stamps if samples is not None else ()):
            samples[position].timeStamp, samples[position].sampleValue.uiVal = stamp, 350_000 + position
        return 0


def opened(library: FakeLibrary) -> Target:
    """The first GPU of an installed library."""
    opening = Opening()
    assert run_part("opening", opening.rows, Deadline(10), 10).trouble == ""
    assert opening.target is not None
    return opening.target


@pytest.fixture
def target() -> Iterator[Target]:
    with installed(SamplingLibrary([FakeGpu(), FakeGpu()])) as library:
        yield opened(library)


def rows_of(measure: Measure, seconds: float = 10.0) -> list[Row]:
    result = run_part("part", measure, Deadline(seconds), seconds)
    assert result.trouble == ""
    return result.rows


def checked(target: Target, when: assumptions.When, pid: int | None = None) -> dict[str, Row]:
    """Check → its row, with short looks."""
    return {row["check"]: row for row in rows_of(assumptions.measure(target, CHECKS, when, 0.05, pid), 20)}


def missing_torch(folder: Path) -> str:
    """An interpreter without torch; starting Python for that would take longer."""
    script = folder / "python"
    script.write_text("#!/bin/sh\necho \"ModuleNotFoundError: No module named 'torch'\" >&2\nexit 1\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return str(script)


def read_report(out: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((out / "report.json").read_text(encoding="utf-8"))
    return report


def parts_of(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {part["part"]: part for part in report["parts"]}


# -- The whole --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_everything_is_measured_trained_and_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")

    def find_torch_with_gpu(*arguments: Any) -> Torch:
        """The real one, but with a GPU, so that the fake driver is looked at "under load" while the CPU trains."""
        found = find_torch(*arguments)
        assert isinstance(found, Torch), found
        return dataclasses.replace(found, cuda=True)

    monkeypatch.setattr(study, "find_torch", find_torch_with_gpu)
    monkeypatch.setattr(sessions, "AFTER_S", 1.5)
    out = tmp_path / "out"
    session = Session("bf16", "bf16", 1.5)
    options = Options(out, seconds_per_part=10.0, sessions=(session,), sizes=SMALL, watch_s=0.03)
    with installed(SamplingLibrary([FakeGpu()])):
        status = Study(options, say=lambda _text: None).run()

    report = read_report(out)
    parts = parts_of(report)
    assert {*DRIVER_PARTS, "torch", "trainings", "recording"} <= parts.keys()
    assert {part["trouble"] for part in parts.values()} == {""}, parts
    assert status == 0
    for name in ("assumptions", "assumptions under load"):
        assert {row["verdict"] for row in parts[name]["rows"]} <= {"holds", "differs", "unknown"}
        assert len(parts[name]["rows"]) >= 15
    assert parts["sample buffers under load"]["rows"][0]["count"] == 120
    assert parts["call times under load"]["rows"]
    (training,) = parts["trainings"]["rows"]
    assert training["verdict"] == "holds", training
    assert training["exit_status"] == 0
    assert training["last_step"] > 1

    recording, *replayed = parts["recording"]["rows"]
    assert (out / RECORDING).stat().st_size == recording["bytes"] < 1_000_000
    (run,) = [row["replayed_run"] for row in replayed]
    assert run["kind"] == "training"
    assert run["step"] == training["last_step"]
    assert run["ended"] == "finished"

    words = (out / "report.md").read_text(encoding="utf-8")
    assert "| holds | memory adds up |" in words
    assert str(ROOT) not in words + (out / "report.json").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_command_over_the_compiled_stub_without_torch(stub_library: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.on_gpu", "--out", str(out), "--seconds-per-part", "1", "--python",
         missing_torch(tmp_path)],
        env={**os.environ, "LD_LIBRARY_PATH": str(stub_library), "FAKE_NVML_GPUS": "2", "FAKE_NVML_PIDS": "4711@0"},
        cwd=ROOT, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert done.stderr == ""
    report = read_report(out)
    parts = parts_of(report)
    assert "No module named 'torch'" in parts["trainings"]["trouble"]
    assert all(parts[name]["rows"] for name in DRIVER_PARTS)
    chosen = [row for row in parts["opening the driver"]["rows"] if row["what"] == "the GPU that is measured"]
    assert [row["index"] for row in chosen] == [1], "somebody works on GPU 0"
    assert not (out / RECORDING).exists()


def test_no_driver_is_one_sentence_and_status_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with no_library():
        status = main(["--out", str(tmp_path / "out")])
    printed = capsys.readouterr()
    assert status == 2
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1
    assert "NVIDIA driver library" in printed.err
    assert not (tmp_path / "out").exists()


def test_no_gpu_is_status_2_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with installed(FakeLibrary([])):
        assert main(["--out", str(tmp_path / "out")]) == 2
    assert "offers no GPU" in capsys.readouterr().err
    with installed(FakeLibrary([FakeGpu()])):
        assert main(["--out", str(tmp_path / "out"), "--gpu", "3"]) == 2
    assert "no GPU 3" in capsys.readouterr().err
    library = FakeLibrary([FakeGpu()])
    library.handle_refused[0] = 4
    with installed(library):
        assert main(["--out", str(tmp_path / "out")]) == 2
    assert REFUSALS[4].sentence in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    with installed(FakeLibrary([FakeGpu()])):
        assert main(["--out", str(tmp_path / "file" / "out")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "soon"])
def test_times_that_are_none_are_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--seconds-per-part", text])
    assert "seconds above 0" in capsys.readouterr().err


# -- Trouble ----------------------------------------------------------------------------------------------------------


def studied(tmp_path: Path, library: FakeLibrary, **options: Any) -> tuple[Study, dict[str, dict[str, Any]]]:
    """A study of the driver alone, as short as can be, and its parts by name."""
    out = tmp_path / "out"
    given = {"seconds_per_part": 0.6, "python": missing_torch(tmp_path), "watch_s": 0.02, **options}
    made = Study(Options(out, **given), say=lambda _text: None)
    with installed(library):
        assert made.run() == 1
    return made, parts_of(read_report(out))


def test_a_part_that_fails_hides_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_target: Target) -> Measure:
        def rows(_deadline: Deadline) -> Iterator[Row]:
            yield {"kind": 0, "name": "total power", "count": 0}
            raise RuntimeError("invented trouble in \x1b[31mred")

        return rows

    monkeypatch.setattr(sample_buffers, "measure", broken)
    _made, parts = studied(tmp_path, SamplingLibrary([FakeGpu()]))
    trouble = parts["sample buffers"]["trouble"]
    assert "RuntimeError: invented trouble" in trouble
    assert "\x1b" not in trouble
    assert len(parts["sample buffers"]["rows"]) == 1, "what was found before is kept"
    for name in DRIVER_PARTS:
        assert parts[name]["rows"], name
    assert "invented trouble" in (tmp_path / "out" / "report.md").read_text(encoding="utf-8")


def test_a_call_that_never_returns_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.on_gpu.parts.GRACE_S", 0.2)
    library = SamplingLibrary([FakeGpu()])
    library.asked = threading.Event()
    try:
        made, parts = studied(tmp_path, library, seconds_per_part=1.0)
    finally:
        library.asked.set()
    assert made.is_hung
    assert "did not return" in parts["call times"]["trouble"]
    assert any(row["call"] == "nvmlDeviceGetName" for row in parts["call times"]["rows"])
    assert "has not answered before" in parts["assumptions"]["trouble"]
    assert library.is_open, "a library in which a call hangs is not closed"


def test_when_the_time_is_up_parts_are_left_out(tmp_path: Path) -> None:
    begun_s = time.monotonic()
    _made, parts = studied(tmp_path, SamplingLibrary([FakeGpu()]), total_s=0.3, seconds_per_part=None)
    assert time.monotonic() - begun_s < 5
    assert "time was up" in parts["assumptions"]["trouble"]
    assert parts["call times"]["rows"]


def test_without_cuda_the_report_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "find_torch", lambda *_arguments: Torch("2.0", False, None, "cpu", ()))
    _made, parts = studied(tmp_path, SamplingLibrary([FakeGpu()]), sessions=())
    assert "finds no GPU" in parts["torch"]["trouble"]
    assert "finds no GPU" in (tmp_path / "out" / "report.md").read_text(encoding="utf-8")


def test_a_gpu_in_use_gets_no_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Torch("2.0", True, "12.0", "NVIDIA H100 80GB HBM3", ())
    monkeypatch.setattr(study, "find_torch", lambda *_arguments: found)
    monkeypatch.setattr(study, "Capture", None)  # calling it would fail the test
    _made, parts = studied(tmp_path, SamplingLibrary([FakeGpu(compute=[(4711, GIBI)])]))
    assert "They were left out" in parts["free GPU"]["trouble"]
    assert "get in the way of others: 1 processes" in parts["free GPU"]["trouble"]


@pytest.mark.parametrize(
    ("gpu", "why"),
    [
        (FakeGpu(), ""),
        (FakeGpu(mps=[(4711, GIBI)]), "1 processes"),
        (FakeGpu(used_mib=4000), "4000 MiB"),
        (FakeGpu(refused=dict.fromkeys(PROCESS_LISTS, 4)), REFUSALS[4].sentence),
        (FakeGpu(refused={"nvmlDeviceGetMemoryInfo_v2": 3, "nvmlDeviceGetMemoryInfo": 3}), "does not say"),
    ],
)  # fmt: skip
def test_a_gpu_is_free_only_when_that_is_known(gpu: FakeGpu, why: str) -> None:
    with installed(SamplingLibrary([gpu])) as library:
        target = opened(library)
        found = occupied(target.caller, target.handle, target.machine)
    assert bool(found) == bool(why)
    assert why in found


def test_beside_others_no_training_fills_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "find_torch", lambda *_arguments: Torch("2.0", True, "12.0", "NVIDIA H100", ()))
    started: list[str] = []

    def run(_sessions: Any, session: Session, *_limits: Any) -> Row:
        started.append(session.name)
        return {"session": session.name, "verdict": "holds"}

    monkeypatch.setattr(sessions.Sessions, "run", run)
    _made, parts = studied(tmp_path, SamplingLibrary([FakeGpu(graphics=[(4711, GIBI)])]), share=True)
    assert started == ["bf16", "fp32"]
    assert "fill the memory were left out" in parts["free GPU"]["trouble"]
    assert [row["session"] for row in parts["trainings"]["rows"]] == started


def test_a_check_that_fails_hides_no_other(target: Target) -> None:
    def broken(_subject: assumptions.Subject) -> assumptions.Observed:
        raise ValueError("invented")

    checks = (assumptions.Check("broken", "nothing", broken), *CHECKS[:1])
    first, second = rows_of(assumptions.measure(target, checks, "rest", 0.05))
    assert (first["verdict"], second["verdict"]) == ("unknown", "holds")
    assert "ValueError: invented" in first["observed"]


def test_a_driver_that_allows_nothing_is_unknown_not_wrong() -> None:
    gpu = FakeGpu(refused={"nvmlDeviceGetMemoryInfo_v2": 4, "nvmlDeviceGetFieldValues": 4})
    with installed(SamplingLibrary([gpu])) as library:
        rows = checked(opened(library), "rest")
    assert rows["memory adds up"]["verdict"] == "unknown"
    assert REFUSALS[4].sentence in rows["memory adds up"]["observed"]
    assert rows["a UUID has its form"]["verdict"] == "holds"


# -- The parts --------------------------------------------------------------------------------------------------------


def test_every_call_of_the_driver_source_is_measured(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    gpus = [FakeGpu(links=2, compute=[(4711, GIBI)]), FakeGpu(links=2)]
    library = SamplingLibrary(gpus)
    with installed(library):
        driver = Driver(SystemClock(), machine=Machine(str(tmp_path)), start_thread=lambda work: work())
        uuids = tuple(gpu.uuid for gpu in driver.open().gpus)
        for _ in range(3):
            driver.read(Watch(view="gpu", gpu_uuids=uuids))
            time.sleep(0.11)  # GPM wants that between two samples
        driver.release()
        used = set(library.calls)
        library.calls.clear()

        target = opened(library)
        rows_of(call_times.measure(target, most=1))
        rows_of(features.measure(target))
        checked(target, "rest")
    assert used - set(library.calls) - {"nvmlShutdown"} == set()


def test_timing_repeats_until_enough_or_the_box_is_full() -> None:
    row = call_times.time_call(call_times.Timed("quick", lambda: 7), 40, 5.0)
    assert row["repetitions"] == 40
    assert row["answer"] == 7
    assert 0 < row["median_us"] <= row["p95_us"] <= row["max_us"]
    row = call_times.time_call(call_times.Timed("dear", lambda: time.sleep(0.02)), 40, 0.05)
    assert 2 <= row["repetitions"] < 10
    assert row["median_us"] > 15_000
    row = call_times.time_call(call_times.Timed("refused", lambda: REFUSALS[3]), 40, 5.0)
    assert row["repetitions"] == call_times.REFUSED_REPETITIONS
    assert row["refused"]["reason"] == "not_supported"


def test_a_sample_buffer_is_described(target: Target) -> None:
    first, *others = rows_of(sample_buffers.measure(target))
    assert (first["count"], first["span_s"], first["value_type"]) == (120, 2.38, "uint")
    assert first["spacing_ms"] == {"min": 20.0, "median": 20.0, "max": 20.0}
    assert first["value"]["max"] == 350_119
    assert first["newest"][-1] == [0, 350_000]
    assert first["newer_than_newest"] == "not_yet"
    assert {row["refused"]["reason"] for row in others} == {"not_supported"}
    assert len(others) == 9


def test_field_values_that_answer_and_that_refuse(target: Target) -> None:
    rows = rows_of(field_values.measure(target, 0.01))
    answered = {(row["field"], row["scope"]): row for row in rows if "field" in row}
    assert answered[83, 0]["value"] == 5_000_000
    assert answered[83, 0]["type"] == "ulonglong"
    assert answered[83, 0]["change_per_s"] == 0
    refused = rows[-1]["refused_ids_by_code"]
    assert 197 in refused["3"]
    assert refused["2"] == list(range(308, 321)), "beyond the last field of this driver"


def test_one_field_that_spoils_its_batch_is_found(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = target.caller.call

    def call(name: str, *arguments: Any) -> Any:
        if name == "nvmlDeviceGetFieldValues" and (100, 0) in arguments[1]:
            return REFUSALS[2]
        return whole(name, *arguments)

    monkeypatch.setattr(target.caller, "call", call)
    rows = rows_of(field_values.measure(target, 0.01))
    assert {82, 83, 91, 94} <= {row["field"] for row in rows if "field" in row}


def test_checks_at_rest_tell_a_good_driver_from_another(monkeypatch: pytest.MonkeyPatch) -> None:
    with installed(SamplingLibrary([FakeGpu()])) as library:
        good = checked(opened(library), "rest")
    for name in ("memory adds up", "memory of version 1 holds the reserve", "an unknown field spoils no batch",
                 "GPM begins with Hopper", "the power buffer", "Xid events can be heard"):  # fmt: skip
        assert good[name]["verdict"] == "holds", good[name]
    assert good["the PCIe throughput call blocks"]["verdict"] == "differs", "the fake's answers at once"
    assert good["energy is power times time"]["verdict"] == "unknown", "the fake's counter stands still"

    with installed(SamplingLibrary([FakeGpu(has_gpm=False)])) as library:

        def shuffled(_gpu: Any, out: Any) -> int:
            info = out._obj
            info.total, info.reserved, info.used, info.free = 80 * GIBI, GIBI, GIBI, GIBI
            return 0

        monkeypatch.setattr(library, "nvmlDeviceGetMemoryInfo_v2", shuffled, raising=False)
        other = checked(opened(library), "rest")
    assert other["memory adds up"]["verdict"] == "differs"
    assert other["memory of version 1 holds the reserve"]["verdict"] == "differs"
    assert other["GPM begins with Hopper"]["verdict"] == "differs"


def test_checks_under_load_look_for_the_training() -> None:
    pid = os.getpid()
    now_us = int(time.time() * 1e6)
    gpu = FakeGpu(used_mib=2000, compute=[(pid, GIBI)], use=[(pid, now_us, 83)])
    with installed(SamplingLibrary([gpu])) as library:
        good = checked(opened(library), "load", pid)
        for name in ("the process list names our pid", "memory of processes fits in used",
                     "stamps of use per process are wall-clock µs", "the cursor gives only newer samples",
                     "use per process shows the training"):  # fmt: skip
            assert good[name]["verdict"] == "holds", good[name]
        assert all(row["under_load"] for row in good.values())

        gpu.compute, gpu.use = [(1, 70 * GIBI)], [(1, now_us * 1000, 83)]
        other = checked(opened(library), "load", pid)
    assert other["the process list names our pid"]["verdict"] == "differs"
    assert other["memory of processes fits in used"]["verdict"] == "differs"
    assert other["stamps of use per process are wall-clock µs"]["verdict"] == "differs"


def test_a_result_without_trouble_and_one_that_was_cut() -> None:
    def slow(deadline: Deadline) -> Iterator[Row]:
        while not deadline.is_over:
            yield {}
            time.sleep(0.01)

    cut: PartResult = run_part("slow", slow, Deadline(5), 0.05)
    assert cut.rows
    assert "its time was up" in cut.trouble
    assert not cut.is_hung
    assert run_part("late", slow, Deadline(0), 1).trouble == "It was left out: the time was up."


def test_structures_become_plain_values() -> None:
    class Pair(ctypes.Structure):
        _fields_ = (("first", ctypes.c_uint), ("name", ctypes.c_char * 8))

    assert plain(Pair(7, b"a\x1b")) == {"first": 7, "name": "a^["}
    assert plain([1, (2, float("nan"))]) == [1, [2, None]]
