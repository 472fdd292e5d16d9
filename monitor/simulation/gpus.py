"""The simulated GPUs as a `GpuSource`."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from monitor.clock import Clock
from monitor.simulation.adopted import AdoptedProcess
from monitor.simulation.board import Board
from monitor.simulation.identities import gpu_identity, gpu_links
from monitor.simulation.noise import seed_of
from monitor.simulation.plans import GpuPlan, Profile
from monitor.simulation.run import SimulatedRun
from monitor.sources import DriverInfo
from monitor.types.gpu import (
    EccCounts,
    GpmActivity,
    GpuProcess,
    GpuSample,
    NvLink,
    PcieLink,
    ThrottleTime,
    XidEvent,
)
from monitor.types.messages import Ability
from monitor.types.record import Missing
from monitor.types.requests import Watch

_OVERHEAD_BYTES = 3 * 1024**2
"""In use on a GPU where nothing runs."""

_LOST_XID = 79
_LOST_SENTENCE = "This GPU has fallen off the bus (XID 79). It comes back with a reboot at the earliest. (simulated)"
_LOST_FIELDS = ("gpu_util_ratio", "memory_used_bytes", "power_w", "temperature_c", "sm_mhz", "processes")
_IDLE_RATIO = 0.005
_PCIE_LANE_BYTES_PER_S = {3: 0.985e9, 4: 1.969e9, 5: 3.938e9}
"""After the PCI-SIG's line rates and encodings."""

_NVLINK_BYTES_PER_J = 1.1e8
"""Traffic is taken to go with the work done, so that its counter only rises."""

_ECC_CLEAN = EccCounts(
    enabled=True,
    corrected_volatile=0,
    uncorrected_volatile=0,
    corrected_aggregate=0,
    uncorrected_aggregate=0,
    remapped_corrected=0,
    remapped_uncorrected=0,
    remap_pending=False,
    remap_failed=False,
)


def _unsupported(*fields: str) -> tuple[Missing, ...]:
    return tuple(Missing(field=field, reason="not_supported") for field in fields)


_MISSING_FAN = _unsupported("fan_ratio")
_MISSING_UNIFIED = _unsupported("fan_ratio", "power_limit_w", "ecc", "memory_temperature_c")
_MISSING_ON_PARENT = _unsupported("gpu_util_ratio", "memory_busy_ratio", "fan_ratio")
_MISSING_IN_MIG = _unsupported(
    "gpu_util_ratio", "memory_busy_ratio", "power_w", "temperature_c", "fan_ratio", "sm_mhz", "memory_mhz"
)


