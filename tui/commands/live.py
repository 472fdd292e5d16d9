"""`traintop` without a command: the live screen, or plain output where there can be none."""

from __future__ import annotations

import os
from dataclasses import dataclass

from tui.commands.choice import Choice
from tui.commands.demo import PLAIN_SECONDS
from tui.commands.early import EarlyAgent
from tui.commands.timing_log import opened_log
from tui.commands.watching import is_partial
from tui.outputs.paint import write_sentence
from tui.settings.location import settings_path
from tui.settings.settings import load_settings
from tui.start import EXIT_FINE, EXIT_PARTIAL
from tui.terminal.ability import live_refused


@dataclass(frozen=True)
class ScreenWish:
    """How the screen is wanted, as the command line says it."""

    interval_s: float | None = None
    theme: str | None = None
    gpus: tuple[str, ...] = ()
    """The agent gives all GPUs to the live screen, which can show them again; this is the screen's choice."""
    allow_signals: bool = False
    show_arguments: bool = False


def open_live(
    early: EarlyAgent, origin: tuple[str | None, int, str | None, str | None], wish: ScreenWish, log_path: str | None
) -> int:
    """Show the live screen until it is left; the exit status. `origin` is demo, seed, replay and command."""
    settings = load_settings(settings_path())
    choice = Choice(*origin, interval_s=wish.interval_s or settings.interval_s)
    refused = live_refused(os.environ, input_matters=choice.replay != "-")
    log = opened_log(log_path)
    if refused:
        from tui.commands.once import looked, show_plain

        write_sentence(f"traintop: No live screen, because {refused}; this is one look as `traintop once` gives it.")
        view = looked(choice, early, PLAIN_SECONDS if choice.kind == "demo" else None, log)
        show_plain(view)
        return EXIT_PARTIAL if is_partial(view) else EXIT_FINE
    from tui.live import run_live

    return run_live(choice, early, settings, wish, log)
