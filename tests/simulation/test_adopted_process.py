from __future__ import annotations

from pathlib import Path

import pytest

from monitor.clock import ManualClock
from monitor.simulation.adopted import AdoptedProcess
from monitor.simulation.models import H100
from monitor.simulation.node import SimulatedNode
from monitor.simulation.profiles import EIGHT
from monitor.simulation.run import PID_FLOOR
from monitor.types.requests import Watch

WATCH = Watch(view="overview")
PID = 4711


class InventedProc:
    """A /proc with one process whose CPU time is set by hand."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cpu_s = 0.0
        (root / str(PID)).mkdir()
        self.write()

    def write(self, state: str = "S", start_ticks: int = 900) -> None:
        ticks = int(self.cpu_s * 100)
        fields = f"{PID} (train ) er) {state} 1 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 2 0 {start_ticks} 0 0"
        (self.root / str(PID) / "stat").write_text(fields)

    def use(self, cpu_s: float) -> None:
        self.cpu_s += cpu_s
        self.write()


@pytest.fixture
def proc(tmp_path: Path) -> InventedProc:
    return InventedProc(tmp_path)


def settled(proc: InventedProc, busy_s: int = 8) -> AdoptedProcess:
    adopted = AdoptedProcess(PID, str(proc.root))
    for at_s in range(busy_s):
        adopted.look(float(at_s))
        proc.use(0.1)
    return adopted


def test_utilisation_follows_what_the_process_computes(proc: InventedProc) -> None:
    adopted = settled(proc)
    adopted.look(8.0)
    training = adopted.load(8.0)[0]
    memory = adopted.memory_bytes(8.0, H100)
    proc.use(0.03)
    adopted.look(9.0)
    assert training > 0.85
    assert adopted.load(9.0)[0] < 0.4
    assert adopted.memory_bytes(9.0, H100) > memory
    proc.use(0.1)
    adopted.look(10.0)
    assert adopted.load(10.0)[0] > 0.85
    assert adopted.memory_bytes(10.0, H100) > memory


@pytest.mark.parametrize("change", ["zombie", "reused", "gone"])
def test_a_process_that_is_gone_leaves_its_gpu_empty(proc: InventedProc, change: str) -> None:
    adopted = settled(proc)
    if change == "gone":
        (proc.root / str(PID) / "stat").unlink()
    else:
        proc.write(state="Z" if change == "zombie" else "S", start_ticks=901 if change == "reused" else 900)
    adopted.look(9.0)
    assert not adopted.alive
    assert adopted.load(9.0) == (0.0, 0.0)
    assert adopted.memory_bytes(9.0, H100) == 0


def test_without_proc_it_counts_as_busy(tmp_path: Path) -> None:
    adopted = AdoptedProcess(PID, str(tmp_path / "none"))
    adopted.look(0.0)
    assert adopted.alive
    assert adopted.load(0.0)[0] > 0.8


def test_adopting_replaces_the_stand_in_on_gpu_0() -> None:
    import os

    clock = ManualClock()
    node = SimulatedNode(EIGHT, 1, clock)
    assert any(run.plan.stand_in for run in node.runs())
    node.adopt(os.getpid())
    gpus = node.gpus.read(WATCH)
    assert [process.pid for process in gpus[0].processes] == [os.getpid()]
    assert all(process.pid >= PID_FLOOR for gpu in gpus[1:] for process in gpu.processes)
    assert not any("demo-mlp" in fact.argv for fact in node.processes(None).read(frozenset()).facts)
