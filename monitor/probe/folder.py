"""Where probes keep their files: a folder that only its user can look into."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Mapping

MARK = "TRAINTOP_PROBE"
"""The variable that `traintop run` sets: it says that a probe was asked for, and names the folder of its files."""
MAX_LOOKED_AT = 512
_NAME = "probe-"


def probe_file(folder: str, pid: int) -> str:
    """The file of one process; `pid` is the one that the process itself knows."""
    return f"{folder}/{_NAME}{pid}"


def usual_folders(uid: int, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Where a user's probes may keep their files, the preferred first. `environment` is ours."""
    runtime = environment.get("XDG_RUNTIME_DIR", "")
    own = (f"{runtime.rstrip('/')}/traintop",) if runtime.startswith("/") and uid == os.geteuid() else ()
    # A predictable name in /tmp is safe only because owner and mode are looked at before anything is written there.
    return tuple(dict.fromkeys((*own, f"/run/user/{uid}/traintop", f"/tmp/traintop-{uid}")))  # noqa: S108


def is_private(folder: str, uid: int) -> bool:
    """Whether it is a real folder of that user which nobody else can look into."""
    try:
        status = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == uid and not status.st_mode & 0o077


def make_folder(environment: Mapping[str, str]) -> str | None:
    """Make, or find, our own folder; `None` where no private one can be had."""
    own = os.geteuid()
    for folder in usual_folders(own, environment):
        with contextlib.suppress(OSError):
            os.mkdir(folder, 0o700)
        if is_private(folder, own) and os.access(folder, os.W_OK | os.X_OK):
            return folder
    return None


def sweep(folder: str, older_than_s: float, now_s: float) -> int:
    """Remove files of processes that are gone, if they were last touched long ago; how many were removed."""
    removed = 0
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for _, entry in zip(range(MAX_LOOKED_AT), entries, strict=False):
            pid = entry.name.removeprefix(_NAME)
            if not entry.name.startswith(_NAME) or not pid.isdecimal() or os.path.exists(f"/proc/{pid}"):
                continue
            with contextlib.suppress(OSError):
                if entry.is_file(follow_symlinks=False) and now_s - entry.stat().st_mtime > older_than_s:
                    os.unlink(entry.path)
                    removed += 1
    return removed
