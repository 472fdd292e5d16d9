"""Being the agent of a front end: this machine's sources, or the demo's with its real training process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.agent.main import run_agent
from monitor.agent.options import AgentOptions
from tui.commands.wish import AgentWish
from tui.version import version

if TYPE_CHECKING:
    from monitor.simulation.demo_run import DemoTrainer


def be_agent(wish: AgentWish, front_end: int | None = None) -> int:
    """Send the stream to stdout until stdin ends. Exits instead of returning."""
    trainer = None if wish.demo is None else _started_trainer(wish.demo)
    return run_agent(
        AgentOptions(
            interval_s=wish.interval_s,
            version=version(),
            gpus=wish.gpus,
            demo_profile=wish.demo,
            demo_seed=wish.seed,
            demo_trainer_pid=None if trainer is None else trainer.pid,
            asked_pids=frozenset() if wish.pid is None else frozenset({wish.pid}),
            own_pids=frozenset() if front_end is None else frozenset({front_end}),
        ),
        tidy=lambda: None if trainer is None else trainer.stop(),
    )


def _started_trainer(profile: str) -> DemoTrainer | None:
    """The real training process of the demo, where the profile has a place for it; else a simulated one stands in."""
    from monitor.simulation.demo_run import start_demo_trainer
    from monitor.simulation.profiles import PROFILES

    if profile not in PROFILES or not any(plan.stand_in for plan in PROFILES[profile].runs):
        return None
    try:
        return start_demo_trainer()
    except OSError as error:
        import sys

        sys.stderr.write(f"The demo's training process cannot be started: {error.strerror or error}.\n")
        return None
