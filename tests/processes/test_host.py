from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.clock import ManualClock, SystemClock
from monitor.processes.background import Background
from monitor.processes.host import HostReader, file_system_of, parse_memory, parse_pressure

MEMORY = "MemTotal:       1000 kB\nMemFree: 10 kB\nMemAvailable:    400 kB\nSwapTotal: 100 kB\nSwapFree: 75 kB\n"


def machine(root: Path) -> Path:
    (root / "pressure").mkdir(parents=True)
    (root / "self").mkdir()
    (root / "stat").write_text("cpu  100 0 100 700 100 0 0 0 0 0\ncpu0 1 2 3\n")
    (root / "meminfo").write_text(MEMORY)
    (root / "loadavg").write_text("1.50 1.00 0.50 2/300 4711\n")
    (root / "self" / "mounts").write_text("/dev/x / ext4 rw 0 0\n")
    for resource in ("cpu", "memory", "io"):
        text = "some avg10=12.50 avg60=1.00 avg300=0.00 total=5\nfull avg10=2.00 avg60=0.00 avg300=0.00 total=1\n"
        (root / "pressure" / resource).write_text(text)
    return root


def test_figures(tmp_path: Path) -> None:
    proc = machine(tmp_path / "proc")
    host = HostReader(ManualClock(), str(proc))
    first = host.read((str(tmp_path),))
    assert first.cpu_ratio is None
    assert first.missing == ()
    assert (first.memory_total_bytes, first.memory_available_bytes) == (1024_000, 409_600)
    assert (first.swap_total_bytes, first.swap_used_bytes) == (102_400, 25_600)
    assert first.load_1min == 1.5
    assert [(one.resource, one.some_ratio, one.full_ratio) for one in first.pressures] == [
        ("cpu", 0.125, None),
        ("memory", 0.125, 0.02),
        ("io", 0.125, 0.02),
    ]
    (proc / "stat").write_text("cpu  130 0 120 740 110 0 0 0 0 0\n")
    assert host.read(()).cpu_ratio == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("file", "field", "still"),
    [
        ("meminfo", "memory_total_bytes", "load_1min"),
        ("loadavg", "load_1min", "memory_total_bytes"),
        ("stat", "cpu_ratio", "memory_total_bytes"),
        ("pressure/io", "pressures", "memory_total_bytes"),
    ],
)
@pytest.mark.parametrize("damage", ["gone", "empty", "rubbish"])
def test_each_figure_fails_alone(tmp_path: Path, file: str, field: str, still: str, damage: str) -> None:
    proc = machine(tmp_path / "proc")
    (proc / file).unlink()
    if damage != "gone":
        (proc / file).write_bytes(b"" if damage == "empty" else b"\xff x y\n\0")
    sample = HostReader(ManualClock(), str(proc)).read(())
    assert getattr(sample, still) is not None
    if field == "pressures":
        assert [one.resource for one in sample.pressures] == ["cpu", "memory"]
    else:
        assert getattr(sample, field) is None
    if (file, damage) in (("meminfo", "empty"), ("meminfo", "rubbish")):
        return  # an old kernel without a line is no fault
    assert field in [one.field for one in sample.missing]


def test_room_on_file_systems(tmp_path: Path) -> None:
    proc = machine(tmp_path / "proc")
    sample = HostReader(ManualClock(), str(proc)).read((str(tmp_path), str(tmp_path / "missing"), str(tmp_path)))
    disks = {one.path: one for one in sample.disks}
    assert set(disks) <= {str(tmp_path), "/dev/shm"}
    disk = disks[str(tmp_path)]
    assert 0 < disk.free_bytes <= disk.total_bytes
    assert disk.file_system == "ext4"


def test_a_file_system_that_hangs_delays_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proc = machine(tmp_path / "proc")
    answered = threading.Event()
    real = os.statvfs

    def statvfs(path: str) -> os.statvfs_result:
        if path == "/hung":
            answered.wait(5)
        return real("/" if path == "/hung" else path)

    monkeypatch.setattr(os, "statvfs", statvfs)
    clock = ManualClock()
    host = HostReader(clock, str(proc))
    before = threading.active_count()
    for _ in range(20):
        sample = host.read(("/hung", str(tmp_path)))
        assert str(tmp_path) in [one.path for one in sample.disks]
        assert [one.reason for one in sample.missing] == ["timeout"]
    assert threading.active_count() <= before + 2
    answered.set()
    for _ in range(200):
        if not host.read(("/hung",)).missing:
            break
    assert "/hung" in [one.path for one in host.read(("/hung",)).disks]


def test_a_question_that_fails_has_no_answer_and_is_asked_again_later() -> None:
    clock = ManualClock()
    asked: list[str] = []

    def ask(key: str) -> int | None:
        asked.append(key)
        if len(asked) == 1:
            raise OSError("no")
        return len(asked)

    background: Background[str, int] = Background(ask, clock, max_age_s=5.0)
    assert background.get("x", wait_s=2.0) is None
    assert background.get("x", wait_s=2.0) is None
    assert asked == ["x"]
    clock.advance(6)
    assert background.get("x", wait_s=2.0) == 2
    clock.advance(60)
    assert background.get("x") in (None, 3)


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/data/run", "nfs4"), ("/database", "ext4"), ("/", "ext4"), ("/my disk/x", "xfs"), ("/data/fast", "tmpfs")],
)
def test_the_innermost_mount_counts(path: str, kind: str) -> None:
    mounts = "d / ext4 rw 0 0\ns:/x /data nfs4 rw 0 0\ne /my\\040disk xfs rw 0 0\nt /data/fast tmpfs rw 0 0\nbroken\n"
    assert file_system_of(path, mounts) == kind


@given(st.binary(max_size=200))
def test_foreign_bytes_give_sane_figures_or_a_value_error(data: bytes) -> None:
    assert all(count >= 0 for count in parse_memory(data).values())
    with contextlib.suppress(ValueError):
        assert parse_pressure("io", data).resource == "io"


@pytest.mark.skipif(not os.path.exists("/proc/meminfo"), reason="needs Linux")
def test_this_machine() -> None:
    sample = HostReader(SystemClock()).read(("/",))
    assert sample.memory_total_bytes is not None
    assert sample.memory_available_bytes is not None
    assert 0 < sample.memory_available_bytes <= sample.memory_total_bytes
    assert sample.cpu_count is not None
