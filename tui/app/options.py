"""What the live screen is told when it starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

SourceKind = Literal["live", "demo", "replay", "remote"]


@dataclass(frozen=True)
class LiveOptions:
    """How to show the stream. Everything has a default that is safe: reading only, other users' arguments hidden."""

    kind: SourceKind = "live"
    """Where the stream comes from. Signals are possible only with a live one of this host."""
    title: str = ""
    """For a replay the file, for a remote source the command; shown in the header."""
    theme: str = ""
    """Name of a theme; empty for the one that suits the terminal."""
    ascii_only: bool = False
    """Draw with ASCII: the terminal has no UTF-8."""
    no_color: bool = False
    light: bool = False
    """The terminal's background is light; picks the default theme."""
    colors: int = 16_777_216
    """Colours the terminal can show; 16 or fewer picks the ANSI theme by default."""
    interval_s: float = 1.0
    allow_signals: bool = False
    show_arguments: bool = False
    """Show the arguments of other users' command lines too."""
    gpus: tuple[str, ...] = ()
    """Only these GPUs, as indexes or UUIDs; "mine" for those that own runs use; empty for all."""
    theme_folders: tuple[str, ...] = ()
    """Folders with the user's own themes."""
    window: str = ""
    """Words of the time window to begin with; empty for one that grows with what was watched."""
    sort: str = ""
    """Order of the runs to begin with; empty for own ones first."""
    save: Callable[[str, str], str] | None = None
    """Keeps a setting (theme, window, sort) for next time; a sentence when that failed."""
    notices: tuple[str, ...] = field(default_factory=tuple)
    """Sentences to show once the screen is up, for example about a broken settings file."""
