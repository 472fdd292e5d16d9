"""What the probe costs a step and a start-up, as figures with and without it: `python -m benchmarks.probe_cost`.

Alternating runs of one small loop, so that a busy machine is busy for both; the medians are what counts.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from statistics import median

from monitor.probe.folder import MARK
from monitor.probe.launch import inject_folder

PAIRS = 5
STARTS = 15
STEPS = 20_000
LOOP = f"""
import time, torch
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=False)
for parameter in model.parameters():
    parameter.grad = torch.zeros_like(parameter)
for _ in range(1000):
    optimizer.step()
pieces = []
for _ in range(20):
    began = time.perf_counter()
    for _ in range({STEPS // 20}):
        optimizer.step()
    pieces.append((time.perf_counter() - began) / {STEPS // 20})
print(sorted(pieces)[len(pieces) // 2] * 1e6)
"""


def environment(folder: str, *, probe: bool) -> dict[str, str]:
    """Ours, with or without the probe."""
    bare = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", MARK)}
    return {**bare, "PYTHONPATH": inject_folder(), MARK: folder} if probe else bare


def step_us(folder: str, *, probe: bool) -> float:
    """Microseconds a step of SGD over four small parameters."""
    argv = [sys.executable, "-W", "ignore", "-c", LOOP]
    done = subprocess.run(argv, env=environment(folder, probe=probe), capture_output=True, text=True, check=True)
    return float(done.stdout)


def start_ms(folder: str, *, probe: bool) -> float:
    """Milliseconds of `python -c pass`."""
    began_s = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], env=environment(folder, probe=probe), check=True)
    return (time.perf_counter() - began_s) * 1e3


def told(what: str, unit: str, without: Sequence[float], with_it: Sequence[float]) -> str:
    """One line of the report."""
    bare, probed = median(without), median(with_it)
    spread = max(without) - min(without)
    difference = f"{probed - bare:+.2f}; bare runs differ by {spread:.2f}"
    return f"{what}: {bare:.2f} {unit} without, {probed:.2f} {unit} with ({difference})"


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:  # made for its user alone
        steps = [(step_us(folder, probe=False), step_us(folder, probe=True)) for _ in range(PAIRS)]
        starts = [(start_ms(folder, probe=False), start_ms(folder, probe=True)) for _ in range(STARTS)]
    print(told("an optimizer step", "µs", *zip(*steps, strict=True)))
    print(told("python -c pass", "ms", *zip(*starts, strict=True)))


if __name__ == "__main__":
    main()
