"""From meanings to terminal styles. A painter names a role; a theme says which colour that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rich.color import Color as RichColor
from rich.style import Style
from textual.color import Color, ColorParseError


@dataclass(frozen=True)
class Role:
    """One meaning: its theme variable and how it looks beside its colour."""

    variable: str
    bold: bool = False
    italic: bool = False
    reverse: bool = False


ROLES: dict[str, Role] = {
    "text": Role("ink"),
    "strong": Role("ink", bold=True),
    "label": Role("label"),
    "faint": Role("rule"),
    "title": Role("title", bold=True),
    "key": Role("key", bold=True),
    "own": Role("own", bold=True),
    "letter": Role("own", bold=True),
    "free": Role("free", bold=True),
    "good": Role("free"),
    "warn": Role("warn", bold=True),
    "critical": Role("critical", bold=True),
    "load": Role("load-high"),
    "load_low": Role("load-low"),
    "history": Role("history"),
    "memory": Role("memory-bar"),
    "memory_high": Role("memory-high"),
    "track": Role("track"),
    "progress": Role("progress-bar"),
    "loss": Role("loss-line"),
    "pace": Role("pace-line"),
    "tab": Role("label"),
    "tab_on": Role("title", bold=True, reverse=True),
    "note": Role("label", italic=True),
}
"""Every style a painter may name."""

GROUNDS = {"": "background", "band": "band", "selected": "selection", "marked": "selection-blurred"}
"""Backgrounds of whole lines, by the name a `Line` gives them."""

MEANINGS: tuple[str, ...] = (
    "ink", "label", "rule", "title", "key", "own", "free", "warn", "critical", "load-high", "load-low", "history",
    "memory-bar", "memory-high", "track", "progress-bar", "loss-line", "pace-line", "band", "selection",
    "selection-blurred",
)  # fmt: skip
"""Every variable that a theme may set under [meaning]."""


def fallback_meanings(
    foreground: str, background: str, primary: str, accent: str, warning: str, error: str, success: str, *, ansi: bool
) -> dict[str, str]:
    """Values of all meanings made of a base palette, for themes that know nothing of traintop."""
    if ansi:
        return ansi_meanings(primary, accent, warning, error, success)
    ink, ground = Color.parse(foreground), Color.parse(background)

    def toward(share: float) -> str:
        return ink.blend(ground, share).hex

    return {
        "ink": ink.hex, "label": toward(0.3), "rule": toward(0.68), "title": primary, "key": primary, "own": accent,
        "free": success, "warn": warning, "critical": error, "load-high": primary, "load-low": toward(0.45),
        "history": primary, "memory-bar": accent, "memory-high": warning, "track": toward(0.72),
        "progress-bar": success, "loss-line": accent, "pace-line": primary, "band": toward(0.9),
        "selection": toward(0.8), "selection-blurred": toward(0.88),
    }  # fmt: skip


def ansi_meanings(primary: str, accent: str, warning: str, error: str, success: str) -> dict[str, str]:
    """The same for 16-colour terminals: the terminal's own colours, the selection reversed."""
    default = "ansi_default"
    return {
        "ink": default, "label": default, "rule": "ansi_bright_black", "title": primary, "key": primary, "own": accent,
        "free": success, "warn": warning, "critical": error, "load-high": primary, "load-low": "ansi_bright_black",
        "history": primary, "memory-bar": accent, "memory-high": warning, "track": "ansi_bright_black",
        "progress-bar": success, "loss-line": accent, "pace-line": primary, "band": default,
        "selection": default, "selection-blurred": default,
    }  # fmt: skip


class Palette:
    """Styles of one theme, each made once."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables
        self._styles: dict[tuple[str, str], Style] = {}

    def style(self, role: str, ground: str = "") -> Style:
        """The terminal style of a role on a ground."""
        key = (role, ground)
        style = self._styles.get(key)
        if style is None:
            style = self._styles[key] = self._make(ROLES[role], ground)
        return style

    def _make(self, role: Role, ground: str) -> Style:
        color = self._color(role.variable)
        back = self._color(GROUNDS[ground])
        reverse = role.reverse
        bold = role.bold or ground == "selected"
        if ground == "selected" and back.is_default:
            reverse, color = not reverse, back  # no ground to set it off: the terminal's own colours, swapped
        if ground == "band" and back.is_default:
            bold = True
        return Style(color=color, bgcolor=back, bold=bold or None, italic=role.italic or None, reverse=reverse or None)

    def _color(self, variable: str) -> RichColor:
        try:
            return Color.parse(self._variables.get(variable, "ansi_default")).rich_color
        except ColorParseError:
            return Color.parse("ansi_default").rich_color