class SimulatedGpus:
    """GPUs of a profile; implements `monitor.sources.GpuSource`."""

    def __init__(
        self,
        profile: Profile,
        seed: int,
        clock: Clock,
        elapsed_s: Callable[[], float],
        runs: Callable[[], tuple[SimulatedRun, ...]],
    ) -> None:
        self._profile = profile
        self._clock = clock
        self._elapsed_s = elapsed_s
        self._runs = runs
        self._adopted: AdoptedProcess | None = None
        self._identities = tuple(gpu_identity(profile, place, seed) for place in range(len(profile.gpus)))
        self._links = gpu_links(profile, self._identities)
        self._seeds = tuple(seed_of(seed, "gpu", place) for place in range(len(profile.gpus)))
        self._boards: tuple[Board, ...] = ()
        self._tenants = _tenants(profile, runs())
        self._slices = tuple(
            tuple(number for number, plan in enumerate(profile.gpus) if plan.slice_of == place)
            for place in range(len(profile.gpus))
        )
        self._lost: dict[int, XidEvent] = {}
        self._released = False
        self._info = self._describe()

    def adopt(self, adopted: AdoptedProcess) -> None:
        """Put a real process on GPU 0."""
        self._adopted = adopted
        self._tenants = _tenants(self._profile, self._runs())

    def open(self) -> DriverInfo:
        """Take the GPUs (again)."""
        if self._released:
            self._released = False
            self._info = self._describe()
        return self._info

    def info(self) -> DriverInfo:
        """A new object once a GPU is lost."""
        return self._info

    def release(self) -> None:
        """Let go of the GPUs."""
        self._released = True
        self._info = DriverInfo(state="released", detail="The simulated GPUs were let go of.")

    def read(self, watch: Watch) -> tuple[GpuSample, ...]:
        """One sample a GPU or MIG slice. PCIe rates and GPM only of the GPUs whose detail is shown."""
        if self._released:
            return ()
        at_s = self._elapsed_s()
        if self._adopted is not None:
            self._adopted.look(at_s)
        if not self._boards:
            self._boards = tuple(self._board(place) for place in range(len(self._profile.gpus)))
        processes = self._processes(at_s)
        shown = frozenset(watch.gpu_uuids) if watch.view == "gpu" else frozenset()
        return tuple(self._sample(place, at_s, processes[place], shown) for place in range(len(self._boards)))

    def _board(self, place: int) -> Board:
        return Board(self._profile.gpus[place], self._seeds[place], lambda at_s: self._load(place, at_s))

    def _load(self, place: int, at_s: float) -> tuple[float, float]:
        """Utilisation and mean intensity of everything on a GPU; of a parent of slices, what its slices do."""
        loads = [run.load(at_s, rank) for run, rank in self._tenants[place]]
        slices = self._slices[place]
        for number in slices:
            util_ratio, intensity = self._load(number, at_s)
            loads.append((util_ratio / len(slices), intensity))
        if place == 0 and self._adopted is not None:
            loads.append(self._adopted.load(at_s))
        total = sum(load[0] for load in loads)
        if total <= 0:
            return 0.0, 0.0
        return min(1.0, total), sum(util * intensity for util, intensity in loads) / total

    def _processes(self, at_s: float) -> list[list[GpuProcess]]:
        """The driver's list for each GPU, never more memory than there is."""
        lists: list[list[GpuProcess]] = [[] for _ in self._profile.gpus]
        for run in self._runs():
            if run.moment(at_s) is None:
                continue
            rank = 0
            for process in run.processes:
                if process.gpu is None:
                    continue
                used_bytes = run.memory_bytes(at_s, rank)
                util_ratio = run.load(at_s, rank)[0]
                rank += 1
                if not used_bytes:
                    continue
                slice_of = self._profile.gpus[process.gpu].slice_of
                lists[process.gpu].append(
                    GpuProcess(
                        pid=process.pid,
                        used_memory_bytes=used_bytes,
                        gpu_util_ratio=None if slice_of is not None else round(min(1.0, util_ratio), 2),
                        gpu_util_age_s=None if slice_of is not None else 0.4,
                        gpu_instance_id=None if slice_of is None else process.gpu - slice_of,
                        compute_instance_id=None if slice_of is None else 0,
                    )
                )
        adopted = self._adopted
        if adopted is not None and adopted.alive:
            model = self._profile.gpus[0].model
            lists[0].append(
                GpuProcess(
                    pid=adopted.pid,
                    used_memory_bytes=adopted.memory_bytes(at_s, model),
                    gpu_util_ratio=round(adopted.load(at_s)[0], 2),
                    gpu_util_age_s=0.4,
                )
            )
        for place, listed in enumerate(lists):
            _fit(self._profile.gpus[place], listed)
        return lists

    def _sample(self, place: int, at_s: float, processes: list[GpuProcess], shown: frozenset[str]) -> GpuSample:
        plan = self._profile.gpus[place]
        if plan.lost_after_s is not None and at_s >= plan.lost_after_s:
            return self._lost_sample(place, plan.lost_after_s, at_s)
        board = self._boards[place]
        board.advance(at_s)
        if plan.slice_of is not None:
            return self._slice_sample(place, processes)
        return self._whole_sample(place, processes, self._identities[place].uuid in shown)

    def _slice_sample(self, place: int, processes: list[GpuProcess]) -> GpuSample:
        """A MIG instance has memory and processes; the driver gives no more of it."""
        plan = self._profile.gpus[place]
        used_bytes, free_bytes, unattributed_bytes = _memory(plan, processes)
        return GpuSample(
            uuid=self._identities[place].uuid,
            taken_s=self._clock.wall_s(),
            memory_total_bytes=plan.model.memory_total_bytes,
            memory_used_bytes=used_bytes,
            memory_free_bytes=free_bytes,
            memory_reserved_bytes=plan.model.memory_reserved_bytes,
            processes=tuple(processes),
            unattributed_bytes=unattributed_bytes,
            missing=_MISSING_IN_MIG,
        )

    def _whole_sample(self, place: int, processes: list[GpuProcess], shown: bool) -> GpuSample:
        plan, board = self._profile.gpus[place], self._boards[place]
        model = plan.model
        used_bytes, free_bytes, unattributed_bytes = _memory(plan, processes)
        return GpuSample(
            uuid=self._identities[place].uuid,
            taken_s=self._clock.wall_s(),
            gpu_util_ratio=None if plan.mig_enabled else round(board.util_ratio, 2),
            memory_busy_ratio=None if plan.mig_enabled else round(board.util_ratio * 0.47, 2),
            memory_total_bytes=model.memory_total_bytes,
            memory_used_bytes=used_bytes,
            memory_free_bytes=free_bytes,
            memory_reserved_bytes=model.memory_reserved_bytes,
            power_w=round(board.power_w, 1),
            power_instant_w=round(board.power_instant_w, 1),
            power_limit_w=None if model.unified_memory else board.limit_w,
            energy_j=round(board.energy_j, 1),
            temperature_c=round(board.temperature_c),
            memory_temperature_c=round(board.temperature_c + 7) if model.nvlink_count else None,
            fan_ratio=board.fan_ratio,
            sm_mhz=board.sm_mhz,
            memory_mhz=model.memory_mhz,
            performance_state=board.performance_state,
            throttle=board.throttle,
            throttle_times=tuple(
                ThrottleTime(reason=reason, total_s=total_s) for reason, total_s in board.throttled_s.items()
            ),
            pcie=_pcie(plan, board, shown),
            nvlink=_nvlink(plan, board),
            ecc=_ECC_CLEAN if model.has_ecc else None,
            recovery_action="none",
            gpm=_gpm(plan, board) if shown and model.compute_capability >= "9" else None,
            processes=tuple(processes),
            unattributed_bytes=unattributed_bytes,
            missing=_missing(plan),
        )

    def _lost_sample(self, place: int, lost_after_s: float, at_s: float) -> GpuSample:
        """What is left of a GPU that fell off the bus."""
        if place not in self._lost:
            lost_s = self._clock.wall_s() - (at_s - lost_after_s)
            self._lost[place] = XidEvent(xid=_LOST_XID, seen_s=lost_s)
            self._info = self._describe()
        event = self._lost[place]
        return GpuSample(
            uuid=self._identities[place].uuid,
            taken_s=self._clock.wall_s(),
            state="lost",
            state_since_s=event.seen_s,
            state_detail=_LOST_SENTENCE,
            recovery_action="reboot",
            xids=(event,),
            processes_known=False,
            missing=tuple(Missing(field=name, reason="lost") for name in _LOST_FIELDS),
        )

    def _describe(self) -> DriverInfo:
        lost = tuple(
            Ability(name=f"GPU {self._identities[place].index}", works=False, detail=_LOST_SENTENCE)
            for place in self._lost
        )
        return DriverInfo(
            driver_version=self._profile.driver_version,
            cuda_version=self._profile.cuda_version,
            gpus=self._identities,
            links=self._links,
            abilities=lost,
        )


