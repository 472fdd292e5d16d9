"""All keys and signs on one screen, made from the registry of actions."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen

from tui.app.actions import ACTIONS, GROUPS
from tui.theme.palette import Palette
from tui.widgets.detail import side_by_side
from tui.widgets.ink import Line, Pen
from tui.widgets.line_panel import LinePanel

SIGNS: tuple[tuple[str, str, str], ...] = (
    ("util", "text", "share of time in which any kernel ran; says nothing about how full the GPU was"),
    ("▲heat ▲brake ▲slow", "warn", "clocks held down by heat, the power supply, the hardware"),
    ("cap", "label", "at its power limit: normal under load"),
    ("XID 79", "critical", "an error that the driver reported while watching"),
    ("A", "letter", "links a GPU's line to its run"),
    ("left, finishes", "text", "8 of 10 times within the range; a dash where it cannot be known"),
    ("–", "text", "not known; never shown as 0"),
)


class HelpScreen(ModalScreen[None]):
    """Keys on the left, in two columns; what the signs mean below."""

    BINDINGS = [Binding(key, "leave", show=False) for key in ("escape", "q", "question_mark", "enter", "space")]

    def __init__(self, palette: Palette, is_so: Callable[[str], bool], *, ascii_only: bool = False) -> None:
        super().__init__()
        self._panel = LinePanel(palette, ascii_only=ascii_only)
        self._is_so = is_so

    def compose(self) -> ComposeResult:
        """One panel over the whole screen."""
        yield self._panel

    def on_mount(self) -> None:
        """Paint once."""
        self._panel.show(paint_help(self.app.size.width, self._is_so))

    def on_resize(self) -> None:
        """Paint for the new size."""
        self._panel.show(paint_help(self.app.size.width, self._is_so))

    def action_leave(self) -> None:
        """Back to the overview."""
        self.dismiss()


def paint_help(width: int, is_so: Callable[[str], bool]) -> list[Line]:
    """The whole help, at most 24 lines at 80 columns."""
    half = width // 2
    columns: list[list[Line]] = [[], []]
    for number, group in enumerate(GROUPS):
        column = columns[number // 2]
        column.append(Pen().gap().put(group, "title").line(half))
        for one in ACTIONS:
            if one.group == group and one.shown and is_so(one.when):
                column.append(Pen().gap().cell(one.shown, 11, "key").gap(1).cell(one.words, half - 14, "text").line(half))
    lines = [Pen().gap().put("traintop", "title").put("  keys and signs", "label").put("   esc: back", "label").line(width, "band")]
    lines += side_by_side(columns[0], columns[1], half, width)
    signs = [Pen().gap().cell(sign, 19, style).gap(1).put(words, "text").line(width) for sign, style, words in SIGNS]
    return [*lines, *signs]
