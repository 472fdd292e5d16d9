"""What is asked, and how often. The fake counts inside the C functions."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from monitor.nvml.calls import Call, Field
from monitor.nvml.metrics import IDENTITY_METRICS, SAMPLE_METRICS, Tier
from monitor.types.gpu import GpuIdentity, GpuSample
from monitor.types.requests import Watch
from tests.fake_nvml.gpu import NOT_FOUND, NOT_SUPPORTED, FakeGpu
from tests.nvml.bench import bench

STATIC = (
    "nvmlDeviceGetName",
    "nvmlDeviceGetUUID",
    "nvmlDeviceGetPciInfo_v3",
    "nvmlDeviceGetMaxClockInfo",
    "nvmlDeviceGetTemperatureThreshold",
    "nvmlDeviceGetHandleByIndex_v2",
    "nvmlDeviceGetCount_v2",
    "nvmlInitWithFlags",
    "nvmlSystemGetDriverVersion",
    "nvmlDeviceGetMigMode",
    "nvmlDeviceGetTopologyCommonAncestor",
)
SLOW = (
    "nvmlDeviceGetFanSpeed",
    "nvmlDeviceGetEnforcedPowerLimit",
    "nvmlDeviceGetPerformanceState",
    "nvmlDeviceGetEccMode",
)
RARE = ("nvmlDeviceGetRemappedRows", "nvmlDeviceGetNvLinkState")
TICK = ("nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetUtilizationRates")


def test_static_data_is_asked_once(tmp_path: Path) -> None:
    with bench(tmp_path, FakeGpu(), FakeGpu()) as b:
        b.read()
        b.read(after_s=1)
        before = {name: b.library.calls[name] for name in STATIC}
        assert all(before.values())
        for _ in range(200):
            b.read(after_s=1)
        assert {name: b.library.calls[name] for name in STATIC} == before


def test_each_tier_is_asked_at_its_own_pace(tmp_path: Path) -> None:
    with bench(tmp_path, FakeGpu(links=1)) as b:
        b.read()
        b.read(after_s=60)  # past the first, spread-out dates
        b.library.calls.clear()
        for _ in range(60):
            b.read(after_s=1)
        assert [b.library.calls[name] for name in TICK] == [60] * 2
        assert [b.library.calls[name] for name in SLOW] == [12] * 4
        assert [b.library.calls[name] for name in RARE] == [1, 2]  # NVLink: the link and the one after the last
        assert b.library.calls["nvmlDeviceGetFieldValues"] == 60 + 1  # one batch a tick


def test_slow_questions_of_many_gpus_are_spread_over_the_ticks(tmp_path: Path) -> None:
    with bench(tmp_path, *(FakeGpu() for _ in range(10))) as b:
        b.read()
        counts = []
        for _ in range(5):
            b.library.calls.clear()
            b.read(after_s=1)
            counts.append(b.library.calls["nvmlDeviceGetFanSpeed"])
        assert counts == [2, 2, 2, 2, 2]


def test_not_supported_is_asked_once_per_device(tmp_path: Path) -> None:
    refused = {"nvmlDeviceGetFanSpeed": NOT_SUPPORTED, "nvmlDeviceGetUtilizationRates": NOT_SUPPORTED}
    with bench(tmp_path, FakeGpu(refused=refused), FakeGpu()) as b:
        for _ in range(30):
            b.read(after_s=1)
        first = b.library.calls["nvmlDeviceGetUtilizationRates"]
        assert first == 1 + 30
        assert b.library.calls["nvmlDeviceGetFanSpeed"] == 1 + 7


def test_missing_functions_are_not_asked_again(tmp_path: Path) -> None:
    with bench(tmp_path, FakeGpu(), generation="470") as b:
        for _ in range(10):
            b.read(after_s=1)
        assert b.library.calls["nvmlDeviceGetMemoryInfo"] >= 10
        assert b.library.calls["nvmlDeviceGetMemoryInfo_v2"] == 0
        assert b.library.calls["nvmlDeviceGetPowerUsage"] == 10  # its field is unknown to this driver


def test_unknown_errors_are_asked_again_with_pauses(tmp_path: Path) -> None:
    with bench(tmp_path, FakeGpu(refused={"nvmlDeviceGetUtilizationRates": 999})) as b:
        for _ in range(60):
            b.read(after_s=1)
        assert 4 <= b.library.calls["nvmlDeviceGetUtilizationRates"] <= 7


def test_nothing_to_report_is_asked_at_every_tick(tmp_path: Path) -> None:
    with bench(tmp_path, FakeGpu(refused={"nvmlDeviceGetUtilizationRates": NOT_FOUND})) as b:
        for _ in range(10):
            (sample,) = b.read(after_s=1)
        assert b.library.calls["nvmlDeviceGetUtilizationRates"] == 10
        assert b.missing(sample)["gpu_util_ratio"] == "not_yet"


def test_pcie_throughput_is_measured_only_while_shown(tmp_path: Path) -> None:
    with bench(tmp_path, FakeGpu(has_gpm=False), FakeGpu(has_gpm=False)) as b:
        uuid = b.info.gpus[0].uuid
        for view in ("overview", "memory", "processes"):
            b.read(Watch(view=view, gpu_uuids=(uuid,)), after_s=1)
        assert b.library.calls["nvmlDeviceGetPcieThroughput"] == 0
        shown = Watch(view="gpu", gpu_uuids=(uuid,))
        b.read(shown, after_s=1)
        first, second = b.read(shown, after_s=1)
        assert b.library.calls["nvmlDeviceGetPcieThroughput"] == 4  # two directions, twice, one GPU
        assert first.pcie is not None
        assert second.pcie is not None
        assert first.pcie.received_bytes_per_s == 300e6
        assert first.pcie.transmitted_bytes_per_s == 200e6
        assert second.pcie.received_bytes_per_s is None
        b.read(after_s=1)
        (first, _second) = b.read(after_s=6)
        assert first.pcie is not None
        assert first.pcie.received_bytes_per_s is None  # an old figure is not shown


def test_activity_counters_are_read_only_while_shown_and_replace_the_slow_call(tmp_path: Path) -> None:
    with bench(tmp_path, FakeGpu()) as b:
        shown = Watch(view="gpu", gpu_uuids=(b.info.gpus[0].uuid,))
        b.read(after_s=1)
        assert b.library.calls["nvmlGpmSampleGet"] == 0
        (sample,) = b.read(shown, after_s=1)
        assert sample.gpm is None  # one sample is no difference yet
        (sample,) = b.read(shown, after_s=1)
        assert sample.gpm is not None
        assert sample.gpm.sm_util_ratio == pytest.approx(0.715)
        assert sample.gpm.pcie_transmitted_bytes_per_s == 100 * 1024 * 1024
        assert sample.gpm.tensor_ratio is None  # not a number
        (sample,) = b.read(shown, after_s=0.05)  # too soon for a second sample
        assert sample.gpm is None
        (sample,) = b.read(after_s=1)
        assert sample.gpm is None
        assert b.library.calls["nvmlGpmSampleFree"] == b.library.calls["nvmlGpmSampleAlloc"] == 2
        assert b.library.calls["nvmlDeviceGetPcieThroughput"] == 0


def test_xids_arrive_on_their_own_thread_and_the_latest_are_kept(tmp_path: Path) -> None:
    with bench(
        tmp_path, FakeGpu(), FakeGpu(refused={"nvmlDeviceGetSupportedEventTypes": NOT_SUPPORTED}), with_events=True
    ) as b:
        assert b.library.registered == [0]
        for xid in range(60, 80):
            b.library.events.put((0, xid))
        deadline = time.monotonic() + 5
        while b.read()[0].xids[-1:] == () or b.read()[0].xids[-1].xid != 79:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        first, second = b.read()
        assert [event.xid for event in first.xids] == list(range(72, 80))
        assert first.xids[0].seen_s == b.clock.wall_s()
        assert second.xids == ()
        b.library.gpus[0].lost = True
        first, _second = b.read(after_s=1)
        assert "the driver reported Xid 79" in first.state_detail
        assert first.xids
    assert not [thread for thread in threading.enumerate() if thread.name == "nvml-events"]
    assert b.library.calls["nvmlEventSetFree"] == 1


def test_the_table_names_only_fields_that_exist() -> None:
    nested = {"throttle_times", "pcie", "nvlink", "ecc"}
    for metric in SAMPLE_METRICS:
        for field in metric.fields:
            group, dot, _part = field.partition(".")
            assert group in GpuSample.__struct_fields__
            assert bool(dot) == (group in nested)
    for metric in IDENTITY_METRICS:
        assert metric.tier is Tier.ONCE
        assert set(metric.fields) <= set(GpuIdentity.__struct_fields__)


def test_fields_come_before_calls_in_every_row() -> None:
    for metric in (*SAMPLE_METRICS, *IDENTITY_METRICS):
        kinds = [isinstance(spelling, Field) for spelling in metric.spellings]
        assert kinds == sorted(kinds, reverse=True)
        assert all(
            spelling.name.startswith("nvmlDeviceGet") for spelling in metric.spellings if isinstance(spelling, Call)
        )
