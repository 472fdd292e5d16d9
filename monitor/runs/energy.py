"""Energy of runs while watched: of GPUs that one run had for itself."""

from __future__ import annotations

from collections.abc import Mapping, Set

from monitor.types.gpu import GpuSample

MAX_GAP_S = 15.0
"""Longer silences were not watched: their energy is not claimed."""


class EnergyMeter:
    """Adds up, per run, what its GPUs drew. Once one of them was shared or silent, the sum is unknown for good."""

    def __init__(self) -> None:
        self._before: dict[str, tuple[float, float | None, float | None]] = {}
        self._sums_j: dict[str, float] = {}
        self._void: set[str] = set()

    def update(self, gpus: tuple[GpuSample, ...], holders: Mapping[str, frozenset[str]], boot_s: float) -> None:
        """Take one tick. `holders` names the runs on each GPU."""
        for gpu in gpus:
            before = self._before.get(gpu.uuid)
            self._before[gpu.uuid] = boot_s, gpu.energy_j, gpu.power_w
            runs = holders.get(gpu.uuid, frozenset())
            if len(runs) != 1:
                self._void.update(runs)
                continue
            (run_id,) = runs
            if before is None or not 0 < boot_s - before[0] <= MAX_GAP_S:
                continue
            drawn_j = _drawn_j(before, gpu, boot_s)
            if drawn_j is None:
                self._void.add(run_id)
            else:
                self._sums_j[run_id] = self._sums_j.get(run_id, 0.0) + drawn_j

    def energy_j(self, run_id: str) -> float | None:
        """Joules since watching began; `None` where nothing was measured or a GPU was shared."""
        return None if run_id in self._void else self._sums_j.get(run_id)

    def keep(self, run_ids: Set[str]) -> None:
        """Forget all other runs."""
        self._void &= run_ids
        for run_id in self._sums_j.keys() - run_ids:
            del self._sums_j[run_id]


def _drawn_j(before: tuple[float, float | None, float | None], gpu: GpuSample, boot_s: float) -> float | None:
    """By the driver's counter where it has one, else the mean of two powers over the time between."""
    then_s, energy_j, power_w = before
    if energy_j is not None and gpu.energy_j is not None and gpu.energy_j >= energy_j:
        return gpu.energy_j - energy_j
    if power_w is None or gpu.power_w is None:
        return None
    return (power_w + gpu.power_w) / 2 * (boot_s - then_s)
