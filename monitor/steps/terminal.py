"""The screen of the tmux pane that a process runs in. Read-only: the pane is looked at, nothing is sent or piped."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field

from monitor.clean import clean
from monitor.clock import Clock
from monitor.steps.formats.line_format import Origin
from monitor.steps.formats.registry import TextReader
from monitor.steps.lines import Line, TextRing
from monitor.steps.source import Refusal, Written
from monitor.types.documents import Setting
from monitor.types.facts import ProcessFacts
from monitor.types.identity import ProcessIdentity
from monitor.types.steps import StepEvent

TIME_OUT_S = 1.0
EVERY_S = 2.0
PANES_AGAIN_S = 30.0
ROWS = 200
MAX_TEXT = 262144
_PANE = re.compile(r"%\d{1,9}\Z")
_Panes = dict[str, str]
"""Pane by terminal."""


@dataclass
class _Screen:
    """What was seen of one process's pane."""

    reader: TextReader = field(default_factory=TextReader)
    ring: TextRing = field(default_factory=TextRing)
    seen: tuple[str, ...] = ()
    row: int = 0
    looked_s: float = float("-inf")
    changed_s: float = 0.0
    where: str = ""
    refused: str = ""


class TerminalWay:
    """Looks at tmux panes of our own user by `capture-pane`."""

    name = "terminal"
    needs = "A process of the same user whose output is a tmux pane, and tmux."
    cost = "One short tmux command every 2 s for each run in a pane. The run does not notice."
    asks_first = False

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._screens: dict[ProcessIdentity, _Screen] = {}
        self._panes: dict[str, tuple[float, _Panes]] = {}
        self._program = shutil.which("tmux")

    def read(self, facts: tuple[ProcessFacts, ...], until_boot_s: float) -> list[StepEvent]:
        """What is new on the screens of these processes."""
        alive = {fact.process for fact in facts}
        self._screens = {process: s for process, s in self._screens.items() if process in alive}
        events: list[StepEvent] = []
        taken: set[str] = set()
        if self._program is None:
            return events
        for fact in sorted(facts, key=lambda f: (f.kind != "training", f.process.pid)):
            terminal = _terminal(fact)
            if not terminal or terminal in taken or fact.uid != os.geteuid() or fact.kind in ("worker", "launcher"):
                continue
            taken.add(terminal)
            screen = self._screens.setdefault(fact.process, _Screen())
            now_s = self._clock.boot_s()
            if now_s - screen.looked_s < EVERY_S or now_s >= until_boot_s:
                continue
            screen.looked_s = now_s
            events.extend(self._look(fact, terminal, screen))
        return events

    def written(self, process: ProcessIdentity) -> list[Written]:
        """The screen of a process, where one was seen."""
        screen = self._screens.get(process)
        if screen is None or not screen.changed_s:
            return []
        return [Written(where=screen.where, ring=screen.ring, skipped_bytes=0, changed_s=screen.changed_s)]

    def refusals(self) -> tuple[Refusal, ...]:
        """Terminals that are no pane of a tmux that answers."""
        return tuple(
            Refusal(process=process, source=self.name, where="terminal", sentence=screen.refused)
            for process, screen in self._screens.items()
            if screen.refused
        )

    def settings(self) -> dict[ProcessIdentity, tuple[Setting, ...]]:
        """None."""
        return {}

    def allow(self, process: ProcessIdentity) -> None:
        """Needs no leave."""

    def _look(self, fact: ProcessFacts, terminal: str, screen: _Screen) -> list[StepEvent]:
        socket = _socket(fact)
        pane = self._pane(socket, terminal)
        text = None if pane is None else self._tmux(socket, "capture-pane", "-p", "-J", "-S", f"-{ROWS}", "-t", pane)
        if text is None:
            screen.refused = "the terminal is no tmux pane that can be read"
            return []
        screen.refused = ""
        screen.where = clean(f"tmux pane {pane}", 100)
        rows = tuple(clean(row.rstrip(), 2000) for row in text.split("\n"))
        while rows and not rows[-1]:
            rows = rows[:-1]
        fresh = new_rows(screen.seen, rows)
        screen.seen = rows
        if not fresh:
            return []
        screen.changed_s = self._clock.wall_s()
        origin = Origin(fact.process, screen.where, screen.changed_s)
        events: list[StepEvent] = []
        for row in fresh:
            line = Line(row, screen.row)
            screen.row += 1
            screen.ring.add(line)
            events.extend(screen.reader.read(line, origin))
        return events

    def _pane(self, socket: str, terminal: str) -> str | None:
        now_s = self._clock.boot_s()
        known = self._panes.get(socket)
        if known is None or now_s - known[0] > PANES_AGAIN_S:
            text = self._tmux(socket, "list-panes", "-a", "-F", "#{pane_tty} #{pane_id}") or ""
            pairs = [row.split(" ") for row in text.split("\n")[:1024]]
            known = (now_s, {pair[0]: pair[1] for pair in pairs if len(pair) == 2 and _PANE.match(pair[1])})
            self._panes = {**dict(list(self._panes.items())[-7:]), socket: known}
        return known[1].get(terminal)

    def _tmux(self, socket: str, *words: str) -> str | None:
        if self._program is None:
            return None
        named = ["-S", socket] if socket else []
        try:
            done = subprocess.run(
                [self._program, *named, *words],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=TIME_OUT_S,
                check=False,
            )
        except (OSError, ValueError, subprocess.SubprocessError):
            return None
        return done.stdout[-MAX_TEXT:].decode("utf-8", "replace") if done.returncode == 0 else None


def new_rows(before: tuple[str, ...], now: tuple[str, ...]) -> tuple[str, ...]:
    """The rows that were not there before: the screen may have scrolled, and its last row may have been rewritten."""
    if not before:
        return now
    known = before[:-1]
    for start in range(len(known)):  # the least scrolling that explains what is still there
        kept = known[start:]
        if now[: len(kept)] == kept:
            rest = now[len(kept) :]
            return rest[1:] if rest and rest[0] == before[-1] else rest
    return now[1:] if now and now[0] == before[-1] else now


def _terminal(fact: ProcessFacts) -> str:
    for file in fact.open_files:
        if file.kind == "terminal" and file.role in ("stdout", "stderr") and file.path.startswith("/dev/pts/"):
            return file.path
    return ""


def _socket(fact: ProcessFacts) -> str:
    """The server's socket from TMUX, if it is one of ours; another user's server is never asked."""
    value = next((v.value for v in fact.environment if v.name == "TMUX"), "")
    socket = value.split(",")[0]
    try:
        return socket if socket.startswith("/") and os.stat(socket).st_uid == os.geteuid() else ""
    except (OSError, ValueError):
        return ""
