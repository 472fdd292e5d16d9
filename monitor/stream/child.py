"""The agent as a child process. Imports next to nothing: it is started before anything else is loaded."""

from __future__ import annotations

import os
import subprocess
import sys

PYTHON_ISOLATED = ("-I",)
PYTHON_OWN_SITE = ("-E",)
"""Leaves the user's site-packages in: our own dependencies lie there."""


def main_path() -> str:
    """The file that is the command, beside our code in a checkout, around it when installed.

    It is run by its path, not with -m: then the folder that the user stands in is never on the module path.
    """
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # …/monitor
    around = os.path.dirname(package)
    nested = os.path.join(around, "__main__.py")
    return nested if os.path.isfile(nested) else os.path.join(around, "traintop", "__main__.py")


def isolation() -> tuple[str, ...]:
    """The interpreter flags that keep foreign code out and still find our dependencies."""
    from importlib.machinery import PathFinder

    found = PathFinder.find_spec("msgspec")  # one of our dependencies stands for all
    origin = None if found is None else found.origin
    if origin is None:
        return PYTHON_ISOLATED
    site = sys.modules.get("site")
    user_site = getattr(site, "USER_SITE", None) if getattr(site, "ENABLE_USER_SITE", False) else None
    if user_site and _inside(origin, user_site):
        return PYTHON_OWN_SITE
    named = [] if sys.flags.ignore_environment else os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if any(folder and _inside(origin, folder) for folder in named):
        return ()  # whoever put our dependencies on PYTHONPATH means it to be used
    return PYTHON_ISOLATED


def agent_command(extra_args: tuple[str, ...] = ()) -> list[str]:
    """The command line of an agent with this interpreter and this code."""
    return [sys.executable, *isolation(), main_path(), "agent", *extra_args]


def start_child(command: list[str]) -> subprocess.Popen[bytes]:
    """Start a command with pipes on all three, in a session of its own: ^C and a hang-up go to the front end alone.

    Raises:
        OSError: the command cannot be started.
    """
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
    )


def end_child(child: subprocess.Popen[bytes]) -> None:
    """End a child that nobody has read yet. It has written nothing but to its pipe, so it may be ended at once."""
    child.kill()
    for pipe in (child.stdin, child.stdout, child.stderr):
        if pipe is not None:
            pipe.close()
    try:
        child.wait(0.5)
    except subprocess.TimeoutExpired:
        return  # it hangs in the kernel; it goes when the driver lets it go


def _inside(path: str, folder: str) -> bool:
    return os.path.realpath(path).startswith(os.path.realpath(folder) + os.sep)
