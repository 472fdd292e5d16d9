"""What a front end may ask of the agent, one JSON document a line on its stdin. End of file ends the agent."""

from __future__ import annotations

from monitor.types.identity import ProcessIdentity
from monitor.types.record import Record


class Asked(Record, tag_field="type", frozen=True, kw_only=True):
    """The base of every request."""


class Watch(Asked, tag="watch", frozen=True, kw_only=True):
    """What is shown now: dear calls (PCIe throughput, GPM, per-process use) are made only while they are shown."""

    view: str
    """overview, gpu (detail of `gpu_uuids`), memory, steps, processes, log."""
    gpu_uuids: tuple[str, ...] = ()


class Tail(Asked, tag="tail", frozen=True, kw_only=True):
    """Send the end of what this process writes; repeated each tick until `max_bytes` is 0."""

    process: ProcessIdentity
    max_bytes: int = 16384


class Allow(Asked, tag="allow", frozen=True, kw_only=True):
    """The user allows a source that asks first (a terminal's screen, a stack) for one process."""

    process: ProcessIdentity
    source: str


class Release(Asked, tag="release", frozen=True, kw_only=True):
    """Let go of the GPUs (so that a driver reload or a MIG change can go on), or take them again."""

    released: bool = True


class Stop(Asked, tag="stop", frozen=True, kw_only=True):
    """End the agent."""


Request = Watch | Tail | Allow | Release | Stop
