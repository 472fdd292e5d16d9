"""Checkpoints of a run, found by the names that frameworks give them. Nothing of one is opened."""

from __future__ import annotations

import os
import re
import stat as modes

from monitor.clean import clean
from monitor.types.documents import SeenCheckpoint

MAX_SEEN = 16
MAX_ENTRIES = 512
SETTLED_S = 10.0
"""A file that changed within this time may still be written."""
_STEP = (
    re.compile(r"(?:checkpoint|ckpt|step|iter|global_step|model_step|model)[-_]?(\d{1,12})(?:\.(?:pth|pt|ckpt|bin|safetensors))?\Z"),
    re.compile(r"(?:.{0,80}[-_])?step[=_-](\d{1,12})(?:-v\d+)?(?:\.(?:ckpt|pth|pt|safetensors))?\Z"),
    re.compile(r"ep\d{1,6}-ba(\d{1,12})(?:-rank\d+)?(?:\.pt)?\Z"),
)  # fmt: skip
_EPOCH = re.compile(r"(?:.{0,80}[-_])?(?:epoch[=_-]?|ep)(\d{1,6})(?:[-_.].{0,80})?\Z")
_FILE = re.compile(r"(?:last|best|latest|final|checkpoint|ckpt|model_final)\.(?:pth|pt|ckpt)\Z")
_UNFINISHED = re.compile(r"(?:tmp[-_]|\.tmp).{0,120}|.{0,120}\.(?:tmp|part|incomplete)\Z")
_ENDINGS = (".pth", ".pt", ".ckpt", ".bin", ".safetensors")


def seen_checkpoints(
    folders: tuple[str, ...], now_s: float, started_s: float | None, open_paths: frozenset[str] = frozenset()
) -> tuple[SeenCheckpoint, ...]:
    """The checkpoints in these folders written since the run started (wall clock, s), the newest first."""
    found: dict[str, SeenCheckpoint] = {}
    for folder in folders:
        for name in ("", "checkpoints", "weights", "ckpt"):
            for checkpoint in _in_folder(os.path.join(folder, name) if name else folder, now_s, open_paths):
                written_s = checkpoint.written_s
                if started_s is None or (written_s is not None and written_s >= started_s):
                    found[checkpoint.path] = checkpoint
    return tuple(sorted(found.values(), key=lambda c: c.written_s or 0.0, reverse=True)[:MAX_SEEN])


def numbers_of(name: str) -> tuple[float | None, float | None] | None:
    """Step and epoch that a name tells; `None` where it is no name of a checkpoint."""
    plain = name
    for mark in ("tmp-", "tmp_", ".tmp-"):
        plain = plain.removeprefix(mark)
    plain = plain.removesuffix(".tmp")
    step = next((float(m.group(1)) for m in (p.match(plain) for p in _STEP) if m), None)
    epoch_match = _EPOCH.match(plain)
    epoch = float(epoch_match.group(1)) if epoch_match else None
    if step is None and epoch is None and not _FILE.match(plain):
        return None
    return step, epoch


def _in_folder(folder: str, now_s: float, open_paths: frozenset[str]) -> list[SeenCheckpoint]:
    seen: list[SeenCheckpoint] = []
    try:
        with os.scandir(folder) as entries:
            for count, entry in enumerate(entries):
                if count >= MAX_ENTRIES:
                    break
                numbers = numbers_of(entry.name)
                if numbers is None:
                    continue
                checkpoint = _look(entry, numbers, now_s, open_paths)
                if checkpoint is not None:
                    seen.append(checkpoint)
    except OSError:
        return seen
    return seen


def _look(
    entry: os.DirEntry[str], numbers: tuple[float | None, float | None], now_s: float, open_paths: frozenset[str]
) -> SeenCheckpoint | None:
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return None
    is_folder = modes.S_ISDIR(status.st_mode)
    if not is_folder and not (modes.S_ISREG(status.st_mode) and entry.name.removesuffix(".tmp").endswith(_ENDINGS)):
        return None
    size_bytes: int | None = status.st_size
    newest_s, names = status.st_mtime, frozenset[str]()
    if is_folder:
        newest_s, size_bytes, names = _inside(entry.path, newest_s)
    held = any(path == entry.path or path.startswith(entry.path + "/") for path in open_paths)
    whole: bool | None = True
    if held or _UNFINISHED.match(entry.name) or now_s - newest_s < SETTLED_S:
        whole = False
    elif is_folder and not names:
        whole = None
    return SeenCheckpoint(
        path=clean(entry.path, 1024),
        step=numbers[0],
        epoch=numbers[1],
        written_s=newest_s,
        whole=whole,
        size_bytes=size_bytes,
    )


def _inside(folder: str, newest_s: float) -> tuple[float, int | None, frozenset[str]]:
    """Newest change, bytes of the files directly in it (`None` where folders lie in it), and its names."""
    size_bytes: int | None = 0
    names: set[str] = set()
    try:
        with os.scandir(folder) as entries:
            for count, entry in enumerate(entries):
                if count >= MAX_ENTRIES:
                    size_bytes = None
                    break
                status = entry.stat(follow_symlinks=False)
                names.add(entry.name)
                newest_s = max(newest_s, status.st_mtime)
                if modes.S_ISDIR(status.st_mode):
                    size_bytes = None
                elif size_bytes is not None:
                    size_bytes += status.st_size
    except OSError:
        size_bytes = None
    return newest_s, size_bytes, frozenset(names)
