"""What screens ask of the application."""

from __future__ import annotations

from typing import Protocol, cast

from textual.widget import Widget

from monitor.stream.source import MessageSource
from tui.theme.palette import Palette
from tui.widgets.header import Connection


class Host(Protocol):
    """The part of the application that screens know."""

    source: MessageSource

    def make_palette(self) -> Palette:
        """Styles of the current theme."""

    def connection(self) -> Connection:
        """How the stream stands now."""

    def set_paused(self, paused: bool) -> None:
        """Let a replay stand still, or go on."""

    def change_pace(self, factor: float) -> str:
        """Change the speed of a replay; what to say about it."""

    def next_theme(self) -> str:
        """Switch to the next theme; what to say about it."""

    def keep(self, name: str, value: str) -> str:
        """Keep a setting for next time; a sentence when that failed."""

    def toggle_mouse(self) -> str:
        """Give the mouse to the terminal, or take it back; what to say about it."""

    def hold_mouse(self, hold: bool) -> None:
        """Let go of the mouse for a while, or take it as the person wants."""


def host_of(screen: Widget) -> Host:
    """The application that a screen belongs to."""
    return cast("Host", screen.app)
