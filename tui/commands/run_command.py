"""`traintop run -- COMMAND…`: become the command, with a probe in every Python that it starts."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time

import click

from monitor.clean import clean
from monitor.probe.folder import MARK, sweep
from monitor.probe.launch import deaf_flag, environment_with_probe
from tui.outputs.paint import write_sentence

EXIT_CANNOT_RUN = 126
EXIT_NOT_FOUND = 127
"""As shells have it."""
OLD_S = 24 * 3600.0


@click.command("run", context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True})
@click.argument("words", metavar="-- COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
def command(words: tuple[str, ...]) -> int:
    """Start COMMAND with a probe in it, so that its steps are counted exactly.

    traintop becomes the command: same process, same terminal, same exit status. Every Python that it starts counts the
    steps of PyTorch's optimizers and shows them, with the figures of the CUDA allocator, in a small file that only you
    can read. It changes nothing of the run and costs about three microseconds a step. Watch it with `traintop` or
    `traintop attach PID`. Status 127 when there is no such command, 126 when it cannot be started.
    """
    environment = environment_with_probe(os.environ)
    for sentence in warnings(words, environment):
        write_sentence(f"traintop: {sentence}")
    if environment[MARK].startswith("/"):
        sweep(environment[MARK], OLD_S, time.time())
    try:
        _become(words, environment)
    except OSError as error:
        write_sentence(f"traintop: {_why_not(words[0], error)}")
        return EXIT_NOT_FOUND if isinstance(error, FileNotFoundError) else EXIT_CANNOT_RUN
    except ValueError:
        write_sentence("traintop: The command line holds a character that no command line can hold.")
    return EXIT_CANNOT_RUN


def warnings(words: tuple[str, ...], environment: dict[str, str]) -> list[str]:
    """Why the probe will not be loaded or not be readable; the command is started all the same."""
    found: list[str] = []
    flag = deaf_flag(words)
    if flag is not None:
        found.append(f"With {flag} Python does not load the probe; the run is started without it.")
    if not environment[MARK].startswith("/"):
        found.append("There is no folder that only you can read, so the probe cannot show what it counts.")
    if sys.platform != "linux":
        found.append("The probe works on Linux alone; the run is started without it.")
    return found


def _why_not(word: str, error: OSError) -> str:
    """Why a command cannot be started, as a sentence."""
    name = clean(word, 200)
    if isinstance(error, FileNotFoundError):
        there = os.sep in word and os.path.exists(word)
        return f"The interpreter that {name} names is not there." if there else f"There is no command {name}."
    if isinstance(error, PermissionError):
        return f"{name} may not be executed."
    return f"{name} cannot be started: {clean(error.strerror or 'it is refused', 200)}."


def _become(words: tuple[str, ...], environment: dict[str, str]) -> None:
    """Never returns but by an error."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    # Python ignores these two, and what is ignored stays so in the command: `… | head` would never end it.
    for ignored in ("SIGPIPE", "SIGXFSZ"):
        if hasattr(signal, ignored):
            signal.signal(getattr(signal, ignored), signal.SIG_DFL)
    os.execvpe(words[0], list(words), environment)  # noqa: S606 - no shell is wanted
