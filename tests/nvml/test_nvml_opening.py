from __future__ import annotations

import types
import warnings
from pathlib import Path

import pytest

from monitor.clock import ManualClock
from monitor.nvml.binding import Binding, load_binding
from monitor.nvml.driver import Driver
from monitor.nvml.errors import REFUSALS, opening_sentence, refusal_of_code, refusal_of_error
from monitor.nvml.machine import Machine
from monitor.sources import DriverInfo, GpuSource
from tests.fake_nvml.gpu import FakeGpu
from tests.fake_nvml.library import FakeLibrary, installed, no_library
from tests.nvml.bench import OVERVIEW, bench


def _open(root: Path, library: FakeLibrary) -> DriverInfo:
    with installed(library):
        driver: GpuSource = Driver(ManualClock(), machine=Machine(str(root)), with_events=False)
        info = driver.open()
        assert driver.read(OVERVIEW) == ()
        driver.release()
    return info


def _failing(code: int) -> FakeLibrary:
    library = FakeLibrary([FakeGpu()])
    library.refused["nvmlInitWithFlags"] = code
    return library


@pytest.mark.parametrize(
    ("code", "state", "words"),
    [
        (9, "absent", "kernel module is not loaded"),
        (12, "absent", "libnvidia-ml.so.1"),
        (18, "failed", "different versions"),
        (999, "failed", "unknown internal error"),
        (4, "failed", "/dev/nvidiactl"),
        (77777, "failed", "77777"),
    ],
)
def test_an_error_at_the_start_is_one_plain_sentence(tmp_path: Path, code: int, state: str, words: str) -> None:
    info = _open(tmp_path, _failing(code))
    assert info.state == state
    assert words in info.detail
    assert info.detail.count(". ") == 0
    assert info.detail.endswith(".")
    assert info.gpus == ()


def test_a25_a26_no_two_causes_share_a_sentence(tmp_path: Path) -> None:
    details = {_open(tmp_path, _failing(code)).detail for code in (9, 12, 18, 999, 4)}
    details.add(_open(tmp_path, FakeLibrary([])).detail)
    assert len(details) == 6


def test_no_gpu_is_absent_with_a_sentence_of_its_own(tmp_path: Path) -> None:
    info = _open(tmp_path, FakeLibrary([]))
    assert info.state == "absent"
    assert "has no GPU" in info.detail
    assert info.abilities[0].works is False


def test_no_library_at_all(tmp_path: Path) -> None:
    with no_library():
        info = Driver(ManualClock(), machine=Machine(str(tmp_path))).open()
    assert (info.state, "libnvidia-ml.so.1" in info.detail) == ("absent", True)


@pytest.mark.parametrize("code", [9, 12, 18, 999])
def test_containers_get_another_way_out(code: int) -> None:
    outside, inside = (
        opening_sentence(refusal_of_code(code), in_container=in_container, in_wsl=False)[1]
        for in_container in (False, True)
    )
    assert outside != inside
    assert "container" in inside


def test_wsl_gets_the_windows_driver(tmp_path: Path) -> None:
    (tmp_path / "proc/sys/kernel").mkdir(parents=True)
    (tmp_path / "proc/sys/kernel/osrelease").write_text("5.15.90.1-microsoft-standard-WSL2\n")
    assert "Windows driver" in _open(tmp_path, _failing(12)).detail


def test_container_marks(tmp_path: Path) -> None:
    assert not Machine(str(tmp_path)).in_container()
    (tmp_path / ".dockerenv").touch()
    assert Machine(str(tmp_path)).in_container()


def test_the_driver_can_come_later(tmp_path: Path) -> None:
    library = _failing(9)
    with installed(library):
        driver = Driver(ManualClock(), machine=Machine(str(tmp_path)), with_events=False)
        assert driver.open().state == "absent"
        library.refused.clear()
        assert driver.open().state == "ok"
        assert len(driver.read(OVERVIEW)) == 1
        driver.release()


def test_a_driver_that_does_not_count_is_failed_and_its_sentence_does_not_stay(tmp_path: Path) -> None:
    library = FakeLibrary([])
    library.refused["nvmlDeviceGetCount_v2"] = 999
    with installed(library):
        driver = Driver(ManualClock(), machine=Machine(str(tmp_path)), with_events=False)
        first = driver.open()
        library.refused.clear()
        second = driver.open()
    assert (first.state, "how many GPUs" in first.detail) == ("failed", True)
    assert (second.state, "has no GPU" in second.detail) == ("absent", True)


