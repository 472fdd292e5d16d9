"""The last resort: a note about a fault of ours, without the values of variables, and one sentence for the user."""

from __future__ import annotations

import os
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping

from monitor.clean import clean

_KEPT_NOTES = 5


def write_crash_note(error: BaseException, command: str, env: Mapping[str, str] | None = None) -> str:
    """Write the note and return the sentence to show. Never raises. Neither locals nor environment are written."""
    what = f"{type(error).__name__} in {_place(error)}"
    try:
        path = _write(_folder(os.environ if env is None else env), _note(error, command))
    except OSError:
        return f"traintop met a fault of its own ({what}) and could not write a note about it."
    return f"traintop met a fault of its own ({what}); a note for the maintainers is in {clean(path, 300)}"


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else "an unknown place"


def _note(error: BaseException, command: str) -> str:
    lines = [
        f"traintop {command}",
        f"python {sys.version.split()[0]} on {sys.platform}",
        time.strftime("%Y-%m-%d %H:%M:%S %z"),
    ]
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        lines.append(f"{type(cause).__name__}: {clean(str(cause), 500)}")
        lines += [f"  {one.filename}:{one.lineno} in {one.name}" for one in traceback.extract_tb(cause.__traceback__)]
        cause = cause.__cause__ or cause.__context__
    return "\n".join(lines) + "\n"


def _folder(env: Mapping[str, str]) -> str:
    base = env.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):
        home = env.get("HOME", "")
        if not home:
            raise FileNotFoundError("no home directory")
        base = os.path.join(home, ".local", "state")
    return os.path.join(base, "traintop")


def _write(folder: str, note: str) -> str:
    os.makedirs(folder, mode=0o700, exist_ok=True)
    for old in sorted(name for name in os.listdir(folder) if name.startswith("crash-"))[: -_KEPT_NOTES + 1 or None]:
        os.unlink(os.path.join(folder, old))
    descriptor, path = tempfile.mkstemp(prefix=time.strftime("crash-%Y%m%dT%H%M%S-"), suffix=".txt", dir=folder)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(note)
    return path
