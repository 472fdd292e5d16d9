"""The live screen from its first byte to its last: first picture, Textual's take-over, ending."""

from __future__ import annotations

import importlib
import os
import threading
import time
from typing import TYPE_CHECKING

import click

from monitor.types.messages import Snapshot
from tui.commands.choice import Choice, open_source
from tui.commands.early import EarlyAgent
from tui.commands.live import ScreenWish
from tui.commands.timing_log import TimingLog
from tui.outputs.paint import Line, Span, line, write_sentence
from tui.outputs.text import picture
from tui.relayed import RelayedReplay, RelayedSource
from tui.settings.settings import Settings, save_setting
from tui.start import EXIT_FINE, EXIT_INTERRUPTED, EXIT_NOTHING
from tui.terminal.ability import TerminalAbility, terminal_ability
from tui.terminal.ending import Ending
from tui.terminal.first_screen import FirstScreen
from tui.view import ViewBuilder

if TYPE_CHECKING:
    from tui.app.options import LiveOptions

FIRST_FIGURES_S = 1.0
"""How long the full screen waits for the first figures; then it shows itself without."""
POLL_S = 0.01


def run_live(choice: Choice, early: EarlyAgent, settings: Settings, wish: ScreenWish, log: TimingLog | None) -> int:
    """Show the live screen until it is left; the exit status.

    Raises:
        click.ClickException: the stream cannot be opened; nothing was changed on the terminal then.
    """
    source = _opened(choice, early, log)
    ability = terminal_ability()
    ending = Ending()
    ending.arm()
    try:
        source.begin()
        stage = _first_picture(source, ending, ability)
        if stage is not None:
            return stage
        builder = _builder(choice)
        options = _live_options(choice, settings, wish, ability, notices=(builder.note,) if builder.note else ())
        fault, told = _full_screen(source, ending, options, builder, mouse=settings.mouse)
        builder.save()
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    finally:
        ending.restore()
        source.close()
    if fault is not None:
        raise fault
    for notice in told:  # the screen had one line for each, for a few seconds
        write_sentence(f"traintop: {notice}")
    if source.exit_status == EXIT_NOTHING and source.end:
        raise click.ClickException(source.end)
    return EXIT_FINE


def _opened(choice: Choice, early: EarlyAgent, log: TimingLog | None) -> RelayedSource:
    if choice.replay is None:
        return RelayedSource(open_source(choice, early), log)
    from monitor.stream.recording import RecordingError
    from monitor.stream.replay import ReplaySource

    try:
        source = RelayedReplay(ReplaySource(choice.replay), log)
    except RecordingError as error:
        raise click.ClickException(str(error)) from None
    if choice.replay == "-":
        _take_keys_from_the_terminal()
    return source


def _take_keys_from_the_terminal() -> None:
    """Standard input is the recording, which was opened under another number; keys come from the terminal itself."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
    except OSError as error:
        raise click.ClickException(f"There is no terminal to take keys from: {error.strerror}.") from None
    os.dup2(terminal, 0)
    os.close(terminal)


def _first_picture(source: RelayedSource, ending: Ending, ability: TerminalAbility) -> int | None:
    """Show plain figures until Textual is imported; an exit status when it was left already."""
    screen = FirstScreen(ending, ability)
    screen.enter()
    screen.paint([_WAITING])
    app_module = _Import("tui.app.app")
    builder = ViewBuilder()
    started_s = time.monotonic()
    painted = False
    while True:
        if screen.wants_quit():
            return EXIT_FINE
        news = source.early()
        for message in news:
            builder.update(message)
        if any(isinstance(message, Snapshot) for message in news):
            screen.paint(picture(builder.view(), ability.width, ability.height))
            painted = True
        if source.end is not None and not painted:
            ending.restore()
            write_sentence(f"traintop: {source.end or 'The stream ended before it said anything.'}")
            return EXIT_NOTHING
        if app_module.done and (painted or time.monotonic() - started_s > FIRST_FIGURES_S):
            return None
        time.sleep(POLL_S)


_WAITING: Line = line(Span(" traintop", "strong"), "  reading GPUs and processes …")


class _Import:
    """Imports a module on a thread of its own."""

    def __init__(self, name: str) -> None:
        self.done = False
        self.fault: Exception | None = None
        """What the import ran into; the import on the main thread meets the same and reports it."""
        self._name = name
        threading.Thread(target=self._run, name="import", daemon=True).start()

    def _run(self) -> None:
        try:
            importlib.import_module(self._name)
        except Exception as error:
            self.fault = error
        self.done = True


def _builder(choice: Choice) -> ViewBuilder:
    if choice.kind in ("demo", "replay"):
        return ViewBuilder()
    from monitor.store.state import StateStore
    from tui.remembered import RememberingBuilder

    return RememberingBuilder(StateStore())


def _full_screen(
    source: RelayedSource, ending: Ending, options: LiveOptions, builder: ViewBuilder, *, mouse: bool
) -> tuple[BaseException | None, list[str]]:
    from tui.app.app import TraintopApp
    from tui.terminal.textual_run import run_app

    app = TraintopApp(source, options, builder=builder)
    return run_app(app, ending.original, mouse=mouse), app.notices


def _live_options(
    choice: Choice, settings: Settings, wish: ScreenWish, ability: TerminalAbility, notices: tuple[str, ...]
) -> LiveOptions:
    from tui.app.options import LiveOptions

    return LiveOptions(
        kind=choice.kind,
        title=choice.replay or choice.from_command or "",
        theme=wish.theme or settings.theme or "",
        ascii_only=not ability.unicode if settings.ascii is None else settings.ascii,
        no_color=ability.colours == 0,
        light=ability.light,
        colors=ability.colours,
        interval_s=choice.interval_s,
        allow_signals=wish.allow_signals,
        show_arguments=wish.show_arguments,
        gpus=wish.gpus,
        theme_folders=(os.path.join(os.path.dirname(settings.path), "themes"),) if settings.path else (),
        window=settings.window or "",
        sort=settings.sort or "",
        save=lambda name, value: save_setting(settings.path, name, value),
        notices=(*settings.complaints, *notices),
    )
