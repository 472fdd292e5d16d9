"""`traintop record FILE`: the stream into a file."""

from __future__ import annotations

import contextlib
import queue
import signal
import time
from types import FrameType
from typing import TYPE_CHECKING

import click

from monitor.clean import clean
from monitor.types.messages import Bye, Message, Snapshot
from tui import figures
from tui.commands.choice import Choice, open_source
from tui.commands.early import EarlyAgent
from tui.commands.options import Duration, Interval, Seconds, demo_option, log_option
from tui.commands.timing_log import TimingLog, opened_log
from tui.outputs.paint import write_sentence
from tui.start import EXIT_FINE, EXIT_PARTIAL

if TYPE_CHECKING:
    from monitor.stream.recording import RecordingWriter


class _Asked(Exception):  # noqa: N818  an outcome, not an error
    """The user or the system asks to end."""


@click.command("record")
@click.argument("file", metavar="FILE")
@click.option("--keep", type=Duration(), metavar="TIME", help="Keep at least the last TIME (24h), at most twice that.")
@click.option("--seconds", type=Seconds(), help="End after so long; without it on ^C.")
@click.option("--interval", type=Interval(), default=1.0, help="Seconds between two looks.")
@click.option("--overwrite", is_flag=True, help="Replace FILE if it is there.")
@demo_option
@log_option
@click.pass_obj
def command(
    early: EarlyAgent,
    /,
    file: str,
    keep: float | None,
    seconds: float | None,
    interval: float,
    overwrite: bool,
    demo: str | None,
    seed: int,
    log_path: str | None,
) -> int:
    """Write what is seen to FILE until ^C, to be shown again with `traintop --replay FILE`.

    The file is private (0600) and holds what the screen shows: user names, program names, command lines with secrets
    replaced, and the ends of logs that were looked at. Look at it before you pass it on.
    """
    from monitor.stream.recording import RecordingError, RecordingWriter

    shown = clean(file, 300)
    choice = Choice(demo, seed, interval_s=interval)
    try:
        writer = RecordingWriter(file, overwrite=overwrite, keep_s=keep)
    except RecordingError as error:
        raise click.ClickException(str(error)) from None
    log = opened_log(log_path)
    source = open_source(choice, early)
    messages: queue.SimpleQueue[Message | str] = queue.SimpleQueue()
    source.start(messages.put, messages.put)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _asked)
    write_sentence(f"Recording to {shown}; ^C ends it.")
    ticks, reason = 0, ""
    try:
        ticks, reason = _write(writer, messages, seconds, log)
    except RecordingError as error:
        raise click.ClickException(str(error)) from None
    finally:
        source.close()
        with contextlib.suppress(RecordingError):
            writer.close()
    write_sentence(f"{ticks} ticks, {figures.size(writer.written_bytes)} in {shown}. {reason}".rstrip())
    return EXIT_PARTIAL if reason else EXIT_FINE


def _asked(_number: int, _frame: FrameType | None) -> None:
    raise _Asked


def _write(
    writer: RecordingWriter, messages: queue.SimpleQueue[Message | str], seconds: float | None, log: TimingLog | None
) -> tuple[int, str]:
    """Write until the time is over, the stream ends or somebody asks; the ticks, and why the stream broke off."""
    until_s = None if seconds is None else time.monotonic() + seconds
    ticks = 0
    try:
        while until_s is None or time.monotonic() < until_s:
            try:
                message = messages.get(timeout=0.2)
            except queue.Empty:
                continue
            if isinstance(message, str):
                return ticks, message
            writer.write(message)
            ticks += isinstance(message, Snapshot)
            if log is not None:
                log.note(message)
            if isinstance(message, Bye):
                break
    except (KeyboardInterrupt, _Asked):
        pass
    return ticks, ""
