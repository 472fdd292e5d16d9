"""For what share of the time a GPU's clocks were held down, from the driver's cumulative times."""

from __future__ import annotations

from monitor.types.gpu import GpuSample

HARMLESS = frozenset({"idle", "low_utilization", "application_clocks", "display_clocks"})
"""Clocks that are low because nothing runs or because somebody set them so."""


class ThrottleShare:
    """Differences of the counters between two samples of a GPU."""

    def __init__(self) -> None:
        self._before: dict[str, tuple[float, dict[str, float]]] = {}

    def update(self, sample: GpuSample, boot_s: float) -> float | None:
        """The largest share that any one reason had since the sample before, 0 to 1; `None` without two readings.

        Reasons overlap (heat and power at once), so their sum would count time twice; the largest is a lower bound.
        A counter that went back was reset and says nothing this once.
        """
        before = self._before.get(sample.uuid)
        if not sample.throttle_times:
            self._before.pop(sample.uuid, None)
            return None
        totals = {time.reason: time.total_s for time in sample.throttle_times if time.reason not in HARMLESS}
        self._before[sample.uuid] = boot_s, totals
        if before is None or boot_s <= before[0]:
            return None
        shares = [
            (total - before[1][reason]) / (boot_s - before[0])
            for reason, total in totals.items()
            if reason in before[1]
        ]
        if not shares or min(shares) < 0:
            return None
        return min(1.0, max(shares))

    def forget(self, uuid: str) -> None:
        """This GPU is gone."""
        self._before.pop(uuid, None)
