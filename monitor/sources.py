"""What the agent reads from: driver, processes, host and step counters, real or simulated, each behind one protocol."""

from __future__ import annotations

from typing import Protocol

from monitor.types.facts import ProcessFacts
from monitor.types.gpu import GpuIdentity, GpuLink, GpuSample
from monitor.types.identity import ProcessIdentity
from monitor.types.messages import Ability
from monitor.types.process import HostSample, Pairing, ProcessEnd, ProcessSample
from monitor.types.record import Record
from monitor.types.requests import Watch
from monitor.types.steps import StepEvent


class DriverInfo(Record, frozen=True, kw_only=True):
    """What the driver says of itself and its GPUs; goes into `Hello`."""

    state: str = "ok"
    """ok, absent, failed or released."""
    detail: str = ""
    driver_version: str | None = None
    cuda_version: str | None = None
    gpus: tuple[GpuIdentity, ...] = ()
    links: tuple[GpuLink, ...] = ()
    abilities: tuple[Ability, ...] = ()


class ProcessReading(Record, frozen=True, kw_only=True):
    """One look at the processes."""

    samples: tuple[ProcessSample, ...] = ()
    facts: tuple[ProcessFacts, ...] = ()
    """Of every watched process; unchanged ones are the very same objects as last time."""
    ended: tuple[ProcessEnd, ...] = ()


class TailReading(Record, frozen=True, kw_only=True):
    """The cleaned end of what a process wrote."""

    path: str = ""
    lines: tuple[str, ...] = ()
    skipped_bytes: int = 0
    refused: str = ""


class GpuSource(Protocol):
    """GPUs. No method raises; each may block for as long as a sick driver does, so each is called on its own thread."""

    def open(self) -> DriverInfo:
        """Find the driver and its GPUs. May be called again after `release` or when there was no driver."""

    def info(self) -> DriverInfo:
        """What was found; a new object whenever something changed."""

    def read(self, watch: Watch) -> tuple[GpuSample, ...]:
        """One sample per GPU and MIG instance, in the driver's order. Dear figures only where `watch` shows them."""

    def release(self) -> None:
        """Let go of the GPUs; `open` takes them again."""


class ProcessSource(Protocol):
    """Processes. No method raises."""

    def read(self, gpu_pids: frozenset[int]) -> ProcessReading:
        """Look at the processes that the driver names and at those that train, serve or hold a notebook."""

    def pair(self, gpus: tuple[GpuSample, ...]) -> tuple[Pairing, ...]:
        """Say whom each pid that the driver names belongs to here."""


class HostSource(Protocol):
    """The machine. Does not raise."""

    def read(self, paths: tuple[str, ...]) -> HostSample:
        """Host figures, with the room on the file systems that hold `paths`."""


class StepSource(Protocol):
    """Step counters. No method raises."""

    def read(self, facts: tuple[ProcessFacts, ...]) -> tuple[StepEvent, ...]:
        """What is new in everything these processes write."""

    def tail(self, process: ProcessIdentity, max_bytes: int) -> TailReading:
        """The end of what a process writes."""
