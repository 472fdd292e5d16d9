from __future__ import annotations

import os
from pathlib import Path

import pytest

from monitor.processes.namespace import INITIAL_PID_NAMESPACE, read_namespace


def procfs(root: Path, *, inode: str, levels: str = "7", options: str = "rw", cgroup: str = "0::/init.scope") -> str:
    (root / "self" / "ns").mkdir(parents=True)
    (root / "1").mkdir()
    os.symlink(inode, root / "self" / "ns" / "pid")
    (root / "self" / "status").write_text(f"Name:\tx\nNSpid:\t{levels}\n")
    line = f"23 31 0:21 / /proc rw - proc proc rw\n24 31 0:22 / /proc rw,nosuid - proc proc {options}\nbroken line\n"
    (root / "self" / "mountinfo").write_text(line)
    (root / "1" / "cgroup").write_text(cgroup)
    return str(root)


def test_on_a_host(tmp_path: Path) -> None:
    here = read_namespace(procfs(tmp_path / "p", inode=INITIAL_PID_NAMESPACE), str(tmp_path / "top"))
    assert (here.nested, here.in_container, here.hides_others) == (False, False, False)


@pytest.mark.parametrize(("inode", "levels"), [("pid:[4026532001]", "7"), (INITIAL_PID_NAMESPACE, "2003\t7")])
def test_nested(tmp_path: Path, inode: str, levels: str) -> None:
    assert read_namespace(procfs(tmp_path / "p", inode=inode, levels=levels), str(tmp_path / "top")).nested is True


def test_container_by_mark_file_and_by_cgroup(tmp_path: Path) -> None:
    root = procfs(tmp_path / "p", inode="pid:[1]", cgroup="0::/system.slice/docker-x.scope")
    assert read_namespace(root, str(tmp_path / "top")).in_container
    (tmp_path / "top").mkdir()
    (tmp_path / "top" / ".dockerenv").touch()
    other = procfs(tmp_path / "q", inode="pid:[1]")
    assert read_namespace(other, str(tmp_path / "top")).in_container


@pytest.mark.parametrize(
    ("options", "hides"),
    [("rw,hidepid=2", True), ("rw,hidepid=invisible,gid=9", True), ("rw,hidepid=0", False), ("rw", False)],
)
def test_hidepid(tmp_path: Path, options: str, hides: bool) -> None:
    root = procfs(tmp_path / "p", inode=INITIAL_PID_NAMESPACE, options=options)
    assert read_namespace(root, str(tmp_path / "top")).hides_others is hides


def test_nothing_to_read(tmp_path: Path) -> None:
    assert read_namespace(str(tmp_path / "none"), str(tmp_path)).nested is None
