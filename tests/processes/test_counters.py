from __future__ import annotations

import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.processes.counters import parse_io, parse_stat
from monitor.processes.proc import ProcDirectory
from tests.processes.fake_proc import stat_line


@pytest.mark.parametrize(
    "name", [b"python", b"a) R 1\n(b", b")", b"((", b"", b"x y", b"\x1b]0;t\x07", b"\xff\xfe", b") R 1 ("]
)
def test_any_name_is_told_from_the_fields(name: bytes) -> None:
    found = parse_stat(stat_line(7, name, parent=3, state="D", ticks=250, start=4711, threads=5, rss=12))
    assert found is not None
    assert found == (name, "D", 3, False, 250, 5, 4711, 12)


def test_kernel_threads_are_told() -> None:
    found = parse_stat(stat_line(7, b"kworker/0:1", flags=0x4208060))
    assert found is not None
    assert found.kernel_thread


@pytest.mark.parametrize("line", [b"", b"7", b"7 (x", b"7 (x) S 1 2", b"7 (x) S " + b"z " * 40, b") 7 ("])
def test_cut_and_foreign_lines_are_none(line: bytes) -> None:
    assert parse_stat(line) is None


@given(st.binary(max_size=200))
def test_whatever_the_bytes_are_the_answer_is_none_or_whole(data: bytes) -> None:
    found, moved = parse_stat(data), parse_io(data)
    assert found is None or (found.name in data and len(found.state) <= 1)
    assert moved is None or all(str(count).encode() in data for count in map(abs, moved))


def test_bytes_from_storage() -> None:
    assert parse_io(b"rchar: 9\nwchar: 8\nread_bytes: 4096\nwrite_bytes: 17\ncancelled_write_bytes: 0\n") == (4096, 17)
    assert parse_io(b"rchar: 9\nwchar: 8\nsyscr: 1\n") is None
    assert parse_io(b"rchar: 9\nread_bytes: x\nwrite_bytes: 1\n") is None


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs Linux")
def test_our_own_counters_are_true() -> None:
    until = time.process_time() + 0.05
    while time.process_time() < until:
        pass
    found = ProcDirectory().counters(os.getpid())
    assert found is not None
    assert found.parent_pid == os.getppid()
    used_s = found.cpu_ticks / os.sysconf("SC_CLK_TCK")
    assert abs(used_s - sum(os.times()[:2])) < 0.5
    assert found.rss_pages > 100
