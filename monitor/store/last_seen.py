"""What happened to the GPUs since somebody last looked: differences of counters that go on while nobody watches."""

from __future__ import annotations

from dataclasses import dataclass

from monitor.store.stored import LastSeen
from monitor.types.gpu import GpuSample
from monitor.types.messages import Hello, Snapshot


@dataclass(frozen=True)
class SinceLastSeen:
    """The difference for one GPU. `None` where a counter is missing or has begun anew (a reboot, a reloaded driver)."""

    uuid: str
    seen_s: float
    """Wall clock of the last look."""
    passed_s: float
    """Wall-clock time since then."""
    energy_j: float | None = None
    mean_power_w: float | None = None
    throttle_s: tuple[tuple[str, float], ...] = ()
    """Reasons that held the clocks down meanwhile, each with its seconds."""
    pcie_replays: int | None = None
    ecc_corrected: int | None = None
    ecc_uncorrected: int | None = None
    remapped_rows: int | None = None


def counters(hello: Hello, snapshot: Snapshot) -> tuple[LastSeen, ...]:
    """The counters of every GPU that answers now. Simulated ones are not remembered."""
    if hello.simulated:
        return ()
    return tuple(_of(gpu, hello.boot_id, snapshot.taken_s) for gpu in snapshot.gpus if gpu.state == "ok")


def since(before: tuple[LastSeen, ...], now: tuple[LastSeen, ...]) -> tuple[SinceLastSeen, ...]:
    """What changed, for every GPU that was seen before, in the order of now."""
    known = {gpu.uuid: gpu for gpu in before}
    return tuple(_difference(known[gpu.uuid], gpu) for gpu in now if gpu.uuid in known)


def _of(gpu: GpuSample, boot_id: str, taken_s: float) -> LastSeen:
    ecc = gpu.ecc
    remapped = None if ecc is None else _sum(ecc.remapped_corrected, ecc.remapped_uncorrected)
    return LastSeen(
        uuid=gpu.uuid,
        # The time of the reading, not of the tick: a driver that was slow gave older counters.
        seen_s=gpu.taken_s or taken_s,
        boot_id=boot_id,
        energy_j=gpu.energy_j,
        throttle_s=tuple((each.reason, each.total_s) for each in gpu.throttle_times),
        pcie_replay_count=None if gpu.pcie is None else gpu.pcie.replay_count,
        ecc_corrected=None if ecc is None else ecc.corrected_aggregate,
        ecc_uncorrected=None if ecc is None else ecc.uncorrected_aggregate,
        remapped_rows=remapped,
    )


def _difference(before: LastSeen, now: LastSeen) -> SinceLastSeen:
    passed_s = max(0.0, now.seen_s - before.seen_s)
    # Energy falls back to 0 when the driver is loaded anew; then the other counters of this boot began anew as well.
    same_count = before.boot_id == now.boot_id and not _fell(before.energy_j, now.energy_j)
    energy_j = _rise(before.energy_j, now.energy_j) if same_count else None
    earlier = dict(before.throttle_s) if same_count else {}
    throttled = tuple(
        (reason, rise)
        for reason, total_s in now.throttle_s
        if (rise := _rise(earlier.get(reason), total_s)) is not None and rise > 0
    )
    return SinceLastSeen(
        uuid=now.uuid,
        seen_s=before.seen_s,
        passed_s=passed_s,
        energy_j=energy_j,
        mean_power_w=None if energy_j is None or passed_s <= 0 else energy_j / passed_s,
        throttle_s=throttled,
        pcie_replays=_count(before.pcie_replay_count, now.pcie_replay_count) if same_count else None,
        ecc_corrected=_count(before.ecc_corrected, now.ecc_corrected),
        ecc_uncorrected=_count(before.ecc_uncorrected, now.ecc_uncorrected),
        remapped_rows=_count(before.remapped_rows, now.remapped_rows),
    )


def _rise(before: float | None, now: float | None) -> float | None:
    return None if before is None or now is None or now < before else now - before


def _count(before: int | None, now: int | None) -> int | None:
    return None if before is None or now is None or now < before else now - before


def _fell(before: float | None, now: float | None) -> bool:
    return before is not None and now is not None and now < before


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None and second is None else (first or 0) + (second or 0)
