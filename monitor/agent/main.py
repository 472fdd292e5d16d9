"""The agent as a process: real sources (or simulated ones) put together, and an end that nothing can hold up."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass

from monitor.agent.abilities import host_abilities
from monitor.agent.agent import Agent
from monitor.agent.chosen_gpus import ChosenGpus
from monitor.agent.courtesy import step_back
from monitor.agent.options import AgentOptions
from monitor.agent.outbox import descriptor_writer, widen_pipe
from monitor.clock import Clock, SystemClock
from monitor.sources import GpuSource, HostSource, ProcessSource, StepSource

STDIN = 0
STDOUT = 1


@dataclass(frozen=True)
class Sources:
    """One of each."""

    gpus: GpuSource
    processes: ProcessSource
    host: HostSource
    steps: StepSource


def build_sources(options: AgentOptions, clock: Clock) -> Sources:
    """This machine's sources; with a demo profile, its simulated GPUs and runs beside the real processes.

    Raises:
        KeyError: there is no such profile (the command line has checked that).
    """
    # Imported here: an agent loads only what it uses, and each of these is bounded by its own budget.
    from monitor.processes.host import HostReader
    from monitor.processes.reader import ProcessReader
    from monitor.steps.reader import StepReader

    own_pids = options.own_pids | {os.getpid()}
    processes: ProcessSource = ProcessReader(clock, own_pids, asked_pids=options.asked_pids)
    steps: StepSource = StepReader(clock)
    host: HostSource = HostReader(clock)
    if options.demo_profile is None:
        from monitor.nvml.driver import Driver

        gpus: GpuSource = Driver(clock)
    else:
        from monitor.simulation.node import SimulatedNode
        from monitor.simulation.profiles import PROFILES

        node = SimulatedNode(PROFILES[options.demo_profile], options.demo_seed, clock)
        if options.demo_trainer_pid is not None:
            node.adopt(options.demo_trainer_pid)
        gpus, processes, host, steps = node.gpus, node.processes(processes), node.host(host), node.steps(steps)
    if options.gpus:
        gpus = ChosenGpus(gpus, options.gpus)
    return Sources(gpus=gpus, processes=processes, host=host, steps=steps)


def run_agent(options: AgentOptions, tidy: Callable[[], None] = lambda: None) -> int:
    """Be the agent: the stream on stdout, requests on stdin. Exits instead of returning, after a quick `tidy`."""
    step_back()
    clock = SystemClock()
    stream = _taken_stdout()
    widen_pipe(stream)
    sources = build_sources(options, clock)
    agent = Agent(
        sources.gpus,
        sources.processes,
        sources.host,
        sources.steps,
        clock,
        options.interval_s,
        descriptor_writer(stream),
        requests_descriptor=STDIN,
        version=options.version,
        simulated=options.demo_profile is not None,
        abilities=host_abilities(),
    )
    status = agent.run()
    tidy()
    # No interpreter shutdown: a thread that hangs in the driver would keep it from ending, and nothing is left to tidy.
    sys.stderr.flush()
    os._exit(status)


def _taken_stdout() -> int:
    """A descriptor for the stream that nobody else has; whatever a library prints to stdout goes to stderr instead."""
    stream = os.dup(STDOUT)
    os.dup2(sys.stderr.fileno() if sys.stderr is not None else STDOUT, STDOUT)
    return stream
