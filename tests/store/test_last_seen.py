from __future__ import annotations

import msgspec
import pytest

from monitor.store.last_seen import counters, since
from monitor.store.stored import LastSeen
from monitor.types.gpu import EccCounts, GpuSample, PcieLink, ThrottleTime
from monitor.types.messages import Hello, Snapshot

HELLO = Hello(taken_s=0, boot_s=0, boot_id="boot-1")


def look(at_s: float, *gpus: GpuSample, hello: Hello = HELLO) -> tuple[LastSeen, ...]:
    return counters(hello, Snapshot(taken_s=at_s, boot_s=at_s, gpus=gpus))


def gpu(energy_j: float | None, throttled_s: float = 0.0, replays: int = 0, uncorrected: int = 0) -> GpuSample:
    return GpuSample(
        uuid="GPU-a",
        energy_j=energy_j,
        throttle_times=(
            ThrottleTime(reason="power_cap", total_s=throttled_s),
            ThrottleTime(reason="idle", total_s=9.0),
        ),
        pcie=PcieLink(replay_count=replays),
        ecc=EccCounts(uncorrected_aggregate=uncorrected, remapped_corrected=1),
    )


def test_what_went_on_while_nobody_looked() -> None:
    (change,) = since(look(1000.0, gpu(500.0, 1.0, 3, 0)), look(1100.0, gpu(30_500.0, 11.0, 5, 1)))
    assert change.passed_s == 100.0
    assert change.energy_j == 30_000.0
    assert change.mean_power_w == 300.0
    assert change.throttle_s == (("power_cap", 10.0),)
    assert (change.pcie_replays, change.ecc_uncorrected, change.ecc_corrected) == (2, 1, None)
    assert change.remapped_rows == 0


@pytest.mark.parametrize("hello", [msgspec.structs.replace(HELLO, boot_id="boot-2"), HELLO])
def test_counters_that_began_anew_are_unknown_and_not_negative_or_too_small(hello: Hello) -> None:
    energy_j = 700.0 if hello is not HELLO else 100.0  # after a reboot the count may be above the one before
    (change,) = since(look(1000.0, gpu(500.0, 5.0, 9, 2)), look(1100.0, gpu(energy_j, 6.0, 10, 3), hello=hello))
    assert change.energy_j is None
    assert change.mean_power_w is None
    assert change.throttle_s == ()
    assert change.pcie_replays is None
    assert change.ecc_uncorrected == 1, "aggregate counts survive"


def test_unknown_stays_unknown_and_new_gpus_have_no_before() -> None:
    (change,) = since(look(1.0, gpu(None)), look(2.0, gpu(5.0), GpuSample(uuid="GPU-new", energy_j=1.0)))
    assert change.uuid == "GPU-a"
    assert change.energy_j is None


def test_lost_and_simulated_gpus_are_not_remembered() -> None:
    assert look(1.0, GpuSample(uuid="GPU-x", state="lost")) == ()
    assert look(1.0, gpu(1.0), hello=msgspec.structs.replace(HELLO, simulated=True)) == ()


def test_a_clock_that_was_set_back_claims_no_time() -> None:
    (change,) = since(look(1000.0, gpu(1.0)), look(900.0, gpu(2.0)))
    assert change.passed_s == 0.0
    assert change.mean_power_w is None
