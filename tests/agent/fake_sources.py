"""Sources that say what a test wants, when it wants, and hang or raise on demand."""

from __future__ import annotations

import threading
from collections.abc import Callable

from monitor.sources import DriverInfo, ProcessReading, TailReading
from monitor.types.facts import ProcessFacts
from monitor.types.gpu import GpuIdentity, GpuProcess, GpuSample
from monitor.types.identity import ProcessIdentity
from monitor.types.process import HostSample, Pairing, ProcessEnd, ProcessSample
from monitor.types.requests import Watch
from monitor.types.steps import StepEvent


def identity(pid: int) -> ProcessIdentity:
    return ProcessIdentity(pid=pid, start_ticks=pid * 10)


def event(pid: int, step: float) -> StepEvent:
    return StepEvent(process=identity(pid), source="step_line", step=step, seen_s=1.0)


class FakeGpus:
    """Two GPUs with one process each. `gate` closed makes `read` hang; `open_gate` the same for `open`."""

    def __init__(self, state: str = "ok") -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.open_gate = threading.Event()
        self.open_gate.set()
        self.error: Exception | None = None
        self.opened = 0
        self.released = 0
        self.watched: list[Watch] = []
        self.current = DriverInfo(
            state=state,
            driver_version="580.1",
            gpus=(GpuIdentity(uuid="GPU-a", index=0, name="A"), GpuIdentity(uuid="GPU-b", index=1, name="A"))
            if state == "ok"
            else (),
        )

    def open(self) -> DriverInfo:
        self.open_gate.wait(10)
        self.opened += 1
        return self.current

    def info(self) -> DriverInfo:
        return self.current

    def read(self, watch: Watch) -> tuple[GpuSample, ...]:
        self.watched.append(watch)
        self.gate.wait(10)
        if self.error is not None:
            raise self.error
        return tuple(
            GpuSample(uuid=uuid, power_w=301.23456, processes=(GpuProcess(pid=pid),))
            for uuid, pid in (("GPU-a", 101), ("GPU-b", 102))
        )

    def release(self) -> None:
        self.released += 1


class FakeProcesses:
    def __init__(self) -> None:
        self.facts: tuple[ProcessFacts, ...] = tuple(
            ProcessFacts(process=identity(pid), mine=True) for pid in (101, 102)
        )
        self.ending: tuple[ProcessEnd, ...] = ()
        self.asked: list[frozenset[int]] = []
        self.gate = threading.Event()
        self.gate.set()

    def read(self, gpu_pids: frozenset[int]) -> ProcessReading:
        self.gate.wait(10)
        self.asked.append(gpu_pids)
        ended, self.ending = self.ending, ()
        gone = {end.process for end in ended}
        self.facts = tuple(fact for fact in self.facts if fact.process not in gone)
        samples = tuple(ProcessSample(process=fact.process, cpu_ratio=0.98765432) for fact in self.facts)
        return ProcessReading(samples=samples, facts=self.facts, ended=ended)

    def pair(self, gpus: tuple[GpuSample, ...]) -> tuple[Pairing, ...]:
        return tuple(
            Pairing(gpu_uuid=gpu.uuid, driver_pid=process.pid, process=identity(process.pid))
            for gpu in gpus
            for process in gpu.processes
        )


class FakeHost:
    def __init__(self) -> None:
        self.paths: list[tuple[str, ...]] = []

    def read(self, paths: tuple[str, ...]) -> HostSample:
        self.paths.append(paths)
        return HostSample(cpu_ratio=0.123456)


class FakeSteps:
    """One event a reading and process, counting up from 1; `on_read` runs first."""

    def __init__(self) -> None:
        self.counts: dict[ProcessIdentity, int] = {}
        self.lines: tuple[str, ...] = ("step 1", "step 2")
        self.read_with: list[tuple[ProcessIdentity, ...]] = []
        self.on_read: Callable[[], None] = lambda: None

    def read(self, facts: tuple[ProcessFacts, ...]) -> tuple[StepEvent, ...]:
        self.on_read()
        self.read_with.append(tuple(fact.process for fact in facts))
        events = []
        for fact in facts:
            self.counts[fact.process] = self.counts.get(fact.process, 0) + 1
            events.append(event(fact.process.pid, self.counts[fact.process]))
        return tuple(events)

    def tail(self, process: ProcessIdentity, max_bytes: int) -> TailReading:
        return TailReading(path="logs/train.err", lines=self.lines)
