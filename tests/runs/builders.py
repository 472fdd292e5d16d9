"""Small messages for tests of runs. All names and figures are invented."""

from __future__ import annotations

from monitor.types.facts import Container, EnvironmentVariable, OpenFile, ProcessFacts
from monitor.types.gpu import GpuProcess, GpuSample
from monitor.types.identity import ProcessIdentity
from monitor.types.messages import Facts, Hello, Snapshot
from monitor.types.process import Pairing, ProcessEnd, ProcessSample
from monitor.types.steps import StepEvent, StepValue

WALL_S = 1_800_000_000.0
GIB = 1024**3
SHELL = ProcessIdentity(pid=50, start_ticks=50)


def who(pid: int) -> ProcessIdentity:
    return ProcessIdentity(pid=pid, start_ticks=pid)


def process(
    pid: int,
    command: str,
    kind: str = "training",
    parent: int | ProcessIdentity | None = None,
    user: str = "ann",
    mine: bool = True,
    env: dict[str, str] | None = None,
    files: tuple[OpenFile, ...] = (),
    container: Container | None = None,
    cwd: str = "/home/ann/project",
    name: str = "python",
) -> ProcessFacts:
    return ProcessFacts(
        process=who(pid),
        name=name,
        parent=who(parent) if isinstance(parent, int) else parent or SHELL,
        user=user,
        mine=mine,
        argv=tuple(command.split()),
        cwd=cwd,
        environment=tuple(EnvironmentVariable(name=key, value=value) for key, value in sorted((env or {}).items())),
        started_s=WALL_S + pid / 100,
        open_files=files,
        container=container,
        kind=kind,
    )


def step(pid: int, at: float, total: float | None = 1000, seen: float = 0.0, **more: object) -> StepEvent:
    fields: dict[str, object] = {
        "process": who(pid),
        "source": "step_line",
        "where": "stdout → train.log",
        "step": at,
        "total": total,
        "seen_s": WALL_S + seen,
        "confidence": 0.9,
        "values": (StepValue(name="loss", value=2.0),),
        **more,
    }
    return StepEvent(**fields)  # type: ignore[arg-type]


class Node:
    """A machine whose processes, GPUs and events a test sets; `tick` makes the next snapshot."""

    def __init__(self, *facts: ProcessFacts) -> None:
        self.facts: dict[int, ProcessFacts] = {fact.process.pid: fact for fact in facts}
        self.states: dict[int, str] = {}
        self.on_gpu: dict[int, tuple[str, ...]] = {}
        self.inferred: set[int] = set()
        self.unknown_memory: set[int] = set()
        self.extra_pairings: tuple[Pairing, ...] = ()
        self.gpus: tuple[str, ...] = tuple(f"GPU-{index}" for index in range(8))
        self.power_w: float | None = 300.0
        self.boot_s = 1000.0

    def hello(self, boot_id: str = "boot-one") -> Hello:
        return Hello(taken_s=WALL_S + self.boot_s, boot_s=self.boot_s, boot_id=boot_id, host="node07")

    def told(self) -> Facts:
        return Facts(taken_s=WALL_S + self.boot_s, boot_s=self.boot_s, processes=tuple(self.facts.values()))

    def end(self, *pids: int, tail: tuple[str, ...] = (), oom_kills: int | None = None) -> tuple[ProcessEnd, ...]:
        for pid in pids:
            self.facts.pop(pid)
            self.on_gpu.pop(pid, None)
        return tuple(
            ProcessEnd(process=who(pid), seen_s=WALL_S + self.boot_s, tail=tail, host_oom_kills=oom_kills)
            for pid in pids
        )

    def tick(self, *events: StepEvent, ended: tuple[ProcessEnd, ...] = (), seconds: float = 1.0) -> Snapshot:
        self.boot_s += seconds
        held: dict[str, list[int]] = {uuid: [] for uuid in self.gpus}
        for pid, uuids in self.on_gpu.items():
            for uuid in uuids:
                held[uuid].append(pid)
        pairings = tuple(
            Pairing(
                gpu_uuid=uuid, driver_pid=pid, process=who(pid), how="inferred" if pid in self.inferred else "same_pid"
            )
            for uuid, pids in held.items()
            for pid in pids
        )
        return Snapshot(
            taken_s=WALL_S + self.boot_s,
            boot_s=self.boot_s,
            gpus=tuple(
                GpuSample(
                    uuid=uuid,
                    power_w=self.power_w,
                    processes=tuple(
                        GpuProcess(pid=pid, used_memory_bytes=None if pid in self.unknown_memory else 10 * GIB)
                        for pid in pids
                    ),
                )
                for uuid, pids in held.items()
            ),
            processes=tuple(
                ProcessSample(
                    process=fact.process,
                    parent_pid=0 if fact.parent is None else fact.parent.pid,
                    state=self.states.get(pid, "R"),
                    cpu_ratio=1.0,
                    rss_bytes=GIB,
                )
                for pid, fact in self.facts.items()
            ),
            pairings=pairings + self.extra_pairings,
            steps=tuple(events),
            ended=ended,
        )
