"""`traintop once`: one look, then exit."""

from __future__ import annotations

import click

from tui.commands.choice import Choice, open_source
from tui.commands.demo import PLAIN_SECONDS
from tui.commands.early import EarlyAgent
from tui.commands.options import GpuList, Interval, Seconds, arguments_option, json_option, log_option, source_options
from tui.commands.recording import recorded_messages
from tui.commands.timing_log import TimingLog, opened_log
from tui.commands.watching import PATIENCE_S, Watching, first_look_done, is_partial, recorded_view
from tui.outputs.chosen import not_there, only_gpus
from tui.outputs.paint import plain, write_out, write_sentence
from tui.start import EXIT_FINE, EXIT_NOTHING, EXIT_PARTIAL
from tui.terminal.ability import terminal_ability
from tui.view import View, ViewBuilder


@click.command("once")
@source_options
@click.option("--seconds", type=Seconds(), help="Watch this long, so that rates are known.")
@click.option("--interval", type=Interval(), help="Seconds between two looks while watching.")
@click.option("--gpus", type=GpuList(), help="Only these: indices or UUIDs, or `mine`.")
@json_option
@click.option("--csv", "as_csv", is_flag=True, help="The GPUs as CSV.")
@arguments_option
@log_option
@click.pass_obj
def command(
    early: EarlyAgent,
    /,
    demo: str | None,
    seed: int,
    replay: str | None,
    from_command: str | None,
    seconds: float | None,
    interval: float | None,
    gpus: tuple[str, ...] | None,
    as_json: bool,
    as_csv: bool,
    show_arguments: bool,
    log_path: str | None,
) -> int:
    """One look at GPUs and runs, then exit.

    One look knows a rate only where a source has a clock of its own; --seconds 10 watches longer. A machine without an
    NVIDIA driver is no fault (status 0); a driver or a GPU that does not work is (status 1).
    """
    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other.", click.get_current_context())
    choice = Choice(demo, seed, replay, from_command, interval or 1.0)
    if seconds is None and choice.kind == "demo":
        seconds = PLAIN_SECONDS
    view = looked(choice, early, seconds, opened_log(log_path))
    nothing = False
    if gpus:
        strange = not_there(view, gpus)
        if strange:
            write_sentence(f"traintop: {strange}")
        view = only_gpus(view, gpus)
        nothing = bool(strange) and not (view.snapshot and view.snapshot.gpus)
    if as_json:
        from tui.outputs.once_json import once_output
        from tui.outputs.output import encode

        write_out(encode(once_output(view, show_arguments=show_arguments)))
    elif as_csv:
        from tui.outputs.csv import gpus_csv

        write_out(gpus_csv(view))
    else:
        show_plain(view)
    if nothing:
        return EXIT_NOTHING
    return EXIT_PARTIAL if is_partial(view) else EXIT_FINE


def looked(choice: Choice, early: EarlyAgent, seconds: float | None, log: TimingLog | None) -> View:
    """The view after one look, or after `seconds`.

    Raises:
        click.ClickException: nothing could be read.
    """
    if choice.replay is not None:
        return recorded_view(recorded_messages(choice.replay)).view()
    watching = Watching(open_source(choice, early), log)
    enough = first_look_done if seconds is None else _never
    view = watching.until(enough, PATIENCE_S if seconds is None else seconds)
    if view.snapshot is None:
        raise click.ClickException(watching.ended or "The agent has not answered.")
    if watching.ended:
        write_sentence(f"traintop: {watching.ended}")
    return view


def _never(builder: ViewBuilder) -> bool:
    del builder
    return False


def show_plain(view: View) -> None:
    """The picture as text, as wide as the terminal."""
    ability = terminal_ability()
    from tui.outputs.text import picture

    write_out(plain(picture(view, ability.width), colours=ability.colours, unicode=ability.unicode))
