"""`traintop` itself: the live screen, and the table of subcommands, which are imported only when used."""

from __future__ import annotations

import difflib
import importlib

import click

from tui.commands.options import GpuList, Interval, arguments_option, log_option, source_options

COMMANDS: tuple[tuple[str, str, str], ...] = (
    ("once", "tui.commands.once", "One look at GPUs and runs, as text, JSON or CSV."),
    ("free", "tui.commands.free", "Which GPUs are free, and who holds the others."),
    ("attach", "tui.commands.attach", "What can be read of one process: its step, rate and time left."),
    ("run", "tui.commands.run_command", "Start a command with a probe in it, so that its steps are counted exactly."),
    ("log", "tui.commands.log", "The same from log files alone."),
    ("record", "tui.commands.record", "Write what is seen to a file, to be replayed."),
    ("doctor", "tui.commands.doctor", "What works on this machine, what does not, and why."),
    ("agent", "tui.commands.agent", "The stream itself on standard output, for another traintop."),
)
"""Name, module and one line of help. The module's `command` is the click command."""

EPILOG = (
    "Exit status: 0 fine, 1 partial data (a GPU or the driver does not answer), "
    "2 wrong usage or nothing to work with, 130 interrupted."
)


class LazyGroup(click.Group):
    """A group that knows its subcommands by name and imports one only to run it or to show its help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the table."""
        del ctx
        return [name for name, _, _ in COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of the command."""
        del ctx
        module = next((module for name, module, _ in COMMANDS if name == cmd_name), None)
        if module is None:
            return None
        command: click.Command = importlib.import_module(module).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table as it stands here, so that help imports no command."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, _, text in COMMANDS])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command, or a sentence with the nearest name."""
        if args and not args[0].startswith("-") and args[0] not in self.list_commands(ctx):
            near = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            ctx.fail(f"There is no command {args[0][:60]!r}.{hint}")
        return super().resolve_command(ctx, args)


def _version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from tui.version import version

        click.echo(f"traintop {version()}")
        ctx.exit(0)


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@source_options
@click.option("--interval", type=Interval(), help="Seconds between two looks, 0.25 to 3600.")
@click.option("--theme", metavar="NAME", help="Colours: dark, light, contrast, ansi or one of your own.")
@click.option("--gpus", type=GpuList(), help="Only these: indices or UUIDs, or `mine`.")
@click.option("--allow-signals", is_flag=True, help="Let keys send signals to your own processes, after a question.")
@arguments_option
@click.option("--once", is_flag=True, help="One look as text, then exit; the same as `traintop once`.")
@log_option
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version.")
@click.pass_context
def traintop(
    ctx: click.Context,
    /,
    demo: str | None,
    seed: int,
    replay: str | None,
    from_command: str | None,
    interval: float | None,
    theme: str | None,
    gpus: tuple[str, ...] | None,
    allow_signals: bool,
    show_arguments: bool,
    once: bool,
    log_path: str | None,
) -> int:
    """Top for training runs: GPUs, the runs on them, their steps and when they will finish.

    Without a command it opens the live screen. It only reads; nothing needs root.
    """
    if ctx.invoked_subcommand is not None:
        given = [name for name, value in ctx.params.items() if value not in (None, False, 0)]
        if given:
            option = "--" + given[0].removesuffix("_command").removesuffix("_path").replace("_", "-")
            ctx.fail(f"{option} belongs after the command: traintop {ctx.invoked_subcommand} {option}")
        return 0
    del once  # rewritten to the command of that name before parsing
    from tui.commands.live import ScreenWish, open_live

    wish = ScreenWish(interval, theme, gpus or (), allow_signals, show_arguments)
    return open_live(ctx.obj, (demo, seed, replay, from_command), wish, log_path)
