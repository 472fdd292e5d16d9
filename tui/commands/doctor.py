"""`traintop doctor`: what works here and what does not."""

from __future__ import annotations

import click

from tui.commands.choice import Choice, open_source
from tui.commands.early import EarlyAgent
from tui.commands.options import json_option, log_option
from tui.commands.timing_log import opened_log
from tui.commands.watching import PATIENCE_S, Watching, first_look_done
from tui.outputs.doctor import doctor_output, doctor_text, local_checks
from tui.outputs.output import encode
from tui.outputs.paint import plain, write_out
from tui.settings.location import settings_path
from tui.settings.settings import load_settings
from tui.start import EXIT_FINE, EXIT_NOTHING, EXIT_PARTIAL
from tui.terminal.ability import terminal_ability
from tui.version import version


@click.command("doctor")
@json_option
@log_option
@click.pass_obj
def command(early: EarlyAgent, /, as_json: bool, log_path: str | None) -> int:
    """What works on this machine, what does not, why, and what would fix it.

    Status 1 when the driver is there but does not work or a dependency is missing.
    """
    ability = terminal_ability()
    watching = Watching(open_source(Choice(), early), opened_log(log_path))
    view = watching.until(first_look_done, PATIENCE_S)
    output = doctor_output(view, version(), local_checks(ability, load_settings(settings_path())))
    if as_json:
        write_out(encode(output))
    else:
        write_out(plain(doctor_text(output), colours=ability.colours, unicode=ability.unicode))
    if output.error is not None:
        return EXIT_NOTHING
    broken = view.hello is not None and view.hello.driver_state in ("failed", "asking")
    missing = any(not check.works and check.detail == "not installed" for check in output.checks)
    return EXIT_PARTIAL if broken or missing or output.faults else EXIT_FINE
