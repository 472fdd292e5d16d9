"""Print a table: traintop, nvitop and gpustat over the same fake driver, with ratios and our budgets."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.monitor_cost.contender import contenders
from benchmarks.monitor_cost.measurement import Measurement, measure
from benchmarks.monitor_cost.scenario import MIB, SCENARIOS, Scenario, processes
from tests.fake_nvml.build_stub import build

ROWS = (
    ("first figures (s)", "first_figures_s", "{:.2f}"),
    ("first full frame (s)", "full_frame_s", "{:.2f}"),
    ("CPU (% of a core)", "cpu_ratio", "{:.2f}"),
    ("memory, PSS (MB)", "memory_bytes", "{:.1f}"),
    ("to the terminal (KB/s)", "bytes_per_s", "{:.2f}"),
    ("driver calls (1/s)", "driver_calls_per_s", "{:.0f}"),
)
SCALE = {"cpu_ratio": 100.0, "memory_bytes": 1 / MIB, "bytes_per_s": 1 / 1024}


def budget(scenario: Scenario, field: str) -> float | None:
    """Our budget for one figure, in the unit of the table."""
    raw = {
        "first_figures_s": 0.3 if scenario.gpus <= 8 else None,
        "full_frame_s": scenario.full_frame_budget_s,
        "cpu_ratio": scenario.cpu_budget_ratio,
        "memory_bytes": scenario.memory_budget_bytes,
        "bytes_per_s": scenario.bytes_budget,
    }.get(field)
    return None if raw is None else raw * SCALE.get(field, 1.0)


def table(scenario: Scenario, results: dict[str, Measurement]) -> str:
    """The figures of one scenario, with the ratio of each peer to traintop."""
    names = list(results)
    lines = [
        f"{scenario.name}, {scenario.columns}×{scenario.rows}",
        f"  {'':24}" + "".join(f"{name:>22}" for name in names) + f"{'budget':>10}",
    ]
    for title, field, form in ROWS:
        cells = []
        ours = getattr(results[names[0]], field)
        for name in names:
            value = getattr(results[name], field)
            if value is None:
                cells.append(f"{'–':>22}")
                continue
            text = form.format(value * SCALE.get(field, 1.0))
            ratio = f" ({value / ours:.1f}×)" if name != names[0] and ours else ""
            cells.append(f"{text + ratio:>22}")
        allowed = budget(scenario, field)
        lines.append(f"  {title:24}" + "".join(cells) + (f"{allowed:>10.2f}" if allowed else f"{'':>10}"))
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="how long to watch each steady state")
    parser.add_argument("--repeats", type=int, default=5, help="how often to start each for the first-frame times")
    parser.add_argument("--only", default="", help="measure only the contender of this name")
    parser.add_argument("--scenario", type=int, default=None, help="measure only this scenario (0, 1, 2)")
    options = parser.parse_args()
    chosen = SCENARIOS if options.scenario is None else (SCENARIOS[options.scenario],)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        library = build(directory).parent
        for scenario in chosen:
            with processes(scenario.gpus * scenario.processes_per_gpu) as pids:
                results = {
                    contender.name: measure(
                        contender, scenario, library, pids, directory, options.repeats, options.seconds
                    )
                    for contender in contenders()
                    if options.only in ("", contender.name)
                }
            print(table(scenario, results), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
