"""The command line through click: errors become one sentence, and `--json` keeps its promise also when it fails."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import click

from monitor.clean import clean
from tui.commands.early import EarlyAgent
from tui.commands.root import traintop
from tui.outputs.paint import OutputLostError, close_quietly, write_out, write_sentence
from tui.start import EXIT_FINE, EXIT_INTERRUPTED, EXIT_NOTHING


def run(argv: Sequence[str], early: EarlyAgent) -> int:
    """Parse and run; the exit status."""
    words = as_subcommand(argv)
    try:
        status = traintop.main(list(words), prog_name="traintop", obj=early, standalone_mode=False)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.Abort:
        return EXIT_INTERRUPTED
    except SystemExit:  # so click ends, with a status of its own, when nobody reads the output any more
        close_quietly()
        return EXIT_FINE
    except click.ClickException as error:
        return refuse(words, sentence_of(error))
    except OutputLostError as error:
        write_sentence(f"traintop: {error}")
        return EXIT_NOTHING
    return status if isinstance(status, int) else 0


def as_subcommand(argv: Sequence[str]) -> tuple[str, ...]:
    """`traintop --once …` is `traintop once …`."""
    asked = "--once" in argv and argv[0] != "run"  # what follows `run` is the command's
    return ("once", *(word for word in argv if word != "--once")) if asked else tuple(argv)


def refuse(argv: Sequence[str], sentence: str) -> int:
    """Say one sentence, and on stdout one object where JSON was asked for."""
    write_sentence(f"traintop: {sentence}")
    if "--json" in argv:
        from tui.outputs.output import encode
        from tui.outputs.schemas import failed

        command = next((word for word in argv if not word.startswith("-")), "once")
        with contextlib.suppress(OutputLostError):  # the sentence above has said enough
            write_out(encode(failed(command, sentence)))
    return EXIT_NOTHING


def sentence_of(error: click.ClickException) -> str:
    """Click's message in one line, with where to look further for a mistake in the usage."""
    message = error.format_message().replace("is not a valid integer range", "is not a whole number")
    text: str = clean(" ".join(message.split()), 1000)
    if not text.endswith((".", "?", "!")):
        text += "."
    if isinstance(error, click.UsageError):
        context = error.ctx.command_path if error.ctx is not None else "traintop"
        text += f" See `{context} --help`."
    return text
