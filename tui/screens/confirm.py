"""The question before a signal is sent. SIGKILL takes a second step."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from tui.app.signals import WORDS, SignalTarget
from tui.theme.palette import Palette
from tui.widgets.ink import Line, Pen, cut, wrapped
from tui.widgets.line_panel import LinePanel

Send = Callable[[SignalTarget, signal.Signals], str]


class ConfirmScreen(ModalScreen[str]):
    """Shows the process as it was selected; gives back what happened, or nothing."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("i", "choose('SIGINT')", show=False),
        Binding("t", "choose('SIGTERM')", show=False),
        Binding("K", "choose('SIGKILL')", show=False),
        Binding("y", "confirm", show=False),
        Binding("escape", "leave", show=False),
        Binding("n", "leave", show=False),
        Binding("q", "leave", show=False),
    ]

    def __init__(self, target: SignalTarget, palette: Palette, send: Send) -> None:
        super().__init__()
        self._target = target
        self._send = send
        self._chosen: signal.Signals | None = None
        self._panel = LinePanel(palette)

    def compose(self) -> ComposeResult:
        """One box."""
        yield self._panel

    def on_mount(self) -> None:
        """Ask."""
        self._show()

    def _show(self) -> None:
        self._panel.show(paint_question(self._target, self._chosen, 76))

    def action_choose(self, name: str) -> None:
        """Choose a signal; it is sent by the next step."""
        self._chosen = signal.Signals[name]
        self._show()

    def action_confirm(self) -> None:
        """Send the chosen signal."""
        if self._chosen is not None:
            self.dismiss(self._send(self._target, self._chosen))

    def action_leave(self) -> None:
        """Send nothing."""
        self.dismiss("")


def paint_question(target: SignalTarget, chosen: signal.Signals | None, width: int) -> list[Line]:
    """The process, the signals to choose from, or the question for the chosen one."""
    lines = [Pen().gap().put("Send a signal", "title").line(width, "band"), Pen().line(width)]
    for label, words in (
        ("process", f"{target.process.pid}, {target.role}"),
        ("user", target.user),
        ("running for", target.age),
    ):
        lines.append(Pen().gap(2).cell(label, 13, "label").put(cut(words, width - 16), "text").line(width))
    command = wrapped(target.command or "?", width - 13, "text", 0, most=3)
    for number, line in enumerate(command):
        lines.append(
            Pen().gap(2).cell("command" if number == 0 else "", 13, "label").put(line.text, "text").line(width)
        )
    lines.append(Pen().line(width))
    if chosen is None:
        for key, number in (("i", signal.SIGINT), ("t", signal.SIGTERM), ("K", signal.SIGKILL)):
            lines.append(Pen().gap(2).put(key, "key").put(f"  {WORDS[number]}", "text").line(width))
        lines.append(Pen().gap(2).put("esc", "key").put("  send nothing", "label").line(width))
        return lines
    style = "critical" if chosen == signal.SIGKILL else "warn"
    lines.append(Pen().gap(2).put(WORDS[chosen], style).line(width))
    lines.append(
        Pen()
        .gap(2)
        .put("y", "key")
        .put("  send it      ", "text")
        .put("esc", "key")
        .put("  send nothing", "text")
        .line(width)
    )
    return lines