def test_release_and_open_again(tmp_path: Path) -> None:
    with bench(tmp_path, FakeGpu(), with_events=True) as b:
        b.read()
        b.driver.release()
        assert not b.library.is_open
        assert b.driver.info().state == "released"
        assert b.read() == ()
        b.driver.release()
        assert b.driver.open().state == "ok"
        assert len(b.read()) == 1


def test_info_is_the_same_object_while_nothing_changes(tmp_path: Path) -> None:
    with bench(tmp_path, FakeGpu(), FakeGpu()) as b:
        b.read()
        b.read(after_s=1)
        info = b.driver.info()
        for _ in range(30):
            b.read(after_s=1)
        assert b.driver.info() is info


# -- The binding --


def test_a_foreign_module_is_one_sentence(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def foreign(name: str) -> types.ModuleType:
        warnings.warn("this distribution is deprecated", FutureWarning, stacklevel=1)
        return types.ModuleType(name)

    info = Driver(ManualClock(), machine=Machine(str(tmp_path)), import_module=foreign).open()
    assert info.state == "failed"
    assert "not a usable NVIDIA binding" in info.detail
    assert "nvidia-ml-py" in info.detail
    assert capfd.readouterr().err == ""


def test_a_module_that_breaks_at_import_is_one_sentence() -> None:
    def broken(name: str) -> types.ModuleType:
        raise SyntaxError("Missing parentheses in call to 'print'")

    loaded = load_binding(broken)
    assert isinstance(loaded, str)
    assert "SyntaxError" in loaded


def test_the_real_binding_is_accepted() -> None:
    assert isinstance(load_binding(), Binding)


# -- Errors --


def test_every_error_has_a_reason_word_and_a_sentence() -> None:
    words = {"not_supported", "driver_too_old", "no_permission", "lost", "timeout", "not_yet", "hidden", "failed"}
    for code in (*range(31), 999):
        refusal = refusal_of_code(code)
        assert refusal.reason in words
        assert refusal.sentence.endswith(".")
        assert code in REFUSALS


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (TypeError("unexpected argument"), "driver_too_old"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid"), "failed"),
        (type("NVMLLibraryMismatchError", (Exception,), {})(), "driver_too_old"),
        (OSError("segment"), "failed"),
    ],
)
def test_what_is_no_nvml_error_has_a_reason_too(error: Exception, reason: str) -> None:
    assert refusal_of_error(error).reason == reason


# -- Sleeping GPUs --


def _pci(root: Path, address: str, status: str, vendor: str = "0x10de", kind: str = "0x030000") -> Path:
    device = root / "sys/bus/pci/devices" / address
    (device / "power").mkdir(parents=True, exist_ok=True)
    (device / "vendor").write_text(vendor + "\n")
    (device / "class").write_text(kind + "\n")
    (device / "power/runtime_status").write_text(status + "\n")
    return device


def test_a30_a_sleeping_gpu_is_not_woken(tmp_path: Path) -> None:
    _pci(tmp_path, "0000:01:00.0", "suspended")
    _pci(tmp_path, "0000:01:00.1", "active", kind="0x040300")  # its sound part
    _pci(tmp_path, "0000:00:02.0", "active", vendor="0x8086")
    with bench(tmp_path, FakeGpu()) as b:
        for _ in range(3):
            (sample,) = b.read(after_s=1)
            assert sample.state == "asleep"
        assert b.info.gpus[0].pci_bus_id == "0000:01:00.0"
        assert not b.library.calls
        _pci(tmp_path, "0000:01:00.0", "active")
        (sample,) = b.read(after_s=1)
        assert (sample.state, sample.gpu_util_ratio) == ("ok", 0.83)
        assert b.driver.info().gpus[0].uuid == sample.uuid


def test_gpus_of_which_one_is_awake_are_read(tmp_path: Path) -> None:
    _pci(tmp_path, "0000:01:00.0", "suspended")
    _pci(tmp_path, "0000:02:00.0", "active")
    with bench(tmp_path, FakeGpu(), FakeGpu()) as b:
        assert [sample.state for sample in b.read()] == ["ok", "ok"]
