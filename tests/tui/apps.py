"""The app over a source that says nothing by itself: tests post the views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual._compositor import CompositorUpdate
from textual.pilot import Pilot
from textual.screen import Screen

from monitor.types.messages import Message
from monitor.types.requests import Request
from tests.tui import scenes
from tui.app.app import TraintopApp
from tui.app.feed import ViewReady
from tui.app.lean_update import lean
from tui.app.options import LiveOptions
from tui.view import View


class QuietSource:
    """Takes requests and never speaks unless told to."""

    exit_status = 0

    def __init__(self) -> None:
        self.sent: list[Request] = []
        self.closed = False
        self.on_message: Callable[[Message], None] = lambda _message: None
        self.on_end: Callable[[str], None] = lambda _reason: None

    def start(self, on_message: Callable[[Message], None], on_end: Callable[[str], None]) -> None:
        self.on_message, self.on_end = on_message, on_end

    def send(self, request: Request) -> None:
        self.sent.append(request)

    def close(self) -> None:
        self.closed = True


class CountingApp(TraintopApp):
    """Counts what would go to a terminal."""

    def __init__(self, source: QuietSource, options: LiveOptions) -> None:
        super().__init__(source, options)
        self.sent_bytes = 0
        self.written: Callable[[str], object] = lambda _text: None

    def _display(self, screen: Screen[Any], renderable: Any) -> None:
        if isinstance(renderable, CompositorUpdate):
            text = lean(renderable).render_segments(self.console)
            self.sent_bytes += len(text.encode())
            self.written(text)


def app_of(**options: Any) -> CountingApp:
    """An app with a source of its own."""
    return CountingApp(QuietSource(), LiveOptions(**{"theme": "traintop-dark", **options}))


def source_of(app: TraintopApp) -> QuietSource:
    """The source of such an app."""
    assert isinstance(app.source, QuietSource)
    return app.source


async def show(pilot: Pilot[Any], view: View | str) -> None:
    """Post a view and wait until it is painted."""
    pilot.app.post_message(ViewReady(scenes.view_of(view) if isinstance(view, str) else view))
    await pilot.pause()
    await pilot.pause()


def panel_text(app: TraintopApp, name: str) -> str:
    """What a panel shows."""
    return app.overview.panels[name].text
