"""`--log FILE`: lateness and cost of each source, a line a source and tick."""

from __future__ import annotations

import os
import time

import click

from monitor.types.messages import Fault, Message, Snapshot


class TimingLog:
    """Appends to a file of the user; 0600 when new."""

    def __init__(self, path: str) -> None:
        """Open the file.

        Raises:
            click.ClickException: it cannot be written.
        """
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0), 0o600)
        except OSError as error:
            raise click.ClickException(f"--log {path}: {error.strerror}.") from None
        self._file = os.fdopen(descriptor, "a", encoding="utf-8", buffering=1)

    def cost(self, source: str, took_s: float) -> None:
        """What reading something once took."""
        try:
            self._file.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {source} took_s={took_s:.4f}\n")
        except (OSError, ValueError):
            return

    def note(self, message: Message) -> None:
        """Write the timings of a snapshot and the sentence of a fault. A full disk stops the log, not the monitor."""
        try:
            if isinstance(message, Snapshot):
                when = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(message.taken_s))
                for one in message.timings:
                    waiting = "" if one.waiting_s is None else f" waiting_s={one.waiting_s:.3f}"
                    cost = f"late_s={one.late_s:.4f} took_s={one.took_s:.4f} age_s={one.age_s:.3f}{waiting}"
                    self._file.write(f"{when} {one.source} {cost}\n")
            elif isinstance(message, Fault):
                self._file.write(f"fault {message.source}: {message.sentence}\n")
        except (OSError, ValueError):
            return


def opened_log(path: str | None) -> TimingLog | None:
    """The log that `--log` asks for."""
    return None if path is None else TimingLog(path)