def _tenants(profile: Profile, runs: tuple[SimulatedRun, ...]) -> tuple[tuple[tuple[SimulatedRun, int], ...], ...]:
    """Runs, with the rank, by position of the GPU that they use."""
    return tuple(
        tuple((run, rank) for run in runs for rank, gpu in enumerate(run.plan.gpus) if gpu == place)
        for place in range(len(profile.gpus))
    )


def _fit(plan: GpuPlan, processes: list[GpuProcess]) -> None:
    """Cut the last process down to what is left on the GPU, as a failed allocation would."""
    room_bytes = plan.model.memory_total_bytes - plan.model.memory_reserved_bytes - _OVERHEAD_BYTES
    excess_bytes = sum(process.used_memory_bytes or 0 for process in processes) - room_bytes
    if excess_bytes > 0:
        last = processes[-1]
        left_bytes = max(0, (last.used_memory_bytes or 0) - excess_bytes)
        processes[-1] = msgspec.structs.replace(last, used_memory_bytes=left_bytes)


def _memory(plan: GpuPlan, processes: list[GpuProcess]) -> tuple[int, int, int]:
    """Used, free and used by nobody in the list."""
    room_bytes = plan.model.memory_total_bytes - plan.model.memory_reserved_bytes
    listed_bytes = sum(process.used_memory_bytes or 0 for process in processes)
    used_bytes = min(room_bytes, listed_bytes + _OVERHEAD_BYTES)
    return used_bytes, room_bytes - used_bytes, max(0, used_bytes - listed_bytes)


