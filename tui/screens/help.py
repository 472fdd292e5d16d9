"""All keys and signs on one screen, made from the registry of actions."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from tui.app.actions import ACTIONS, GROUPS, TOGETHER
from tui.theme.palette import Palette
from tui.widgets.detail import side_by_side
from tui.widgets.ink import Line, Pen
from tui.widgets.line_panel import LinePanel

SIGNS: tuple[tuple[str, str, str], ...] = (
    ("util", "text", "share of time in which a kernel ran, not how full the GPU was"),
    ("▲heat ▲brake", "warn", "clocks held down by heat, power supply; cap: power limit"),
    ("XID 79", "critical", "an error that the driver reported while watching"),
    ("A", "letter", "links a GPU's line to its run"),
    ("free, at peak", "text", "least free memory of its fullest GPU, as sampled while watched"),
    ("left, finishes", "text", "8 of 10 times within the range"),
    ("–", "text", "not known; never shown as 0"),
)


class HelpScreen(ModalScreen[None]):
    """Keys on the left, in two columns; what the signs mean below."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(key, "leave", show=False) for key in ("escape", "q", "question_mark", "enter", "space")
    ]

    def __init__(self, palette: Palette, is_so: Callable[[str], bool]) -> None:
        super().__init__()
        self._panel = LinePanel(palette)
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


def help_rows(group: str, is_so: Callable[[str], bool]) -> list[tuple[str, str]]:
    """Keys and words of a group; actions that belong together share a row."""
    shared = {ids[0]: (keys, words) for ids, keys, words in TOGETHER}
    covered = {one for ids, _, _ in TOGETHER for one in ids[1:]}
    return [
        shared.get(one.id, (one.shown, one.words))
        for one in ACTIONS
        if one.group == group and one.shown and one.id not in covered and is_so(one.when)
    ]


def paint_help(width: int, is_so: Callable[[str], bool]) -> list[Line]:
    """The whole help: 24 lines at 80 columns."""
    half = min(width // 2, 48)
    columns: list[list[Line]] = [[], []]
    for group in GROUPS:
        column = columns[1 if group == GROUPS[-1] else 0]
        column.append(Pen().gap().put(group, "title").line(half))
        for keys, words in help_rows(group, is_so):
            column.append(Pen().gap().cell(keys, 9, "key").gap(1).put(words, "text").line(half))
    lines = [Pen().gap().put("Keys and signs", "title").put("   esc: back", "label").line(width, "band")]
    lines += side_by_side(columns[0], columns[1], half, width)
    signs = [Pen().gap().cell(sign, 15, style).gap(1).put(words, "text").line(width) for sign, style, words in SIGNS]
    return [*lines, *signs]
