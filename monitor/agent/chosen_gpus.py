"""Only the GPUs that the user named, out of all that the driver has."""

from __future__ import annotations

import msgspec

from monitor.chosen_gpus import chosen_gpus
from monitor.sources import DriverInfo, GpuSource
from monitor.types.gpu import GpuSample
from monitor.types.requests import Watch


class ChosenGpus:
    """A `GpuSource` that leaves out what was not named. An index means the driver's order."""

    def __init__(self, inner: GpuSource, names: tuple[str, ...]) -> None:
        self._inner = inner
        self._names = names
        self._from: DriverInfo | None = None
        self._info = DriverInfo()
        self._uuids: frozenset[str] = frozenset()

    def open(self) -> DriverInfo:
        """Find the driver and the named GPUs."""
        return self._narrowed(self._inner.open())

    def info(self) -> DriverInfo:
        """What was found; a new object whenever something changed."""
        return self._narrowed(self._inner.info())

    def read(self, watch: Watch) -> tuple[GpuSample, ...]:
        """One sample of each named GPU."""
        return tuple(sample for sample in self._inner.read(watch) if sample.uuid in self._uuids)

    def release(self) -> None:
        """Let go of the GPUs."""
        self._inner.release()

    def _narrowed(self, info: DriverInfo) -> DriverInfo:
        if info is self._from:
            return self._info
        gpus = chosen_gpus(info.gpus, self._names)
        uuids = frozenset(gpu.uuid for gpu in gpus)
        links = tuple(link for link in info.links if link.uuid_a in uuids and link.uuid_b in uuids)
        self._from, self._uuids = info, uuids
        self._info = msgspec.structs.replace(info, gpus=gpus, links=links)
        return self._info
