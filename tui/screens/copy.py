"""Plain text on a clean screen, for those whose terminal takes no copy from a program."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from tui.screens.host import host_of
from tui.theme.palette import Palette
from tui.widgets.ink import Line, Pen
from tui.widgets.line_panel import LinePanel


class CopyScreen(ModalScreen[None]):
    """Shows the text without frames, and leaves the mouse to the terminal so that it can be marked."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(key, "leave", show=False) for key in ("escape", "q", "y", "enter", "space")
    ]

    def __init__(self, text: str, palette: Palette) -> None:
        super().__init__()
        self.plain_text = text
        self._panel = LinePanel(palette)

    def compose(self) -> ComposeResult:
        """One panel over the whole screen."""
        yield self._panel

    def on_mount(self) -> None:
        """Show the text and free the mouse."""
        host_of(self).hold_mouse(False)
        self._show()

    def on_resize(self) -> None:
        """Cut the lines for the new width."""
        self._show()

    def _show(self) -> None:
        width = self.app.size.width
        hint = "Sent to the clipboard (OSC 52); or mark the text below.   esc: back"
        lines: list[Line] = [Pen().put(hint, "label").line(width), Pen().line(width)]
        lines += [Pen().put(line, "text").line(width) for line in self.plain_text.splitlines()]
        self._panel.show(lines)

    def action_leave(self) -> None:
        """Back to the overview."""
        host_of(self).hold_mouse(True)
        self.dismiss()
