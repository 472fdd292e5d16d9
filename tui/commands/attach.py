"""`traintop attach PID`: what can be read of one process."""

from __future__ import annotations

import contextlib
import os

import click
import msgspec

from monitor.types.facts import ASKED_FOR
from monitor.types.run import Run
from tui.commands.choice import Choice, open_source
from tui.commands.early import EarlyAgent
from tui.commands.options import Seconds, json_option, log_option
from tui.commands.timing_log import opened_log
from tui.commands.watching import Watching, first_look_done
from tui.outputs.attach import AttachOutput, attach_output, attach_text, failed
from tui.outputs.output import encode
from tui.outputs.paint import plain, write_out, write_sentence
from tui.start import EXIT_FINE, EXIT_NOTHING, EXIT_PARTIAL
from tui.terminal.ability import terminal_ability
from tui.view import View, ViewBuilder

PATIENCE_S = 15.0
NOT_FOUND_S = 3.0
"""After so long a process that still belongs to no run is taken for none."""
SURE_WINDOW_S = 8.0
"""A rate that was watched for so long is good enough to end early."""
SURE_SPREAD_RATIO = 0.05


@click.command("attach")
@click.argument("pid", type=click.IntRange(1))
@click.option("--seconds", type=Seconds(), help="Watch just so long; without it 15 s, less when sure earlier.")
@json_option
@log_option
@click.pass_obj
def command(early: EarlyAgent, /, pid: int, seconds: float | None, as_json: bool, log_path: str | None) -> int:
    """What can be read of process PID and from where: step, rate, time left; nothing of the process is changed.

    Any process of yours can be named, also one that does not look like a training. Status 1 when its step could not be
    read, 2 when there is no such process.
    """
    if not os.path.isdir(f"/proc/{pid}") and not _alive(pid):
        return _refuse(as_json, pid, f"There is no process {pid}.")
    watching = Watching(open_source(Choice(pid=pid), early), opened_log(log_path))

    def enough(builder: ViewBuilder) -> bool:
        if seconds is not None:
            return False
        if not first_look_done(builder):
            return False
        run = run_of(builder.view(), pid)
        if run is None:
            return _watched_s(builder) > NOT_FOUND_S
        return run.ended is not None or is_sure(run)

    view = watching.until(enough, PATIENCE_S if seconds is None else seconds)
    run = honest(view, run_of(view, pid))
    if view.snapshot is None:
        return _refuse(as_json, pid, watching.ended or "The agent has not answered.")
    if run is None:
        return _refuse(as_json, pid, why_no_run(view, pid))
    output = attach_output(view, run, pid)
    _show(view, run, output, as_json)
    return EXIT_FINE if run.step is not None else EXIT_PARTIAL


def _show(view: View, run: Run, output: AttachOutput, as_json: bool) -> None:
    if as_json:
        write_out(encode(output))
        return
    ability = terminal_ability()
    write_out(plain(attach_text(view, run, output), colours=ability.colours, unicode=ability.unicode))


def _refuse(as_json: bool, pid: int, sentence: str) -> int:
    write_sentence(f"traintop: {sentence}")
    if as_json:
        write_out(encode(failed(sentence, pid)))
    return EXIT_NOTHING


def _alive(pid: int) -> bool:
    """For systems without /proc and for hidden processes."""
    with contextlib.suppress(ProcessLookupError, OverflowError):
        try:
            os.kill(pid, 0)
        except PermissionError:
            return True
        return True
    return False


def run_of(view: View, pid: int) -> Run | None:
    """The run that this process belongs to; a living one before one that ended."""
    found = [run for run in view.runs if any(member.process.pid == pid for member in run.members)]
    return min(found, key=lambda run: run.ended is not None) if found else None


def honest(view: View, run: Run | None) -> Run | None:
    """A process that looks like no run and counts no steps is not "starting" for being asked about."""
    if run is None or run.step is not None or run.ended is not None:
        return run
    whys = {view.facts[one.process].why for one in run.members if one.role == "trainer" and one.process in view.facts}
    return msgspec.structs.replace(run, phase="not_training") if whys == {ASKED_FOR} else run


def is_sure(run: Run) -> bool:
    """Whether more watching would change little."""
    if run.step is None or run.step_seconds is None:
        return False
    if run.rate_clock == "source":
        return True
    long_enough = run.rate_window_s is not None and run.rate_window_s >= SURE_WINDOW_S
    return long_enough and run.rate_spread_ratio is not None and run.rate_spread_ratio <= SURE_SPREAD_RATIO


def _watched_s(builder: ViewBuilder) -> float:
    view = builder.view()
    return 0.0 if view.taken_s is None or view.first_s is None else view.taken_s - view.first_s


def why_no_run(view: View, pid: int) -> str:
    """Why a living process is no run."""
    facts = next((facts for identity, facts in view.facts.items() if identity.pid == pid), None)
    if facts is not None:
        return f"Process {pid} ({facts.name}) is watched but belongs to no run: {facts.why or facts.kind}."
    return f"Process {pid} cannot be watched: it is a kernel thread, has ended, or is one of traintop's own."
