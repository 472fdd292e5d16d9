"""`train.py | tee train.log`: the process writes into a pipe, and `tee`, its neighbour, has the file."""

from __future__ import annotations

import os

from monitor.types.facts import OpenFile, ProcessFacts

MAX_ANCESTORS = 4
MAX_CHILDREN = 64
MAX_DESCRIPTORS = 16
_TEE = b"tee"


def tee_files(facts: ProcessFacts, pipe: str, proc: str = "/proc") -> list[tuple[int, OpenFile]]:
    """The files of the `tee` that reads this pipe: its pid and its open file. Empty where there is none.

    Only children of the process's own ancestors are looked at: a pipe line's parts have the same parent.
    """
    pid = facts.process.pid
    for _ in range(MAX_ANCESTORS):
        parent = _parent(proc, pid)
        if parent is None or parent <= 0:
            return []
        for child in _children(proc, parent):
            if _is_tee(proc, child) and _link(proc, child, 0) == pipe:
                return [(child, file) for file in _files(proc, child)]
        pid = parent
    return []


def _parent(proc: str, pid: int) -> int | None:
    text = _read(f"{proc}/{pid}/stat")
    fields = text[text.rfind(b")") + 1 :].split()
    return int(fields[1]) if len(fields) > 1 and fields[1].isdigit() else None


def _children(proc: str, pid: int) -> list[int]:
    text = _read(f"{proc}/{pid}/task/{pid}/children")
    return [int(word) for word in text.split()[:MAX_CHILDREN] if word.isdigit()]


def _is_tee(proc: str, pid: int) -> bool:
    return _read(f"{proc}/{pid}/comm").strip() == _TEE


def _files(proc: str, pid: int) -> list[OpenFile]:
    files: list[OpenFile] = []
    for descriptor in range(3, 3 + MAX_DESCRIPTORS):
        path = _link(proc, pid, descriptor)
        if path is not None and path.startswith("/"):
            files.append(OpenFile(descriptor=descriptor, kind="file", path=path, role="stdout"))
    return files


def _link(proc: str, pid: int, descriptor: int) -> str | None:
    try:
        return os.readlink(f"{proc}/{pid}/fd/{descriptor}")
    except OSError:
        return None


def _read(path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(descriptor, 4096)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
