"""Public fault reports of this field as inputs, with the right behaviour. Processes are invented."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.types.gpu import GpuProcess
from tests.fake_nvml.gpu import MEBI, NOT_AVAILABLE, NOT_SUPPORTED, FakeGpu
from tests.fake_nvml.library import FakeLibrary
from tests.nvml.bench import bench, write_meminfo

GIB = 1 << 30
GB10_REFUSED = dict.fromkeys(
    (
        "nvmlDeviceGetMemoryInfo",
        "nvmlDeviceGetMemoryInfo_v2",
        "nvmlDeviceGetFanSpeed",
        "nvmlDeviceGetEnforcedPowerLimit",
        "nvmlDeviceGetPowerManagementLimit",
    ),
    NOT_SUPPORTED,
)


def gb10(**changes: object) -> FakeGpu:
    gpu = FakeGpu(
        name=b"NVIDIA GB10", bus_id=b"0000000F:01:00.0", power_mw=11170, temperature=35, refused=dict(GB10_REFUSED)
    )
    for name, value in changes.items():
        setattr(gpu, name, value)
    return gpu


def test_a1_memory_of_a_process_not_available(tmp_path: Path) -> None:
    gpu = FakeGpu(total_mib=16376, used_mib=14360, reserved_mib=0, compute=[(79, NOT_AVAILABLE)])
    with bench(tmp_path, gpu) as b:
        (sample,) = b.read()
        assert b.missing(sample)["processes.used_memory_bytes"] == "hidden"
    assert sample.processes == (GpuProcess(pid=79),)
    assert sample.memory_used_bytes == 14360 * MEBI
    assert sample.unattributed_bytes == 14360 * MEBI  # no figure accounts for it (case A2)


def test_a2_used_stays_the_drivers_figure_when_no_process_is_listed(tmp_path: Path) -> None:
    with bench(tmp_path, FakeGpu(total_mib=16376, used_mib=14360, reserved_mib=0)) as b:
        (sample,) = b.read()
    assert (sample.memory_used_bytes, sample.unattributed_bytes) == (14360 * MEBI, 14360 * MEBI)


def test_a3_unified_memory(tmp_path: Path) -> None:
    write_meminfo(tmp_path, 127600748, 118566368)
    with bench(tmp_path, gb10(compute=[(11, 43 * MEBI), (12, 18 * MEBI)])) as b:
        (sample,) = b.read()
        (identity,) = b.info.gpus
        missing = b.missing(sample)
    assert identity.unified_memory
    assert identity.memory_total_bytes == sample.memory_total_bytes == 127600748 * 1024
    assert sample.memory_used_bytes == 61 * MEBI
    assert sample.memory_free_bytes == 118566368 * 1024
    assert sample.power_w == pytest.approx(11.17)
    assert sample.power_limit_w is None
    assert sample.temperature_c == 35
    assert sample.pcie is None
    assert identity.pcie_width_max is None  # no advice about an internal link
    assert missing["fan_ratio"] == missing["power_limit_w"] == "not_supported"
    assert "memory_used_bytes" not in missing


def test_a4_host_memory_is_not_gpu_memory(tmp_path: Path) -> None:
    write_meminfo(tmp_path, 127600748, 127600748 - 30 * 1024 * 1024)
    with bench(tmp_path, gb10()) as b:
        (sample,) = b.read()
    assert sample.memory_used_bytes == 0
    assert sample.memory_total_bytes is not None
    assert sample.memory_free_bytes == sample.memory_total_bytes - 30 * GIB


def test_unified_memory_of_total_zero(tmp_path: Path) -> None:
    write_meminfo(tmp_path, 1000, 400)
    with bench(tmp_path, gb10(total_mib=0, used_mib=0, reserved_mib=0, refused={})) as b:
        (sample,) = b.read()
    assert b.info.gpus[0].unified_memory
    assert sample.memory_total_bytes == 1000 * 1024


def test_unified_memory_with_a_process_that_is_not_available_is_unknown(tmp_path: Path) -> None:
    write_meminfo(tmp_path, 1000, 400)
    with bench(tmp_path, gb10(compute=[(5, NOT_AVAILABLE)])) as b:
        (sample,) = b.read()
        assert b.missing(sample)["memory_used_bytes"] == "hidden"
    assert sample.memory_used_bytes is None


def test_a7_reserve_of_the_driver_is_not_used(tmp_path: Path) -> None:
    with bench(tmp_path, FakeGpu(used_mib=2, reserved_mib=306)) as b:
        (sample,) = b.read()
    assert sample.memory_used_bytes == 2 * MEBI
    assert sample.memory_reserved_bytes == 306 * MEBI
    assert sample.unattributed_bytes == 2 * MEBI


def test_a7_version_1_has_the_reserve_inside_and_says_so(tmp_path: Path) -> None:
    with bench(tmp_path, FakeGpu(used_mib=2, reserved_mib=306), generation="470") as b:
        (sample,) = b.read()
        assert b.missing(sample)["memory_reserved_bytes"] == "driver_too_old"
    assert sample.memory_used_bytes == 308 * MEBI
    assert sample.memory_reserved_bytes is None


def _use(b_gpu: FakeGpu, wall_s: float, percent: int, pid: int = 700) -> None:
    b_gpu.use.append((pid, int(wall_s * 1e6), percent))


def test_a9_use_of_a_process_falls_to_zero_on_an_idle_gpu(tmp_path: Path) -> None:
    gpu = FakeGpu(compute=[(700, GIB)])
    with bench(tmp_path, gpu) as b:
        _use(gpu, b.clock.wall_s() - 0.2, 90)
        (sample,) = b.read()
        assert sample.processes[0].gpu_util_ratio == 0.9
        gpu.utilisation = (0, 0)
        b.read(after_s=1)
        (sample,) = b.read(after_s=1)
        assert sample.processes[0].gpu_util_ratio == 0.0
        # The last seen time is handed in, so that the old sample is not averaged in again.
        assert b.library.use_asked_since[-1] == gpu.use[0][1]


def test_a9_a_ring_full_of_old_samples_is_not_shown_as_use_now(tmp_path: Path) -> None:
    gpu = FakeGpu(compute=[(700, GIB)])
    with bench(tmp_path, gpu) as b:
        _use(gpu, b.clock.wall_s() - 10, 60)
        (sample,) = b.read()
    assert sample.processes[0].gpu_util_ratio is None


def test_a10_quiet_on_a_busy_gpu_is_old_then_unknown(tmp_path: Path) -> None:
    gpu = FakeGpu(compute=[(700, GIB)])
    seen = []
    with bench(tmp_path, gpu) as b:
        for poll in range(6):
            if poll == 2:
                _use(gpu, b.clock.wall_s() + 0.9, 35)
            (sample,) = b.read(after_s=1)
            seen.append((sample.processes[0].gpu_util_ratio, sample.processes[0].gpu_util_age_s))
    assert seen == [(None, None), (None, None), (0.35, 0.0), (0.35, 1.0), (None, None), (None, None)]


def test_a10_quiet_beside_a_process_that_is_reported_is_idle(tmp_path: Path) -> None:
    gpu = FakeGpu(compute=[(700, GIB), (701, GIB)])
    with bench(tmp_path, gpu) as b:
        _use(gpu, b.clock.wall_s() - 0.1, 50)
        b.read()
        for _ in range(2):
            _use(gpu, b.clock.wall_s() + 0.9, 80, pid=701)
            (sample,) = b.read(after_s=1)
    assert [process.gpu_util_ratio for process in sample.processes] == [0.0, 0.8]


def test_a10_an_idle_process_does_not_flicker_when_the_others_are_reported_now_and_then(tmp_path: Path) -> None:
    gpu = FakeGpu(compute=[(700, GIB), (701, GIB)])
    seen = []
    with bench(tmp_path, gpu) as b:
        _use(gpu, b.clock.wall_s() - 0.1, 50)
        b.read()
        for poll in range(10):
            if poll % 2:
                _use(gpu, b.clock.wall_s() + 0.9, 80, pid=701)
            (sample,) = b.read(after_s=1)
            seen.append(sample.processes[0].gpu_util_ratio)
    assert seen == [0.5, *[0.0] * 9]


def test_use_over_100_percent_of_unknown_pids_and_of_the_future_is_passed_over(tmp_path: Path) -> None:
    gpu = FakeGpu(compute=[(700, GIB)])
    with bench(tmp_path, gpu) as b:
        now_us = int(b.clock.wall_s() * 1e6)
        gpu.use = [
            (700, now_us - 5000, 4095),
            (999, now_us - 4000, 50),
            (700, now_us + 10**12, 50),
            (700, now_us - 9000, 20),
        ]
        (sample,) = b.read()
    assert sample.processes[0].gpu_util_ratio == 0.2


MANGLED = [(10734, 167772160), (0, 4294967295), (2226126848, 10121)]
"""As a driver of the 535 series gave them (a pid of more than 32 bits does not fit the field)."""


def test_a12_rows_that_cannot_be_true_are_dropped_with_one_notice(tmp_path: Path) -> None:
    gpu = FakeGpu(used_mib=500, compute=list(MANGLED))
    with bench(tmp_path, gpu, generation="550") as b:
        for _ in range(3):
            (sample,) = b.read(after_s=1)
        notices = [ability for ability in b.driver.info().abilities if ability.name == "process list"]
        assert b.missing(sample)["processes"] == "failed"
    assert [process.pid for process in sample.processes] == [10734]
    assert sample.unattributed_bytes is None
    (notice,) = notices
    assert not notice.works
    assert "550.163.01" in notice.detail


def test_a12_memory_over_the_devices_total_is_dropped(tmp_path: Path) -> None:
    with bench(tmp_path, FakeGpu(total_mib=1000, used_mib=10, compute=[(5, 2000 * MEBI), (6, 5 * MEBI)])) as b:
        (sample,) = b.read()
    assert [process.pid for process in sample.processes] == [6]


def test_a12_the_535_layout_is_read_right(tmp_path: Path) -> None:
    processes = [(4321, GIB), (4322, 2 * GIB), (4323, NOT_AVAILABLE)]
    with bench(tmp_path, FakeGpu(used_mib=9000, compute=list(processes)), generation="535") as b:
        (sample,) = b.read()
    assert [(process.pid, process.used_memory_bytes) for process in sample.processes] == [
        (4321, GIB),
        (4322, 2 * GIB),
        (4323, None),
    ]
    assert not [entry for entry in sample.missing if entry.field == "processes"]


def test_a13_managed_memory_is_not_attributed(tmp_path: Path) -> None:
    with bench(tmp_path, FakeGpu(used_mib=59597, compute=[(70, 5 * GIB)])) as b:
        (sample,) = b.read()
    assert sample.unattributed_bytes == 59597 * MEBI - 5 * GIB


def test_a14_one_process_in_two_lists_is_one_row(tmp_path: Path) -> None:
    process = (48448, 4000 * MEBI)
    with bench(tmp_path, FakeGpu(used_mib=4100, compute=[process], graphics=[process])) as b:
        (sample,) = b.read()
    (row,) = sample.processes
    assert (row.kind, row.used_memory_bytes) == ("C+G", 4000 * MEBI)
    assert sample.unattributed_bytes == 100 * MEBI


def test_mps_clients_are_marked_and_count_once(tmp_path: Path) -> None:
    with bench(
        tmp_path, FakeGpu(used_mib=900, compute=[(9, 30 * MEBI), (10, 400 * MEBI)], mps=[(10, 400 * MEBI)])
    ) as b:
        (sample,) = b.read()
    assert [(process.pid, process.kind) for process in sample.processes] == [(9, "C"), (10, "M")]
    assert sample.unattributed_bytes == 470 * MEBI


@pytest.mark.parametrize(
    ("gpu", "limit_w", "draw_w"),
    [
        (FakeGpu(limit_mw=0, power_mw=45_000), None, 45.0),
        (FakeGpu(limit_mw=115_000, refused={"nvmlDeviceGetPowerManagementLimit": NOT_SUPPORTED}), 115.0, 350.0),
        (FakeGpu(limit_mw=115_000, refused={"nvmlDeviceGetEnforcedPowerLimit": NOT_SUPPORTED}), 115.0, 350.0),
        (FakeGpu(power_mw=18_000, refused=dict(GB10_REFUSED)), None, 18.0),
        (FakeGpu(power_mw=1_087_000, limit_mw=1_400_000), 1400.0, 1087.0),
    ],
)
def test_a16_a17_power_limits(tmp_path: Path, gpu: FakeGpu, limit_w: float | None, draw_w: float) -> None:
    with bench(tmp_path, gpu) as b:
        (sample,) = b.read()
        assert ("power_limit_w" in b.missing(sample)) == (limit_w is None)
    assert (sample.power_limit_w, sample.power_w) == (limit_w, draw_w)


def test_a18_fan_above_its_maximum(tmp_path: Path) -> None:
    with bench(tmp_path, FakeGpu(fan=150)) as b:
        (sample,) = b.read()
    assert sample.fan_ratio == 1.5


def mig_gpu() -> FakeGpu:
    parent = FakeGpu(name=b"NVIDIA A100-SXM4-80GB", used_mib=24205, mig=(1, 1), has_gpm=False)
    parent.refused = dict.fromkeys(("nvmlDeviceGetUtilizationRates", "nvmlDeviceGetProcessUtilization"), NOT_SUPPORTED)
    for number, (gi, used_mib) in enumerate(((3, 14366), (5, 9826), (6, 13))):
        part = FakeGpu(
            name=b"NVIDIA A100-SXM4-80GB MIG 2g.20gb",
            uuid=b"MIG-00000000-0000-4000-8000-%012d" % number,
            total_mib=19968,
            used_mib=used_mib,
            reserved_mib=0,
            parent=parent,
            instance_ids=(gi, 0),
        )
        parent.instances += [None, part]  # a hole before each
    parent.compute = [(31, 14000 * MEBI, 3, 0), (51, 9800 * MEBI, 5, 0)]
    return parent


@pytest.mark.parametrize("lists", ["parent", "instances", "both"])
def test_a20_mig(tmp_path: Path, lists: str) -> None:
    gpu = mig_gpu()
    if lists != "parent":
        first, second = gpu.instances[1], gpu.instances[3]
        assert first is not None
        assert second is not None
        first.compute, second.compute = [gpu.compute[0]], [gpu.compute[1]]
    if lists == "instances":
        gpu.refused["nvmlDeviceGetComputeRunningProcesses_v3"] = 4
        gpu.refused["nvmlDeviceGetGraphicsRunningProcesses_v3"] = 4
        gpu.refused["nvmlDeviceGetMPSComputeRunningProcesses_v3"] = 4
    with bench(tmp_path, gpu) as b:
        parent, *parts = b.read()
        identities = b.info.gpus
        reasons = b.missing(parent), [b.missing(part) for part in parts]
    assert parent.gpu_util_ratio is None
    assert reasons[0]["gpu_util_ratio"] == "not_supported"
    assert all(part["gpu_util_ratio"] == "not_supported" for part in reasons[1])
    assert [part.gpu_util_ratio for part in parts] == [None] * 3
    assert [part.memory_used_bytes for part in parts] == [14366 * MEBI, 9826 * MEBI, 13 * MEBI]
    assert [[process.pid for process in part.processes] for part in parts] == [[31], [51], []]
    assert parent.processes == ()
    assert parent.unattributed_bytes is None
    assert [part.unattributed_bytes for part in parts] == [366 * MEBI, 26 * MEBI, 13 * MEBI]
    assert identities[0].mig_enabled
    assert [(one.mig_parent_uuid, one.index, one.gpu_instance_id) for one in identities[1:]] == [
        (identities[0].uuid, 1, 3),
        (identities[0].uuid, 3, 5),
        (identities[0].uuid, 5, 6),
    ]


def test_mig_instances_that_are_made_while_we_watch_appear(tmp_path: Path) -> None:
    gpu = mig_gpu()
    late = gpu.instances.pop()
    with bench(tmp_path, gpu) as b:
        assert len(b.read()) == 3
        gpu.instances.append(late)
        for _ in range(6):
            samples = b.read(after_s=1)
        assert len(samples) == 4
        assert len(b.driver.info().gpus) == 4


@pytest.mark.parametrize("mode", [(0, 0), None])
def test_a21_mig_off_or_unknown_is_not_mig(tmp_path: Path, mode: tuple[int, int] | None) -> None:
    gpu = FakeGpu(mig=mode, compute=[(700, GIB)])
    with bench(tmp_path, gpu) as b:
        _use(gpu, b.clock.wall_s() - 0.1, 44)
        (sample,) = b.read()
    assert not b.info.gpus[0].mig_enabled
    assert sample.processes[0].gpu_util_ratio == 0.44


@pytest.mark.parametrize("without", [("_v3",), ("_v3", "_v2"), ("_v3", "_v2", "")])
def test_a27_older_process_lists(tmp_path: Path, without: tuple[str, ...]) -> None:
    names = tuple(
        f"nvmlDeviceGet{word}RunningProcesses{version}"
        for word in ("Compute", "Graphics", "MPSCompute")
        for version in without
    )
    with bench(tmp_path, FakeGpu(compute=[(88, 7 * MEBI)]), without=names) as b:
        (sample,) = b.read()
        missing = b.missing(sample)
    assert sample.gpu_util_ratio == 0.83
    if "" in without:
        assert (sample.processes, sample.processes_known, missing["processes"]) == ((), False, "driver_too_old")
        assert sample.unattributed_bytes is None
    else:
        assert [(process.pid, process.used_memory_bytes) for process in sample.processes] == [(88, 7 * MEBI)]


def test_a27_every_list_unknown_leaves_the_device_shown(tmp_path: Path) -> None:
    def refuse(library: FakeLibrary) -> None:
        for word in ("Compute", "Graphics", "MPSCompute"):
            library.refused[f"nvmlDeviceGet{word}RunningProcesses_v3"] = 999

    with bench(tmp_path, FakeGpu(compute=[(88, 7)]), prepare=refuse) as b:
        (sample,) = b.read()
        assert b.missing(sample)["processes"] == "failed"
        assert sample.state == "ok"
        assert not sample.processes_known
        b.library.refused.clear()
        (sample,) = b.read(after_s=3)  # not for good: asked again after a pause
        assert sample.processes_known
