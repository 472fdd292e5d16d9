"""Which stream a command reads, and how it is opened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import click

from monitor.stream.source import MessageSource
from tui.commands.early import EarlyAgent
from tui.commands.wish import AgentWish


@dataclass(frozen=True)
class Choice:
    """Where the stream comes from, as the command line says it.

    Raises:
        click.UsageError: more than one of demo, replay and from_command is given.
    """

    demo: str | None = None
    seed: int = 0
    replay: str | None = None
    from_command: str | None = None
    interval_s: float = 1.0
    pid: int | None = None
    """A process that is to be watched whatever it looks like."""

    def __post_init__(self) -> None:
        given = {"--demo": self.demo, "--replay": self.replay, "--from": self.from_command}
        named = [name for name, value in given.items() if value is not None]
        if len(named) > 1:
            raise click.UsageError(f"{' and '.join(named)} exclude each other.", click.get_current_context(silent=True))

    @property
    def kind(self) -> Literal["live", "demo", "replay", "remote"]:
        """What sort of stream it is."""
        if self.replay is not None:
            return "replay"
        if self.from_command is not None:
            return "remote"
        return "live" if self.demo is None else "demo"


def open_source(choice: Choice, early: EarlyAgent) -> MessageSource:
    """The source of a live stream, or of a command elsewhere.

    Raises:
        click.ClickException: it cannot be opened; the text is a sentence.
    """
    from monitor.stream.codec import ForeignStreamError

    try:
        if choice.from_command is not None:
            from monitor.stream.command_source import CommandSource

            return CommandSource(choice.from_command)
        return early.take(AgentWish(choice.interval_s, demo=choice.demo, seed=choice.seed, pid=choice.pid))
    except ForeignStreamError as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"The agent cannot be started: {error.strerror or error}.") from None
