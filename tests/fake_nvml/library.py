"""A driver library in Python, put where the binding keeps its CDLL: real binding, real structs, invented driver.

It counts calls inside, refuses, loses GPUs, sleeps and hangs as a test asks.
"""

from __future__ import annotations

import contextlib
import ctypes
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pynvml

from tests.fake_nvml.functions import OF_DEVICE, FakeFunctions
from tests.fake_nvml.generations import GENERATIONS, Generation
from tests.fake_nvml.gpu import FIRST_GPU, FIRST_INSTANCE, INSTANCES, INVALID, LOST, FakeGpu


class FakeLibrary:
    """The library as the binding sees it."""

    def __init__(self, gpus: list[FakeGpu], generation: str = "580", without: tuple[str, ...] = ()) -> None:
        self.gpus = gpus
        for index, gpu in enumerate(gpus):
            if gpu.index != index:
                gpu.index = index
                gpu.uuid = b"GPU-00000000-0000-4000-8000-%012d" % index
                gpu.bus_id = b"00000000:%02X:00.0" % (0x10 + index)
        self.generation: Generation = GENERATIONS[generation]
        self.without = frozenset(without) | self.generation.missing
        self.refused: dict[str, int] = {}
        self.handle_refused: dict[int, int] = {}
        self.calls: Counter[str] = Counter()
        self.sleep_s = 0.0
        self.hang: threading.Event | None = None
        """While set to an event, calls block until it is set."""
        self.events: queue.Queue[tuple[int, int]] = queue.Queue()
        """(GPU index, XID)"""
        self.registered: list[int] = []
        self.is_open = False
        self.use_asked_since: list[int] = []

    def __getattr__(self, name: str) -> Callable[..., int]:
        if not name.startswith("nvml") or name in self.without:
            raise AttributeError(name)
        method = getattr(FakeFunctions, name, None)
        if method is None:
            raise AttributeError(name)
        of_device = name in OF_DEVICE

        def call(*arguments: Any) -> int:
            self.calls[name] += 1
            if self.hang is not None:
                self.hang.wait()
            if self.sleep_s:
                time.sleep(self.sleep_s)
            code = self.refused.get(name)
            if not of_device:
                return code if code is not None else int(method(self, *arguments))
            gpu = self.target(arguments[0])
            if gpu is None:
                return INVALID
            if gpu.lost or (gpu.parent is not None and gpu.parent.lost):
                return LOST
            code = gpu.refused.get(name, gpu.refused.get("*", code))
            return code if code is not None else int(method(self, gpu, *arguments[1:]))

        return call

    def target(self, handle: Any) -> FakeGpu | None:
        """The GPU or instance behind a handle."""
        number = ctypes.cast(handle, ctypes.c_void_p).value or 0
        if number >= FIRST_INSTANCE:
            gpu, part = divmod(number - FIRST_INSTANCE, INSTANCES)
            return self.gpus[gpu].instances[part] if part < len(self.gpus[gpu].instances) else None
        index = number - FIRST_GPU
        return self.gpus[index] if 0 <= index < len(self.gpus) else None


@contextlib.contextmanager
def installed(library: FakeLibrary) -> Iterator[FakeLibrary]:
    """The library stands where the binding keeps its CDLL; afterwards all is as before."""
    before = pynvml.nvmlLib, dict(pynvml._nvmlGetFunctionPointer_cache), pynvml._nvmlLib_refcount
    pynvml.nvmlLib = library
    pynvml._nvmlGetFunctionPointer_cache.clear()
    try:
        yield library
    finally:
        pynvml.nvmlLib, cache, pynvml._nvmlLib_refcount = before
        pynvml._nvmlGetFunctionPointer_cache.clear()
        pynvml._nvmlGetFunctionPointer_cache.update(cache)


@contextlib.contextmanager
def no_library() -> Iterator[None]:
    """No driver library can be loaded, whatever this machine has."""
    before = pynvml.nvmlLib, dict(pynvml._nvmlGetFunctionPointer_cache), pynvml.CDLL

    def refuse(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    pynvml.nvmlLib, pynvml.CDLL = None, refuse
    pynvml._nvmlGetFunctionPointer_cache.clear()
    try:
        yield
    finally:
        pynvml.nvmlLib, cache, pynvml.CDLL = before
        pynvml._nvmlGetFunctionPointer_cache.clear()
        pynvml._nvmlGetFunctionPointer_cache.update(cache)
