"""Every driver generation with every shape of machine gives the same core figures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pynvml
import pytest

from monitor.stream.codec import encode
from monitor.types.gpu import ThrottleTime
from monitor.types.messages import Snapshot
from tests.fake_nvml.generations import GENERATIONS
from tests.fake_nvml.gpu import MEBI, NOT_AVAILABLE, FakeGpu
from tests.fake_nvml.library import FakeLibrary
from tests.nvml.bench import bench


def _gpus(count: int) -> list[FakeGpu]:
    return [FakeGpu(used_mib=1000, compute=[(500 + n, 400 * MEBI)], links=2 if count > 1 else 0) for n in range(count)]


def _with_unavailable() -> list[FakeGpu]:
    return [FakeGpu(compute=[(5, NOT_AVAILABLE)])]


def _consumer() -> list[FakeGpu]:
    refused = dict.fromkeys(
        ("nvmlDeviceGetEccMode", "nvmlDeviceGetTotalEccErrors", "nvmlDeviceGetRemappedRows", "nvmlDeviceGetNumaNodeId"),
        3,
    )
    return [FakeGpu(name=b"NVIDIA GeForce RTX 4090", mig=None, has_gpm=False, refused=refused)]


MACHINES: dict[str, Callable[[], list[FakeGpu]]] = {
    "one": lambda: _gpus(1),
    "eight": lambda: _gpus(8),
    "sixteen": lambda: _gpus(16),
    "sixty-four": lambda: _gpus(64),
    "unavailable": _with_unavailable,
    "consumer": _consumer,
}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("generation", GENERATIONS)
def test_core_figures(tmp_path: Path, generation: str, machine: str) -> None:
    gpus = MACHINES[machine]()
    with bench(tmp_path, *gpus, generation=generation) as b:
        samples = b.read()
        samples = b.read(after_s=1)
        info = b.driver.info()
    assert (info.state, info.driver_version, info.cuda_version) == ("ok", GENERATIONS[generation].version, "12.9")
    assert [gpu.index for gpu in info.gpus] == list(range(len(gpus)))
    assert len({sample.uuid for sample in samples}) == len(gpus)
    for gpu, sample in zip(gpus, samples, strict=True):
        reserve_mib = 551 if generation == "470" else 0
        assert sample.state == "ok"
        assert sample.gpu_util_ratio == 0.83
        assert sample.memory_busy_ratio == 0.4
        assert sample.memory_used_bytes == (gpu.used_mib + reserve_mib) * MEBI
        assert sample.power_w == 350.0
        assert sample.energy_j == 5000.0
        assert sample.temperature_c == 61.0
        assert sample.sm_mhz == 1900
        assert sample.throttle == ("power_cap",)
        assert ThrottleTime(reason="power_cap", total_s=12.0) in sample.throttle_times
        assert [process.pid for process in sample.processes] == [row[0] for row in gpu.compute]
        assert sample.power_instant_w == (355.0 if int(generation) >= 535 else None)


def test_everything_of_a_data_centre_gpu(tmp_path: Path) -> None:
    with bench(tmp_path, *_gpus(4)) as b:
        b.read()
        sample = b.read(after_s=1)[0]
        info = b.driver.info()
    identity = info.gpus[0]
    assert (identity.name, identity.compute_capability, identity.architecture) == (
        "NVIDIA H100 80GB HBM3",
        "9.0",
        "Hopper",
    )
    assert (identity.sm_max_mhz, identity.memory_max_mhz, identity.power_limit_max_w) == (1980, 2619, 700.0)
    assert (identity.temperature_shutdown_c, identity.temperature_slowdown_c, identity.temperature_gpu_max_c) == (
        95,
        90,
        87,
    )
    assert (identity.pcie_generation_max, identity.pcie_generation_gpu_max, identity.pcie_width_max) == (4, 5, 16)
    assert identity.memory_total_bytes == 81559 * MEBI
    assert sample.memory_temperature_c == 72.0
    assert sample.performance_state == 0
    assert sample.recovery_action == "none"
    assert sample.pcie is not None
    assert (sample.pcie.generation, sample.pcie.width, sample.pcie.replay_count) == (4, 16, 3)
    assert sample.nvlink is not None
    assert (sample.nvlink.link_count, sample.nvlink.active_count) == (2, 2)
    assert (sample.nvlink.received_bytes, sample.nvlink.transmitted_bytes) == (1024 * 1024, 2048 * 1024)
    assert sample.ecc is not None
    assert (sample.ecc.enabled, sample.ecc.corrected_volatile, sample.ecc.uncorrected_aggregate) == (True, 2, 0)
    assert (sample.ecc.remapped_corrected, sample.ecc.remap_pending, sample.ecc.remap_failed) == (1, True, False)
    paths = {(link.uuid_a[-1], link.uuid_b[-1]): (link.path, link.nvlink_count) for link in info.links}
    assert paths == {
        ("0", "1"): ("nvlink", 2),
        ("2", "3"): ("nvlink", 2),
        ("0", "2"): ("multiple_switches", 0),
        ("0", "3"): ("multiple_switches", 0),
        ("1", "2"): ("multiple_switches", 0),
        ("1", "3"): ("multiple_switches", 0),
    }


def test_a_consumer_card_says_what_it_lacks(tmp_path: Path) -> None:
    with bench(tmp_path, *_consumer()) as b:
        (sample,) = b.read()
        missing = b.missing(sample)
        abilities = {ability.name: ability for ability in b.driver.info().abilities}
    assert sample.ecc is None
    assert missing["ecc"] == "not_supported"
    assert not [field for field in missing if field.startswith("ecc.")]
    assert not abilities["ECC"].works
    assert abilities["process list"].works
    assert not abilities["activity counters (GPM)"].works


def test_a_python_binding_without_a_function_is_like_an_old_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "nvmlDeviceGetTemperatureV",
        "nvmlDeviceGetCurrentClocksEventReasons",
        "nvmlDeviceGetNumaNodeId",
        "nvmlGpmQueryDeviceSupport",
        "c_nvmlFieldValue_t",
        "c_nvmlProcessInfo_v2_t",
    ):
        monkeypatch.delattr(pynvml, name, raising=False)  # an old binding has not all of them
    with bench(tmp_path, FakeGpu(compute=[(5, 7 * MEBI)])) as b:
        (sample,) = b.read()
        assert b.missing(sample)["power_instant_w"] == "driver_too_old"
    assert (sample.temperature_c, sample.throttle, sample.power_w) == (61.0, ("power_cap",), 350.0)
    assert [(process.pid, process.used_memory_bytes) for process in sample.processes] == [(5, 7 * MEBI)]


def test_samples_travel_as_strict_json(tmp_path: Path) -> None:
    def refuse(library: FakeLibrary) -> None:
        library.gpus[0].refused = dict.fromkeys(("nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetMemoryInfo"), 4)

    with bench(tmp_path, FakeGpu(fields={83: (0, float("nan"))}), prepare=refuse) as b:
        samples = b.read()
    line = encode(Snapshot(taken_s=1.0, boot_s=1.0, gpus=samples))
    assert b"NaN" not in line
    assert samples[0].energy_j is None
    assert samples[0].memory_used_bytes is None


@pytest.mark.parametrize(
    ("mask", "names"),
    [
        (0, ()),
        (0x1, ("idle",)),
        (0x28, ("hw_slowdown", "sw_thermal")),
        (0x704, ("power_cap", "display_clocks", "board_limit", "reliability")),
        (0x8000, ("0x8000",)),
        (1 << 63, ("0x8000000000000000",)),
    ],
)
def test_throttle_reasons(tmp_path: Path, mask: int, names: tuple[str, ...]) -> None:
    with bench(tmp_path, FakeGpu(reasons=mask)) as b:
        (sample,) = b.read()
    assert sample.throttle == names
