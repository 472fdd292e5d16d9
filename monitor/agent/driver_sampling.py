"""The driver's side of the agent: open it, read it, let go of it and take it again, all on the driver's own thread."""

from __future__ import annotations

from monitor.clock import Clock
from monitor.sources import DriverInfo, GpuSource
from monitor.types.gpu import GpuSample
from monitor.types.requests import Watch

REOPEN_S = 30.0
"""How often a missing driver is looked for again: somebody may load it."""


class DriverSampling:
    """Calls a `GpuSource` in the right order. `read` belongs to one thread; wishes may come from any."""

    def __init__(self, gpus: GpuSource, clock: Clock) -> None:
        self.info: DriverInfo | None = None
        """What the driver said of itself last; `None` until it has answered."""
        self.watch = Watch(view="overview")
        """What is shown now; replaced as a whole."""
        self.wants_release = False
        self._gpus = gpus
        self._clock = clock
        self._released = False
        self._opened_s: float | None = None

    def read(self) -> tuple[GpuSample, ...]:
        """One look at the GPUs; none while they are released or there is no driver."""
        if self.wants_release:
            self._let_go()
            return ()
        self._open_if_needed()
        if self.info is None or self.info.state != "ok":
            return ()
        samples = self._gpus.read(self.watch)
        self.info = self._gpus.info()
        return samples

    def _let_go(self) -> None:
        if self._released:
            return
        self._gpus.release()
        self._released = True
        self._opened_s = None
        # GPUs stay listed: they are still there, only nobody asks them.
        known = self.info or DriverInfo()
        self.info = DriverInfo(
            state="released",
            detail="The GPUs were let go of on request.",
            driver_version=known.driver_version,
            cuda_version=known.cuda_version,
            gpus=known.gpus,
            links=known.links,
            abilities=known.abilities,
        )

    def _open_if_needed(self) -> None:
        now_s = self._clock.boot_s()
        there = self.info is not None and self.info.state == "ok"
        if self._opened_s is not None and (there or now_s - self._opened_s < REOPEN_S):
            return
        self._opened_s = now_s
        self._released = False
        self.info = self._gpus.open()
