"""`traintop free`: which GPUs are free."""

from __future__ import annotations

import click

from tui.commands.choice import Choice
from tui.commands.early import EarlyAgent
from tui.commands.once import looked
from tui.commands.options import Seconds, Size, json_option, log_option, source_options
from tui.commands.timing_log import opened_log
from tui.commands.watching import is_partial
from tui.outputs.free import FreeQuestion, free_output, free_text
from tui.outputs.output import encode
from tui.outputs.paint import plain, write_out, write_sentence
from tui.start import EXIT_FINE, EXIT_NOTHING, EXIT_PARTIAL
from tui.terminal.ability import terminal_ability


@click.command("free")
@source_options
@click.option("-n", "count", type=click.IntRange(1, 1024), metavar="N", help="How many are wanted.")
@click.option("--min-free", type=Size(), metavar="SIZE", help="Only those with so much memory free, for example 40G.")
@click.option("--seconds", type=Seconds(), hidden=True)
@json_option
@log_option
@click.pass_obj
def command(
    early: EarlyAgent,
    /,
    demo: str | None,
    seed: int,
    replay: str | None,
    from_command: str | None,
    count: int | None,
    min_free: int | None,
    seconds: float | None,
    as_json: bool,
    log_path: str | None,
) -> int:
    """Which GPUs are free, and a CUDA_VISIBLE_DEVICES line to start a run with.

    A GPU is free when no process is on it and its memory is empty. "Since" is what was watched or read from the start
    of a process, never a guess. Status 1 when fewer are free than -n asks for, 2 when there is no GPU.
    """
    view = looked(Choice(demo, seed, replay, from_command), early, seconds, opened_log(log_path))
    output = free_output(view, FreeQuestion(count, min_free))
    if output.error is not None:
        write_sentence(f"traintop: {output.error}")
    if as_json:
        write_out(encode(output))
    elif output.gpus:
        ability = terminal_ability()
        write_out(plain(free_text(output, ability.width), colours=ability.colours, unicode=ability.unicode))
    if not output.gpus:
        return EXIT_NOTHING
    return EXIT_PARTIAL if is_partial(view) or (count is not None and not output.enough) else EXIT_FINE
