"""`traintop agent`: the stream on standard output, requests on standard input."""

from __future__ import annotations

import click

from tui.commands.options import GpuList, Interval, demo_option


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

    return run_agent(
        AgentOptions(
            interval_s=interval,
            version=version(),
            gpus=tuple(gpus or ()),
            demo_profile=demo,
            demo_seed=seed,
            own_pids=frozenset() if front_end is None else frozenset({front_end}),
        )
    )
