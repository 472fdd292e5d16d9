"""`traintop agent`: the stream on standard output, requests on standard input."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tui.commands.options import GpuList, Interval, demo_option
from tui.outputs.paint import write_sentence

if TYPE_CHECKING:
    from monitor.simulation.demo_run import DemoTrainer


@click.command("agent")
@click.option("--interval", type=Interval(), default=1.0, help="Seconds between two looks.")
@click.option("--gpus", type=GpuList(), help="Only these: indices or UUIDs.")
@demo_option
@click.option("--front-end", type=click.IntRange(1), hidden=True)
def command(interval: float, gpus: tuple[str, ...] | None, demo: str | None, seed: int, front_end: int | None) -> int:
    """The stream itself: a JSON document a line on standard output, until standard input ends.

    It is what `traintop --from 'ssh node07 traintop agent'` runs on the other side.
    """
    from monitor.agent.main import run_agent
    from monitor.agent.options import AgentOptions
    from tui.version import version

    trainer = None if demo is None else _started_trainer(demo)
    return run_agent(
        AgentOptions(
            interval_s=interval,
            version=version(),
            gpus=tuple(gpus or ()),
            demo_profile=demo,
            demo_seed=seed,
            demo_trainer_pid=None if trainer is None else trainer.pid,
            own_pids=frozenset() if front_end is None else frozenset({front_end}),
        ),
        tidy=lambda: None if trainer is None else trainer.stop(),
    )


def _started_trainer(profile: str) -> DemoTrainer | None:
    """The real training process of the demo, where the profile has a place for it; else a simulated one stands in."""
    from monitor.simulation.demo_run import start_demo_trainer
    from monitor.simulation.profiles import PROFILES

    if not any(plan.stand_in for plan in PROFILES[profile].runs):
        return None
    try:
        return start_demo_trainer()
    except OSError as error:
        write_sentence(f"The demo's training process cannot be started: {error.strerror or error}.")
        return None
