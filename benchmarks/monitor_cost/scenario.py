"""How many GPUs and processes the fake driver shows."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Scenario:
    """A node to look at."""

    name: str
    gpus: int
    processes_per_gpu: int
    columns: int = 160
    rows: int = 50
    cpu_budget_ratio: float = 0.0
    memory_budget_bytes: int = 0
    bytes_budget: int = 0
    full_frame_budget_s: float = 0.0


MIB = 1024**2
SCENARIOS = (
    Scenario("8 GPUs × 1 process", 8, 1, 160, 50, 0.015, 65 * MIB, 5 * 1024, 0.9),
    Scenario("8 GPUs × 20 processes", 8, 20, 160, 50, 0.03, 65 * MIB, 5 * 1024, 0.9),
    Scenario("64 GPUs × 4 processes", 64, 4, 160, 50, 0.08, 110 * MIB, 24 * 1024, 1.2),
)


@contextlib.contextmanager
def processes(count: int) -> Iterator[list[int]]:
    """`count` idle processes whose pids the fake driver can name, so that every monitor finds something in /proc."""
    children = [subprocess.Popen(["sleep", "3600"]) for _ in range(count)]
    try:
        yield [child.pid for child in children]
    finally:
        for child in children:
            child.kill()
        for child in children:
            child.wait()


def environment(library_directory: Path, scenario: Scenario, pids: list[int], calls_file: Path) -> dict[str, str]:
    """The environment in which a command finds the fake driver with this scenario."""
    return {
        **os.environ,
        "LD_LIBRARY_PATH": str(library_directory),
        "FAKE_NVML_GPUS": str(scenario.gpus),
        "FAKE_NVML_PROCESSES": str(scenario.processes_per_gpu),
        "FAKE_NVML_PIDS": ",".join(map(str, pids)),
        "FAKE_NVML_CALLS_FILE": str(calls_file),
    }
