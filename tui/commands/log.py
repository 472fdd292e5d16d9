"""`traintop log`: the same from log files alone."""

from __future__ import annotations

import time
from dataclasses import dataclass

import click

from monitor.clock import SystemClock
from monitor.steps.log_file import LogFacts, UnreadableLogError, read_log
from tui.commands.options import Interval, json_option, log_option
from tui.commands.timing_log import TimingLog, opened_log
from tui.outputs.log import LogOutput, failed, log_output, log_text, log_view
from tui.outputs.output import encode
from tui.outputs.paint import plain, write_out, write_sentence
from tui.start import EXIT_FINE, EXIT_NOTHING, EXIT_PARTIAL
from tui.terminal.ability import terminal_ability

WATCH_S = 2.0
_OVER = ("finished", "out_of_memory", "error", "killed", "time_limit")


@click.command("log")
@click.argument("paths", nargs=-1, required=True, metavar="FILE…|DIR")
@click.option("--together", is_flag=True, help="All files are of one run, for example its stdout and its stderr.")
@click.option("--watch", is_flag=True, help="Look again whenever something was written, until the run has ended.")
@click.option("--interval", type=Interval(), default=WATCH_S, hidden=True)
@json_option
@log_option
def command(
    paths: tuple[str, ...], together: bool, watch: bool, interval: float, as_json: bool, log_path: str | None
) -> int:
    """Last step, total, time a step, how it ended and time left, from logs alone; of a folder, its best log.

    Works on logs of other machines and of runs that are over. With several files each is a run of its own and --json
    writes a line each. Status 1 when some could not be read or hold no step, 2 when none could be read.
    """
    log = opened_log(log_path)
    named = [paths] if together else [(path,) for path in paths]
    if not watch:
        return _status([_show(one, as_json, log) for one in named])
    if len(named) > 1:
        raise click.UsageError("--watch looks at one run.", click.get_current_context())
    seen: LogFacts | None = None
    while True:
        look = _read(named[0], log)
        if look.facts is None or seen is None or _news(look.facts, seen):
            _print(look, as_json)
        if look.facts is None or look.facts.ended in _OVER:
            return _status([look])
        seen = look.facts
        time.sleep(interval)


@dataclass(frozen=True)
class _Look:
    """One run's logs, read or not."""

    files: tuple[str, ...]
    facts: LogFacts | None = None
    refused: str = ""


def _read(files: tuple[str, ...], log: TimingLog | None) -> _Look:
    begun_s = time.monotonic()
    try:
        facts = read_log(files, SystemClock())[1]
        if log is not None:
            log.cost("log", time.monotonic() - begun_s)
        return _Look(files, facts)
    except UnreadableLogError as error:
        sentence = str(error)
        return _Look(files, refused=sentence if sentence.endswith(".") else sentence + ".")


def _news(now: LogFacts, before: LogFacts) -> bool:
    return (now.size_bytes, now.ended) != (before.size_bytes, before.ended)


def _show(files: tuple[str, ...], as_json: bool, log: TimingLog | None) -> _Look:
    look = _read(files, log)
    _print(look, as_json)
    return look


def _print(look: _Look, as_json: bool) -> None:
    if look.facts is None:
        write_sentence(f"traintop: {look.refused}")
        if as_json:
            write_out(encode(failed(look.refused, look.files)))
        return
    view = log_view(look.facts)
    output: LogOutput = log_output(view, look.facts)
    if as_json:
        write_out(encode(output))
        return
    ability = terminal_ability()
    write_out(plain(log_text(view, output), colours=ability.colours, unicode=ability.unicode))


def _status(looks: list[_Look]) -> int:
    read = [look.facts for look in looks if look.facts is not None]
    if not read:
        return EXIT_NOTHING
    whole = len(read) == len(looks) and all(facts.steps.step is not None for facts in read)
    return EXIT_FINE if whole else EXIT_PARTIAL
