"""One contender in one scenario: first figures, first full frame, CPU, memory, bytes and driver calls."""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass
from pathlib import Path

from benchmarks.monitor_cost.contender import Contender
from benchmarks.monitor_cost.scenario import Scenario, environment
from benchmarks.process_tree import cpu_s, pss_bytes, tree
from benchmarks.terminal_session import TerminalSession


@dataclass(frozen=True)
class Measurement:
    """What one monitor cost. `None` where it never got there."""

    first_figures_s: float | None
    full_frame_s: float | None
    cpu_ratio: float
    memory_bytes: int
    bytes_per_s: float
    driver_calls_per_s: float | None


def read_calls(path: Path) -> int | None:
    """The sum over all counted driver calls, or `None` when nothing was counted."""
    try:
        lines = path.read_text(encoding="ascii").split("\n")
    except OSError:
        return None
    counts = [
        int(line.rsplit(maxsplit=1)[1]) for line in lines if line.strip() and line.rsplit(maxsplit=1)[1].isdigit()
    ]
    return sum(counts) if counts else None


def start_times(
    contender: Contender, scenario: Scenario, env: dict[str, str], repeats: int
) -> list[tuple[float | None, float | None]]:
    """First figures and first full frame, `repeats` times."""
    times = []
    for _ in range(repeats):
        with TerminalSession(list(contender.argv), env, scenario.columns, scenario.rows) as session:
            first = session.wait_for(contender.first_figures)
            times.append((first, session.wait_for(contender.full_frame)))
    return times


def median(values: list[float | None]) -> float | None:
    """The median of what is known."""
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def measure(
    contender: Contender,
    scenario: Scenario,
    library: Path,
    pids: list[int],
    directory: Path,
    repeats: int,
    seconds: float,
) -> Measurement:
    """Start it `repeats` times for the times, then once more and watch it for `seconds` in its steady state."""
    env = environment(library, scenario, pids, directory / f"calls-{contender.name}")
    times = start_times(contender, scenario, env, repeats)
    calls_file = directory / f"steady-{contender.name}"
    env["FAKE_NVML_CALLS_FILE"] = str(calls_file)
    with TerminalSession(list(contender.argv), env, scenario.columns, scenario.rows) as session:
        session.wait_for(contender.full_frame)
        session.pump(8.0)
        pids_before = tree(session.pid)
        cpu_before, bytes_before, calls_before = cpu_s(pids_before), session.bytes_written, read_calls(calls_file)
        session.pump(seconds)
        pids_now = tree(session.pid)
        cpu_ratio = (cpu_s(pids_now) - cpu_before) / seconds
        memory = pss_bytes(pids_now)
        written = session.bytes_written - bytes_before
        calls_after = read_calls(calls_file)
    calls = None if calls_before is None or calls_after is None else (calls_after - calls_before) / seconds
    return Measurement(
        median([first for first, _ in times]),
        median([full for _, full in times]),
        cpu_ratio,
        memory,
        written / seconds,
        calls,
    )


def as_json(measurement: Measurement) -> str:
    """One line for machines."""
    return json.dumps(measurement.__dict__)
