"""The compiled stub drives unmodified monitors and our driver in a process of its own."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROBE = """
import sys, time
import msgspec
from monitor.clock import SystemClock
from monitor.nvml.driver import Driver
from monitor.types.requests import Watch
driver = Driver(SystemClock())
driver.open()
watch = Watch(view="overview")
for _ in range(int(sys.argv[1])):
    samples = driver.read(watch)
    time.sleep(float(sys.argv[2]))
driver.release()
sys.stdout.buffer.write(msgspec.json.encode((driver.info(), samples)))
"""


def _environment(stub: Path, **settings: object) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FAKE_NVML")}
    return (
        kept
        | {"LD_LIBRARY_PATH": str(stub), "PYTHONPATH": str(ROOT)}
        | {f"FAKE_NVML_{name}": str(value) for name, value in settings.items()}
    )


def _probe(stub: Path, ticks: int = 2, pause_s: float = 0.0, **settings: object) -> list[dict[str, object]]:
    done = subprocess.run(
        [sys.executable, "-c", PROBE, str(ticks), str(pause_s)],
        env=_environment(stub, **settings), capture_output=True, text=True, timeout=30, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    samples: list[dict[str, object]] = json.loads(done.stdout)[1]
    return samples


def test_our_driver_reads_it(stub_library: Path, tmp_path: Path) -> None:
    calls_file = tmp_path / "calls"
    samples = _probe(stub_library, GPUS=8, PIDS=f"{os.getpid()},{os.getppid()}@5", CALLS_FILE=calls_file)
    assert len(samples) == 8
    holders = [[process["pid"] for process in sample.get("processes", [])] for sample in samples]  # type: ignore[attr-defined]
    assert holders == [[os.getpid()], [], [], [], [], [os.getppid()], [], []]
    assert all(45 <= float(str(sample["power_w"])) <= 700 for sample in samples)
    calls = dict(line.split() for line in calls_file.read_text().splitlines())
    assert calls["nvmlDeviceGetUtilizationRates"] == "16"
    assert calls["nvmlDeviceGetName"] == "8"
    assert "nvmlDeviceGetPcieThroughput" not in calls


def test_a_lost_gpu(stub_library: Path) -> None:
    samples = _probe(stub_library, GPUS=3, LOST_GPU=1)
    assert [sample.get("state", "ok") for sample in samples] == ["ok", "lost", "ok"]


@pytest.mark.parametrize("setting", ["HANG_FILE", "HANG_AFTER_S"])
def test_a_hang_lasts_as_long_as_it_is_asked_to(stub_library: Path, tmp_path: Path, setting: str) -> None:
    hang = tmp_path / "hang"
    hang.touch()
    value = hang if setting == "HANG_FILE" else 0
    process = subprocess.Popen(
        [sys.executable, "-c", PROBE, "1", "0"],
        env=_environment(stub_library, **{setting: value}), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        with pytest.raises(subprocess.TimeoutExpired):
            process.communicate(timeout=0.8)
        if setting == "HANG_FILE":
            hang.unlink()
            output, _errors = process.communicate(timeout=10)
            assert len(json.loads(output)[1]) == 1
    finally:
        process.kill()
        process.communicate()


def test_a_slow_driver(stub_library: Path) -> None:
    start_s = time.monotonic()
    _probe(stub_library, ticks=1, SLEEP_MS=5)
    assert time.monotonic() - start_s > 0.2  # some forty calls


def _peer(stub: Path, module: str, *arguments: str, **settings: object) -> str:
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    command = [sys.executable, "-m", module, *arguments]
    environment = _environment(stub, **settings)
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30, check=True).stdout


def test_gpustat_runs_over_it(stub_library: Path) -> None:
    shown = _peer(stub_library, "gpustat", "--no-color", GPUS=4, PIDS=os.getpid())
    assert shown.count("NVIDIA H100") == 4
    assert "60000M" in shown


def test_nvitop_runs_over_it(stub_library: Path) -> None:
    shown = _peer(stub_library, "nvitop", "--once", GPUS=2, PIDS=os.getpid())
    assert "550.54.15" in shown
    assert str(os.getpid()) in shown
