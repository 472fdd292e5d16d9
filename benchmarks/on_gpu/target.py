"""The GPU that is measured: the driver opened, and a GPU chosen that nobody else works on."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import os
import platform
import time
from collections.abc import Iterator

from benchmarks.on_gpu.parts import Deadline, Row
from monitor.clean import clean
from monitor.nvml.binding import Answer, Handle, load_binding
from monitor.nvml.calls import Caller
from monitor.nvml.errors import Refusal, opening_sentence
from monitor.nvml.identity import read_uuid
from monitor.nvml.machine import Machine
from monitor.nvml.metrics import MEMORY
from monitor.nvml.processes import ProcessLister
from monitor.nvml.reading import MetricReader

FREE_BYTES = 1 << 30
"""More memory in use than this means that somebody works there whom the driver does not list."""


@dataclasses.dataclass(frozen=True)
class Target:
    """The chosen GPU. `others` are the handles of the other GPUs, for what is asked of pairs."""

    caller: Caller
    machine: Machine
    handle: Handle
    index: int
    uuid: str
    name: str
    others: tuple[Handle, ...] = ()

    def call(self, name: str, *arguments: Answer) -> Answer:
        """A function of the binding that takes this GPU first: its answer, or a `Refusal`."""
        return self.caller.call(name, self.handle, *arguments)


class Opening:
    """Opens the driver. Its rows say what was found; then there is a `target`, or a `sentence` that says why not."""

    def __init__(self, machine: Machine | None = None, index: int | None = None) -> None:
        self.target: Target | None = None
        self.sentence = "The driver was not opened."
        self.is_released = False
        self._machine = machine or Machine()
        self._index = index
        self._caller: Caller | None = None

    def rows(self, _deadline: Deadline) -> Iterator[Row]:
        """Open the driver and choose a GPU."""
        binding = load_binding()
        if isinstance(binding, str):
            self.sentence = binding
            return
        caller = Caller(binding)
        begun_s = time.perf_counter()
        opened = caller.call("nvmlInit")
        took_ms = _ms_since(begun_s)
        if isinstance(opened, Refusal):
            in_container, in_wsl = self._machine.in_container(), self._machine.in_wsl()
            self.sentence = opening_sentence(opened, in_container=in_container, in_wsl=in_wsl)[1]
            return
        self._caller = caller
        yield {"what": "the driver library was opened", "took_ms": took_ms}
        yield {"what": "this machine", **_machine_facts(caller, self._machine)}
        yield from self._choose(caller)

    def close(self) -> None:
        """Let go of the driver, where it was opened."""
        if self._caller is not None and not self.is_released:
            self.is_released = True
            self._caller.call("nvmlShutdown")

    def _choose(self, caller: Caller) -> Iterator[Row]:
        count = caller.call("nvmlDeviceGetCount")
        if isinstance(count, Refusal):
            self.sentence = f"The driver does not say how many GPUs it has: {count.sentence}"
            return
        handles: dict[int, Handle] = {}
        refusal = ""
        candidates: list[tuple[bool, Target]] = []
        for index in range(min(int(count), 64)):
            begun_s = time.perf_counter()
            handle = caller.call("nvmlDeviceGetHandleByIndex", index)
            took_ms = _ms_since(begun_s)
            uuid = handle if isinstance(handle, Refusal) else read_uuid(caller, handle)
            if isinstance(uuid, Refusal):
                refusal = f"No GPU answers. {uuid.sentence}"
                yield {"what": "a GPU", "index": index, "refused": uuid.sentence}
                continue
            name = caller.call("nvmlDeviceGetName", handle)
            text = f"GPU {index}" if isinstance(name, Refusal) else clean(name, 96)
            handles[index] = handle
            busy = occupied(caller, handle, self._machine)
            yield {"what": "a GPU", "index": index, "name": text, "uuid": uuid, "handle_ms": took_ms, "in_use": busy}
            if self._index is None or self._index == index:
                candidates.append((bool(busy), Target(caller, self._machine, handle, index, uuid, text)))
        if not candidates:
            if self._index is not None:
                self.sentence = f"There is no GPU {self._index} here that answers."
            else:
                self.sentence = refusal or "The NVIDIA driver works but offers no GPU here."
            return
        chosen = min(candidates, key=lambda candidate: (candidate[0], candidate[1].index))[1]
        others = tuple(handle for index, handle in handles.items() if index != chosen.index)
        self.target = dataclasses.replace(chosen, others=others)
        yield {"what": "the GPU that is measured", "index": chosen.index, "name": chosen.name}


def occupied(caller: Caller, handle: Handle, machine: Machine) -> str:
    """Why somebody seems to work on this GPU, as a sentence; empty when it is free."""
    memory = MetricReader(caller, (MEMORY,))
    memory.read(handle, 0.0)
    listed = ProcessLister(caller, machine.pid_max()).read(handle, memory.values.get("memory_total_bytes"), 0.0)
    if listed.claims:
        return f"{len(listed.claims)} processes are on it."
    if listed.refusal is not None:
        return f"Its processes cannot be listed. {listed.refusal.sentence}"
    used = memory.values.get("memory_used_bytes")
    if used is None:
        return "The driver does not say how much of its memory is in use."
    return f"{used / 2**20:.0f} MiB of its memory are in use." if used > FREE_BYTES else ""


def _machine_facts(caller: Caller, machine: Machine) -> Row:
    versions = {
        "driver": caller.call("nvmlSystemGetDriverVersion"),
        "nvml": caller.call("nvmlSystemGetNVMLVersion"),
    }
    cuda = caller.call("nvmlSystemGetCudaDriverVersion_v2")
    try:
        binding: str | None = importlib.metadata.version("nvidia-ml-py")
    except importlib.metadata.PackageNotFoundError:
        binding = None
    return {
        **{name: None if isinstance(text, Refusal) else clean(text, 64) for name, text in versions.items()},
        "cuda": None if isinstance(cuda, Refusal) else cuda,
        "binding": binding,
        "python": platform.python_version(),
        "kernel": clean(platform.release(), 96),
        "processor": platform.machine(),
        "as_root": os.geteuid() == 0,
        "in_container": machine.in_container(),
        "in_wsl": machine.in_wsl(),
    }


def _ms_since(begun_s: float) -> float:
    return round((time.perf_counter() - begun_s) * 1000, 3)
