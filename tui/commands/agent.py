"""`traintop agent`: the stream on standard output, requests on standard input."""

from __future__ import annotations

import click

from tui.commands.options import GpuList, Interval, demo_option
from tui.commands.wish import AgentWish


@click.command("agent")
@click.option("--interval", type=Interval(), default=1.0, help="Seconds between two looks.")
@click.option("--gpus", type=GpuList(mine=False), help="Only these: indices or UUIDs.")
@demo_option
def command(interval: float, gpus: tuple[str, ...] | None, demo: str | None, seed: int) -> int:
    """The stream itself: a JSON document a line on standard output, until standard input ends.

    It is what `traintop --from 'ssh node07 traintop agent'` runs on the other side.
    """
    from tui.commands.being_agent import be_agent

    return be_agent(AgentWish(interval, gpus or (), demo, seed))
