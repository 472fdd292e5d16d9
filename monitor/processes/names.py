"""Names that other programs know: of users (a name service may hang) and of containers (docker, podman)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

from monitor.clean import clean
from monitor.clock import Clock
from monitor.processes.background import Background

_SOCKETS = {"docker": "/var/run/docker.sock"}
_ID = re.compile(r"[0-9a-f]{12,64}")
_TIMEOUT_S = 1.0
_MAX_AGE_S = 3600.0


def _user_name(uid: int) -> str | None:
    import pwd  # not on Windows, where replays run

    try:
        return clean(pwd.getpwuid(uid).pw_name, 64)
    except KeyError:
        return str(uid)


def _container_name(key: tuple[str, str]) -> str | None:
    """Ask docker or podman for the name of a container, as a program with a time-out and without a shell."""
    runtime, container_id = key
    program = shutil.which(runtime)
    if program is None or not _ID.fullmatch(container_id):
        return None
    socket = _SOCKETS.get(runtime)
    if socket is not None and not os.access(socket, os.R_OK | os.W_OK):
        return None
    answer = subprocess.run(
        [program, "inspect", "--format", "{{.Name}}", container_id],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_TIMEOUT_S,
        check=False,
        env={"PATH": os.environ.get("PATH", os.defpath), "HOME": os.environ.get("HOME", "/"), "LC_ALL": "C.UTF-8"},
    )
    name = clean(answer.stdout[:1024].strip(), 64).lstrip("/")
    return name if answer.returncode == 0 and name else None


class Names:
    """Looks names up without ever holding the reader for long."""

    def __init__(self, clock: Clock) -> None:
        self._users = Background(_user_name, clock, _MAX_AGE_S)
        self._containers = Background(_container_name, clock, _MAX_AGE_S)

    def user(self, uid: int) -> str | None:
        """The user's name, or the number as text when there is none; `None` while the name service does not answer."""
        return self._users.get(uid, wait_s=0.1)

    def container(self, runtime: str, container_id: str) -> str | None:
        """The container's name; `None` when it is not known (yet)."""
        if runtime not in ("docker", "podman") or not container_id:
            return None
        return self._containers.get((runtime, container_id))
