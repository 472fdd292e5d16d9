"""A driver over a fake library, with a clock turned by hand."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from monitor.clock import ManualClock
from monitor.nvml.driver import Driver
from monitor.nvml.machine import Machine
from monitor.types.gpu import GpuSample
from monitor.types.requests import Watch
from tests.fake_nvml.gpu import FakeGpu
from tests.fake_nvml.library import FakeLibrary, installed

OVERVIEW = Watch(view="overview")


def run_at_once(work: Callable[[], None]) -> None:
    """In place of a thread."""
    work()


class Bench:
    """The driver under test, its fake library and its clock."""

    def __init__(self, library: FakeLibrary, root: Path, *, with_events: bool = False) -> None:
        self.library = library
        self.clock = ManualClock()
        self.driver = Driver(self.clock, machine=Machine(str(root)), start_thread=run_at_once, with_events=with_events)
        self.info = self.driver.open()

    def read(self, watch: Watch = OVERVIEW, after_s: float = 0.0) -> tuple[GpuSample, ...]:
        """One tick."""
        self.clock.advance(after_s)
        return self.driver.read(watch)

    def missing(self, sample: GpuSample) -> dict[str, str]:
        """Field → reason."""
        return {entry.field: entry.reason for entry in sample.missing}


@contextlib.contextmanager
def bench(
    root: Path,
    *gpus: FakeGpu,
    generation: str = "580",
    without: tuple[str, ...] = (),
    with_events: bool = False,
    prepare: Callable[[FakeLibrary], None] = lambda library: None,
) -> Iterator[Bench]:
    """A driver that has opened a fake library with these GPUs."""
    library = FakeLibrary(list(gpus), generation, without)
    prepare(library)
    with installed(library):
        made = Bench(library, root, with_events=with_events)
        try:
            yield made
        finally:
            library.hang = None
            made.driver.release()


def write_meminfo(root: Path, total_kib: int, available_kib: int) -> None:
    """A /proc/meminfo below `root`."""
    folder = root / "proc"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "meminfo").write_text(f"MemTotal: {total_kib} kB\nMemFree: 1 kB\nMemAvailable: {available_kib} kB\n")
