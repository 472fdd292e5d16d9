"""What the agent is started with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AgentOptions:
    """Options of `traintop agent`; the command line has checked them."""

    interval_s: float = 1.0
    version: str = ""
    gpus: tuple[str, ...] = ()
    """Indices or UUIDs; all when empty."""
    demo_profile: str | None = None
    """Name of a simulated node instead of this machine's GPUs."""
    demo_seed: int = 0
    demo_trainer_pid: int | None = None
    """A real process that stands on simulated GPU 0; the front end has started it and ends it."""
    asked_pids: frozenset[int] = frozenset()
    """Processes that somebody named: watched whatever they look like."""
    own_pids: frozenset[int] = frozenset()
    """Processes that are ours and therefore no training: the front end, a replacement."""
