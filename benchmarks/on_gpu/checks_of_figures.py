"""Checks of memory, energy, power, utilisation, throttle counters and PCIe."""

from __future__ import annotations

import contextlib
import itertools
import statistics
import time

from benchmarks.on_gpu.assumptions import Check, NoAnswer, Observed, Subject, judged, steps_between_changes_s, unknown
from monitor.nvml.metrics import MEMORY_VERSION_2

_MIB = 1 << 20
_CLOSE_BYTES = 64 * _MIB
"""Two readings of memory in use that are this near are the same; others may allocate between them."""
_THROTTLE_FIELDS = (74, 75, 76, 77, 78, 79, 81, 269, 270, 271)


def _memory_adds_up(subject: Subject) -> Observed:
    info = subject.ask("nvmlDeviceGetMemoryInfo", MEMORY_VERSION_2)
    rest = info.total - info.reserved - info.used - info.free
    parts = f"total {info.total}, reserved {info.reserved}, used {info.used}, free {info.free} bytes"
    return judged(rest == 0, f"{parts}; {rest} bytes are in none of the parts")


def _memory_versions_agree(subject: Subject) -> Observed:
    old = subject.ask("nvmlDeviceGetMemoryInfo")
    new = subject.ask("nvmlDeviceGetMemoryInfo", MEMORY_VERSION_2)
    off = old.used - (new.used + new.reserved)
    is_rest = old.used == old.total - old.free
    text = f"version 1 says {off / _MIB:+.1f} MiB beside used and reserved of version 2; total less free: {is_rest}"
    return judged(is_rest and abs(off) <= _CLOSE_BYTES, text)


def _memory_is_cheap(subject: Subject) -> Observed:
    taken_ms: list[float] = []
    for _ in range(50):
        begun_s = time.perf_counter()
        subject.ask("nvmlDeviceGetMemoryInfo", MEMORY_VERSION_2)
        taken_ms.append((time.perf_counter() - begun_s) * 1000)
    median_ms = statistics.median(taken_ms)
    return judged(median_ms < 5, f"median {median_ms:.3f} ms, longest {max(taken_ms):.3f} ms of 50")


def _energy_j(subject: Subject) -> float:
    return float(subject.ask("nvmlDeviceGetTotalEnergyConsumption")) / 1000


def _energy_never_falls(subject: Subject) -> Observed:
    seen = subject.watch(lambda: _energy_j(subject), 0.05)
    falls = sum(1 for before, after in itertools.pairwise(seen) if after[1] < before[1])
    return judged(falls == 0, f"{falls} falls in {len(seen)} readings; {seen[-1][1] - seen[0][1]:.2f} J in all")


def _energy_is_power_times_time(subject: Subject) -> Observed:
    powers_w: list[float] = []

    def both() -> float:
        powers_w.append(float(subject.ask("nvmlDeviceGetPowerUsage")) / 1000)
        return _energy_j(subject)

    seen = subject.watch(both, 0.02)
    seconds = seen[-1][0] - seen[0][0]
    if seconds <= 0 or seen[-1][1] == seen[0][1]:
        return unknown(f"the counter stood still for {seconds:.1f} s")
    from_energy_w = (seen[-1][1] - seen[0][1]) / seconds
    mean_w = statistics.fmean(powers_w)
    text = f"{from_energy_w:.1f} W from energy, {mean_w:.1f} W mean of {len(powers_w)} readings of power"
    return judged(abs(from_energy_w - mean_w) <= 0.15 * max(mean_w, 1.0), text)


def _energy_updates(subject: Subject) -> Observed:
    steps = steps_between_changes_s(subject.watch(lambda: _energy_j(subject), 0.002))
    if not steps:
        return unknown("no two changes were seen")
    step_ms = statistics.median(steps) * 1000
    return judged(step_ms <= 250, f"a new value every {step_ms:.0f} ms (median of {len(steps)})")


def _energy_fields_agree(subject: Subject) -> Observed:
    figures: list[str] = []
    nearby = True
    energy_j = _energy_j(subject)
    for number in (83, 191):
        try:
            field_j = float(subject.field(number)) / 1000
        except NoAnswer as refusal:
            figures.append(str(refusal))
            continue
        figures.append(f"field {number} {field_j - energy_j:+.2f} J")
        nearby = nearby and abs(field_j - energy_j) < max(200.0, 1e-3 * energy_j)
    return judged(nearby, f"beside the call's {energy_j:.1f} J: {', '.join(figures)}")


