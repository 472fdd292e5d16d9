"""What this terminal can do: be drawn on, show UTF-8, show colours; and if no live screen, why."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass

_UTF8 = ("utf-8", "utf8")
_LOCALE_VARIABLES = ("LC_ALL", "LC_CTYPE", "LANG")


@dataclass(frozen=True)
class TerminalAbility:
    """What can be shown here."""

    live_refused: str
    """Why there can be no live screen, as the second half of a sentence; empty when there can."""
    unicode: bool
    """False where only ASCII comes out right."""
    colours: int
    """0, 16, 256 or 16777216."""
    light: bool
    """The background is light, as far as the terminal tells."""
    width: int
    height: int


def terminal_ability(environment: Mapping[str, str] | None = None) -> TerminalAbility:
    """Look at the three standard streams and the environment."""
    env = os.environ if environment is None else environment
    size = shutil.get_terminal_size((80, 24))
    return TerminalAbility(
        live_refused=live_refused(env, input_matters=True),
        unicode=unicode_works(env, getattr(sys.stdout, "encoding", None)),
        colours=colour_count(env, _is_terminal(1)),
        light=light_background(env),
        # Into a pipe lines are long enough for every column, unless the user says how wide they shall be.
        width=max(20, size.columns) if _is_terminal(1) or "COLUMNS" in env else 120,
        height=max(5, size.lines),
    )


def live_refused(env: Mapping[str, str], *, input_matters: bool) -> str:
    """Why no live screen can be drawn here, or an empty text.

    The screen is drawn on stderr, keys come from stdin, and stdout tells what the user wants: a pipe wants plain text.
    """
    for descriptor, name in ((1, "standard output"), (2, "standard error"), (0, "standard input")):
        if descriptor == 0 and not input_matters:
            continue
        if not _is_terminal(descriptor):
            return f"{name} is not a terminal"
    term = env.get("TERM", "")
    if not term:
        return "TERM is not set"
    return "TERM is dumb" if term == "dumb" else ""


def _is_terminal(descriptor: int) -> bool:
    try:
        return os.isatty(descriptor)
    except OSError:
        return False


def unicode_works(env: Mapping[str, str], encoding: str | None) -> bool:
    """Whether characters beyond ASCII come out right.

    Python makes UTF-8 of the C locale and even writes `LC_CTYPE=C.UTF-8` into its environment (PEP 538, 540), so the
    environment as it was when the process started is asked. Nothing set at all counts as UTF-8, as terminals are today.
    """
    if encoding is not None and encoding.lower().replace("_", "-") not in _UTF8:
        return False
    if env.get("PYTHONIOENCODING", "utf-8").split(":")[0].lower() not in (*_UTF8, ""):
        return False
    started = started_environment() if env is os.environ else env
    for name in _LOCALE_VARIABLES:
        value = started.get(name, "")
        if value:
            return any(mark in value.lower() for mark in _UTF8)
    return True


def started_environment() -> Mapping[str, str]:
    """The locale variables as this process was given them, where the system tells; else as they are now."""
    try:
        with open("/proc/self/environ", "rb") as file:
            pairs = file.read(1 << 20).split(b"\0")
    except OSError:
        return os.environ
    found: dict[str, str] = {}
    for pair in pairs:
        name, _, value = pair.partition(b"=")
        if name in (b"LC_ALL", b"LC_CTYPE", b"LANG"):
            found[name.decode()] = value.decode("utf-8", "replace")
    return found


def colour_count(env: Mapping[str, str], is_terminal: bool) -> int:
    """How many colours to use: none into a pipe or with NO_COLOR, unless FORCE_COLOR asks for them."""
    if env.get("NO_COLOR"):
        return 0
    if not is_terminal and not env.get("FORCE_COLOR"):
        return 0
    term = env.get("TERM", "")
    if term in ("", "dumb"):
        return 0
    if env.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return 16_777_216
    return 256 if "256color" in term else 16


def light_background(env: Mapping[str, str]) -> bool:
    """Whether COLORFGBG names a light background: colour 7 or 15, as xterm, rxvt and Konsole write it."""
    return env.get("COLORFGBG", "").rpartition(";")[2] in ("7", "15")
