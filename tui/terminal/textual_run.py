"""Running the Textual app: our driver below it, and no traceback on the user's screen."""

from __future__ import annotations

from typing import Any

from textual.app import App

from tui.terminal.driver import driver_class
from tui.terminal.ending import Attributes


def run_app(app: App[Any], original_attributes: Attributes | None, *, mouse: bool) -> BaseException | None:
    """Run the app on the screen that the first picture left. Returns the fault that ended it, if one did."""
    app.driver_class = driver_class(original_attributes)
    app._print_error_renderables = lambda: None  # type: ignore[method-assign]  # noqa: SLF001  a note is written instead
    app.run(mouse=mouse)
    return app._exception  # noqa: SLF001