def _missing(plan: GpuPlan) -> tuple[Missing, ...]:
    if plan.mig_enabled:
        return _MISSING_ON_PARENT
    if plan.model.unified_memory:
        return _MISSING_UNIFIED
    return () if plan.model.has_fan else _MISSING_FAN


def _pcie(plan: GpuPlan, board: Board, shown: bool) -> PcieLink:
    model = plan.model
    busy = board.util_ratio >= _IDLE_RATIO
    full_bytes_per_s = _PCIE_LANE_BYTES_PER_S[model.pcie_generation] * 16
    return PcieLink(
        generation=model.pcie_generation if busy else 1,
        width=16,
        replay_count=0,
        received_bytes_per_s=round(full_bytes_per_s * 0.06 * board.util_ratio) if shown else None,
        transmitted_bytes_per_s=round(full_bytes_per_s * 0.02 * board.util_ratio) if shown else None,
    )


def _nvlink(plan: GpuPlan, board: Board) -> NvLink | None:
    model = plan.model
    if not model.nvlink_count:
        return None
    moved_bytes = int(max(0.0, board.energy_j) * _NVLINK_BYTES_PER_J)
    return NvLink(
        link_count=model.nvlink_count,
        active_count=model.nvlink_count,
        link_bytes_per_s=model.nvlink_bytes_per_s,
        received_bytes=moved_bytes,
        transmitted_bytes=moved_bytes,
        error_count=0,
    )


def _gpm(plan: GpuPlan, board: Board) -> GpmActivity:
    util_ratio = board.util_ratio
    link_bytes_per_s = plan.model.nvlink_count * plan.model.nvlink_bytes_per_s
    pcie_bytes_per_s = _PCIE_LANE_BYTES_PER_S[plan.model.pcie_generation] * 16
    return GpmActivity(
        sm_util_ratio=round(util_ratio * 0.9, 3),
        sm_occupancy_ratio=round(util_ratio * 0.34, 3),
        tensor_ratio=round(util_ratio * 0.45, 3),
        dram_ratio=round(util_ratio * 0.52, 3),
        pcie_received_bytes_per_s=round(pcie_bytes_per_s * 0.06 * util_ratio),
        pcie_transmitted_bytes_per_s=round(pcie_bytes_per_s * 0.02 * util_ratio),
        nvlink_received_bytes_per_s=round(link_bytes_per_s * 0.2 * util_ratio) if link_bytes_per_s else None,
        nvlink_transmitted_bytes_per_s=round(link_bytes_per_s * 0.2 * util_ratio) if link_bytes_per_s else None,
    )
