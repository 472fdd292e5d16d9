"""A cheap look at the command line: if figures will be wanted, the agent starts now, while the rest is imported."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui.commands.wish import AgentWish

if TYPE_CHECKING:
    from monitor.stream.agent_process import AgentProcess

WATCHING_COMMANDS = ("once", "free", "attach", "doctor")
_VALUE_OPTIONS = frozenset(
    {"--interval", "--theme", "--gpus", "--replay", "--from", "--log", "--seed", "--seconds", "--min-free", "-n"}
)
_NO_AGENT = frozenset({"--help", "-h", "--version", "--replay", "--from"})


class EarlyAgent:
    """Holds the agent that was started early until a command takes it; one that nobody takes is ended."""

    def __init__(self) -> None:
        self._wish: AgentWish | None = None
        self._process: AgentProcess | None = None

    def look(self, argv: Sequence[str]) -> None:
        """Start the agent if the command line looks as if it will be wanted. A wrong guess costs little."""
        wish = guessed_wish(argv)
        if wish is None:
            return
        try:
            self._process = spawned(wish)
        except OSError:
            return  # the command itself will meet the same and say so
        self._wish = wish

    def take(self, wish: AgentWish) -> AgentProcess:
        """The early agent if it was started with just this, else a new one."""
        process, self._process = self._process, None
        if process is not None:
            if self._wish == wish:
                return process
            process.close()
        return spawned(wish)

    def end(self) -> None:
        """End the agent if nobody took it."""
        process, self._process = self._process, None
        if process is not None:
            process.close()


def spawned(wish: AgentWish) -> AgentProcess:
    """A new agent process, already running.

    Raises:
        OSError: no process can be made.
    """
    from monitor.stream.agent_process import AgentProcess

    process = AgentProcess(wish.arguments())
    process.spawn()
    return process


def guessed_wish(argv: Sequence[str]) -> AgentWish | None:
    """What the agent will be started with, or `None` where none is wanted or the guess is not safe."""
    if any(word.split("=", 1)[0] in _NO_AGENT for word in argv):
        return None
    bare: list[str] = []
    found: dict[str, str | None] = {}
    words = list(argv)
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        if not word.startswith("-"):
            bare.append(word)
            continue
        if name == "--demo":
            takes = not equals and bool(words) and not words[0].startswith("-")
            found[name] = value if equals else words.pop(0) if takes else None
        elif name in _VALUE_OPTIONS and not equals:
            found[name] = words.pop(0) if words else ""
        elif equals:
            found[name] = value
    command = bare[0] if bare else None
    if command is not None and command not in WATCHING_COMMANDS:
        return None
    if command == "attach" and (len(bare) != 2 or not bare[1].isascii() or not bare[1].isdecimal()):
        return None
    wish = _wish(found, live=command is None)
    return wish._replace(pid=int(bare[1][:19])) if wish is not None and command == "attach" else wish


def _wish(found: dict[str, str | None], *, live: bool) -> AgentWish | None:
    default_s = _interval_set() if live and "--interval" not in found else 1.0
    try:
        interval_s = float(found.get("--interval") or default_s)
        seed = int(found.get("--seed") or 0)
    except ValueError:
        return None
    if not math.isfinite(interval_s):
        return None
    profile = None
    if "--demo" in found:
        from tui.commands.demo import DEFAULT_PROFILE

        profile = found["--demo"] or DEFAULT_PROFILE
    return AgentWish(interval_s, (), profile, seed)


def _interval_set() -> float:
    """The interval in the settings file; it is looked into only where there is one."""
    from tui.settings.location import settings_path

    path = settings_path()
    if not os.path.exists(path):
        return 1.0
    from tui.settings.settings import load_settings

    return load_settings(path).interval_s