def _power_call_is_the_average(subject: Subject) -> Observed:
    """Which of the two fields the old call follows: it is watched while power moves, and the nearer one is named."""
    to_average: list[float] = []
    to_instant: list[float] = []

    def look() -> float:
        usage_w = float(subject.ask("nvmlDeviceGetPowerUsage")) / 1000
        to_average.append(abs(float(subject.field(185)) / 1000 - usage_w))
        to_instant.append(abs(float(subject.field(186)) / 1000 - usage_w))
        return usage_w

    subject.watch(look, 0.05)
    average_w, instant_w = statistics.fmean(to_average), statistics.fmean(to_instant)
    text = f"in the mean the call is {average_w:.2f} W from field 185 (average), {instant_w:.2f} W from 186 (instant)"
    if abs(average_w - instant_w) < 0.5:
        return unknown(text + ": power moves too little to tell")
    return judged(average_w < instant_w, text)


def _utilisation_updates(subject: Subject) -> Observed:
    seen = subject.watch(lambda: float(subject.ask("nvmlDeviceGetUtilizationRates").gpu), 0.005)
    inside = all(0 <= value <= 100 for _at, value in seen)
    steps = steps_between_changes_s(seen)
    span = f"between {min(value for _at, value in seen):.0f} and {max(value for _at, value in seen):.0f} %"
    if not inside:
        return judged(False, span)
    if not steps:
        return unknown(f"{span}; no two changes were seen")
    shortest_ms = min(steps) * 1000
    return judged(
        100 <= shortest_ms <= 1100,
        f"{span}; changes at least {shortest_ms:.0f} ms apart, median {statistics.median(steps) * 1000:.0f} ms",
    )


def _throttle_counters(subject: Subject) -> Observed:
    before: dict[int, float] = {}
    begun_s = time.monotonic()
    for number in _THROTTLE_FIELDS:
        with contextlib.suppress(NoAnswer):
            before[number] = subject.field(number)
    if not before:
        return unknown("the driver gives none of these fields")
    time.sleep(min(subject.watch_s, subject.deadline.remaining_s))
    shares: dict[int, float] = {}
    for number, value in before.items():
        change = subject.field(number) - value
        shares[number] = change / ((time.monotonic() - begun_s) * 1e9)
    text = ", ".join(f"{number}: {share:.1%}" for number, share in shares.items())
    ok = all(0 <= share <= 1.1 for share in shares.values())
    return judged(ok, f"growth as a share of the time, taken as ns: {text}")


def _pcie_call_blocks(subject: Subject) -> Observed:
    taken_ms: list[float] = []
    rates: list[int] = []
    for counter in (0, 1, 0, 1):
        begun_s = time.perf_counter()
        rates.append(int(subject.ask("nvmlDeviceGetPcieThroughput", counter)))
        taken_ms.append((time.perf_counter() - begun_s) * 1000)
    median_ms = statistics.median(taken_ms)
    text = f"median {median_ms:.1f} ms of 4; it said {rates} KB/s (sent, received, sent, received)"
    return judged(10 <= median_ms <= 60, text)


def _pcie_byte_counters(subject: Subject) -> Observed:
    before = {number: subject.field(number) for number in (197, 198)}
    begun_s = time.monotonic()
    time.sleep(min(subject.watch_s, subject.deadline.remaining_s))
    rates = {number: (subject.field(number) - value) / (time.monotonic() - begun_s) for number, value in before.items()}
    text = ", ".join(f"{number}: {rate:.0f} per s" for number, rate in rates.items())
    return judged(all(rate >= 0 for rate in rates.values()), f"they answer and grow by {text}")


CHECKS = (
    Check("memory adds up", "version 2: total is reserved and used and free together", _memory_adds_up),
    Check(
        "memory of version 1 holds the reserve",
        "version 1: used is total less free, and is used and reserved of version 2",
        _memory_versions_agree,
    ),
    Check("memory is cheap to ask for", "under 5 ms a call", _memory_is_cheap),
    Check("energy never falls", "the counter only grows", _energy_never_falls),
    Check("energy fields are the same counter", "fields 83 and 191 are the call's figure", _energy_fields_agree),
    Check("energy is power times time", "within 15 % of the mean power", _energy_is_power_times_time),
    Check("energy is brought up to date often", "a new value at least every 250 ms (about 100)", _energy_updates),
    Check(
        "the power call is the average",
        "nvmlDeviceGetPowerUsage follows field 185, the mean of a second (on GA100 and older: 186)",
        _power_call_is_the_average,
        "load",
    ),
    Check("utilisation has its period", "0 to 100 %, a new value every 1/6 s to 1 s", _utilisation_updates, "load"),
    Check("throttle counters are nanoseconds", "none grows faster than time, none falls", _throttle_counters),
    Check("the PCIe throughput call blocks", "about 20 ms a call", _pcie_call_blocks),
    Check("PCIe byte counters exist", "fields 197 and 198 answer and grow", _pcie_byte_counters),
)
