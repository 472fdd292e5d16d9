"""The table of metrics: one row a datum. Adding a figure is a field in the types and a row here.

Field numbers (NVML_FI_…), enum values and units are those of nvml.h. Spellings are tried left to right, fields first.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable
from typing import Any

from monitor.clean import clean
from monitor.nvml.binding import Answer
from monitor.nvml.calls import Call, Field, Spelling
from monitor.nvml.errors import FUNCTION_NOT_FOUND, NOT_SUPPORTED, REFUSALS, Refusal


class Tier(enum.Enum):
    """How often a datum is asked for. PCIe throughput and GPM are dear: own files, asked while shown."""

    ONCE = "once"
    TICK = "tick"
    SLOW = "slow"
    RARE = "rare"


PERIOD_S = {Tier.SLOW: 5.0, Tier.RARE: 60.0}

MEMORY_VERSION_2 = 0x02000028
"""sizeof(nvmlMemory_v2_t) | 2 << 24, as a number because old bindings lack the name."""

ALL_LINKS = 0xFFFFFFFF
"""Scope of the NVLink counters that sums over the links."""

ARCHITECTURES = {
    2: "Kepler", 3: "Maxwell", 4: "Pascal", 5: "Volta", 6: "Turing", 7: "Ampere", 8: "Ada", 9: "Hopper",
    10: "Blackwell", 13: "Rubin",
}  # fmt: skip

_ABSENT = REFUSALS[NOT_SUPPORTED]
"""What a converter gives for an answer that means "there is none"."""

THROTTLE_BITS = (
    (0x1, "idle"),
    (0x2, "application_clocks"),
    (0x4, "power_cap"),
    (0x8, "hw_slowdown"),
    (0x10, "sync_boost"),
    (0x20, "sw_thermal"),
    (0x40, "hw_thermal"),
    (0x80, "power_brake"),
    (0x100, "display_clocks"),
    (0x200, "board_limit"),
    (0x400, "reliability"),
)

RECOVERY_ACTIONS = {
    0: "none",
    1: "reset",
    2: "reboot",
    3: "drain_p2p",
    4: "drain_and_reset",
    5: "imex",
    6: "reset",  # bus reset
    7: "reboot",  # system reboot
}

THROTTLE_TIME = "throttle_times."
"""Prefix of the metrics that become `ThrottleTime` records."""


@dataclasses.dataclass(frozen=True, slots=True)
class Metric:
    """One row: the record fields it fills (several when one call gives several), how often, how, and in which unit.

    `convert` gets the driver's answer and gives the value, or a tuple where `fields` are several; `None` means
    that the answer cannot be true, a `Refusal` says why it is none. A dotted field belongs to a nested record.
    """

    fields: tuple[str, ...]
    tier: Tier
    spellings: tuple[Spelling, ...]
    convert: Callable[[Any], Any]


def _row(fields: str, tier: Tier, convert: Callable[[Any], Any], *spellings: Spelling) -> Metric:
    return Metric(tuple(fields.split()), tier, spellings, convert)


def _as_is(answer: Answer) -> Answer:
    return answer


def _text(answer: Answer) -> str | None:
    return clean(answer, 96).strip() or None


def _ratio(percent: float) -> float | None:
    return percent / 100.0 if 0 <= percent <= 100 else None


def _fan(percent: float) -> float | None:
    """The share of the fan's maximum; the driver may well report more than 100 %."""
    return percent / 100.0 if 0 <= percent <= 1000 else None


def _utilisation(rates: Answer) -> tuple[float | None, float | None]:
    return _ratio(rates.gpu), _ratio(rates.memory)


def _watts(milliwatts: float) -> float:
    return milliwatts / 1000.0


def _limit(milliwatts: float) -> float | Refusal:
    """Some boards report a limit of 0 W, which is no limit."""
    return milliwatts / 1000.0 if milliwatts > 0 else _ABSENT


def _joules(millijoules: float) -> float:
    return millijoules / 1000.0


def _seconds(nanoseconds: float) -> float:
    return nanoseconds * 1e-9


def _celsius(degrees: float) -> float | None:
    return float(degrees) if -50 <= degrees <= 200 else None


def _celsius_or_absent(degrees: float) -> float | Refusal:
    """0 is what boards without that sensor or limit answer."""
    return float(degrees) if 0 < degrees <= 200 else _ABSENT


def _positive(number: int) -> int | Refusal:
    return number if number > 0 else _ABSENT


def _not_negative(number: int) -> int | Refusal:
    return number if number >= 0 else _ABSENT


def _performance_state(state: int) -> int | Refusal:
    return state if 0 <= state <= 15 else _ABSENT  # 32 is "unknown"


def _memory(info: Answer) -> tuple[int, int, int, int | Refusal]:
    """total, used, free, reserved. Version 1 has the driver's reserve inside "used"; version 2 keeps it apart."""
    reserved = getattr(info, "reserved", None)
    return info.total, info.used, info.free, REFUSALS[FUNCTION_NOT_FOUND] if reserved is None else reserved


def _nanoseconds_row(reason: str, field_id: int) -> Metric:
    return _row(THROTTLE_TIME + reason, Tier.TICK, _seconds, Field(field_id))


_throttle_names: dict[int, tuple[str, ...]] = {}


def throttle_names(mask: int) -> tuple[str, ...]:
    """The names of the bits, lowest first; a bit that nobody has named as hexadecimal number."""
    known = _throttle_names.get(mask)
    if known is None:
        named = tuple(name for bit, name in THROTTLE_BITS if mask & bit)
        rest = mask & ~0x7FF & 0xFFFFFFFFFFFFFFFF
        known = (*named, *(hex(1 << bit) for bit in range(64) if rest & (1 << bit)))
        if len(_throttle_names) < 256:
            _throttle_names[mask] = known
    return known


def _remapped(rows: Answer) -> tuple[int, int, bool, bool]:
    corrected, uncorrected, pending, failed = rows
    return corrected, uncorrected, bool(pending), bool(failed)


_MEGABYTE = 1_000_000  # field 90 is in MB/s

MEMORY = _row(
    "memory_total_bytes memory_used_bytes memory_free_bytes memory_reserved_bytes",
    Tier.TICK,
    _memory,
    Call("nvmlDeviceGetMemoryInfo", (MEMORY_VERSION_2,)),
    Call("nvmlDeviceGetMemoryInfo"),
)

IDENTITY_METRICS: tuple[Metric, ...] = (
    _row("name", Tier.ONCE, _text, Call("nvmlDeviceGetName")),
    _row("pci_bus_id", Tier.ONCE, lambda info: _text(info.busId), Call("nvmlDeviceGetPciInfo")),
    _row("minor_number", Tier.ONCE, _as_is, Call("nvmlDeviceGetMinorNumber")),
    _row(
        "compute_capability",
        Tier.ONCE,
        lambda pair: f"{pair[0]}.{pair[1]}",
        Call("nvmlDeviceGetCudaComputeCapability"),
    ),
    _row("architecture", Tier.ONCE, ARCHITECTURES.get, Call("nvmlDeviceGetArchitecture")),
    _row("power_limit_default_w", Tier.ONCE, _limit, Call("nvmlDeviceGetPowerManagementDefaultLimit")),
    _row(
        "power_limit_max_w",
        Tier.ONCE,
        lambda limits: _limit(limits[1]),
        Call("nvmlDeviceGetPowerManagementLimitConstraints"),
    ),
    _row("sm_max_mhz", Tier.ONCE, _positive, Call("nvmlDeviceGetMaxClockInfo", (1,))),
    _row("memory_max_mhz", Tier.ONCE, _positive, Call("nvmlDeviceGetMaxClockInfo", (2,))),
    _row("temperature_shutdown_c", Tier.ONCE, _celsius_or_absent, Call("nvmlDeviceGetTemperatureThreshold", (0,))),
    _row("temperature_slowdown_c", Tier.ONCE, _celsius_or_absent, Call("nvmlDeviceGetTemperatureThreshold", (1,))),
    _row("temperature_gpu_max_c", Tier.ONCE, _celsius_or_absent, Call("nvmlDeviceGetTemperatureThreshold", (3,))),
    _row("pcie_generation_max", Tier.ONCE, _positive, Call("nvmlDeviceGetMaxPcieLinkGeneration")),
    _row("pcie_generation_gpu_max", Tier.ONCE, _positive, Call("nvmlDeviceGetGpuMaxPcieLinkGeneration")),
    _row("pcie_width_max", Tier.ONCE, _positive, Call("nvmlDeviceGetMaxPcieLinkWidth")),
    _row("numa_node", Tier.ONCE, _not_negative, Call("nvmlDeviceGetNumaNodeId")),
)

SAMPLE_METRICS: tuple[Metric, ...] = (
    MEMORY,
    _row("gpu_util_ratio memory_busy_ratio", Tier.TICK, _utilisation, Call("nvmlDeviceGetUtilizationRates")),
    # Field 185 is the mean of the last second by definition; the call is that on most boards and momentary on the rest.
    _row("power_w", Tier.TICK, _watts, Field(185), Call("nvmlDeviceGetPowerUsage")),
    _row("power_instant_w", Tier.TICK, _watts, Field(186)),
    _row("energy_j", Tier.TICK, _joules, Field(83), Call("nvmlDeviceGetTotalEnergyConsumption")),
    _row(
        "temperature_c",
        Tier.TICK,
        _celsius,
        Call("nvmlDeviceGetTemperatureV", (0,)),
        Call("nvmlDeviceGetTemperature", (0,)),
    ),
    _row("memory_temperature_c", Tier.TICK, _celsius_or_absent, Field(82)),
    _row("sm_mhz", Tier.TICK, _as_is, Call("nvmlDeviceGetClockInfo", (1,))),
    _row("memory_mhz", Tier.TICK, _as_is, Call("nvmlDeviceGetClockInfo", (2,))),
    _row(
        "throttle",
        Tier.TICK,
        throttle_names,
        Call("nvmlDeviceGetCurrentClocksEventReasons"),
        Call("nvmlDeviceGetCurrentClocksThrottleReasons"),
    ),
    _nanoseconds_row("power_cap", 74),
    _nanoseconds_row("thermal", 75),
    _nanoseconds_row("sync_boost", 76),
    _nanoseconds_row("board_limit", 77),
    _nanoseconds_row("low_utilization", 78),
    _nanoseconds_row("reliability", 79),
    _nanoseconds_row("base_clocks", 81),
    _nanoseconds_row("sw_thermal", 269),
    _nanoseconds_row("hw_thermal", 270),
    _nanoseconds_row("power_brake", 271),
    _row("nvlink.transmitted_bytes", Tier.TICK, lambda kib: kib * 1024, Field(138, ALL_LINKS)),
    _row("nvlink.received_bytes", Tier.TICK, lambda kib: kib * 1024, Field(139, ALL_LINKS)),
    _row("performance_state", Tier.SLOW, _performance_state, Call("nvmlDeviceGetPerformanceState")),
    _row(
        "power_limit_w",
        Tier.SLOW,
        _limit,
        Call("nvmlDeviceGetEnforcedPowerLimit"),
        Call("nvmlDeviceGetPowerManagementLimit"),
    ),
    _row("fan_ratio", Tier.SLOW, _fan, Call("nvmlDeviceGetFanSpeed")),
    _row("pcie.generation", Tier.SLOW, _positive, Call("nvmlDeviceGetCurrPcieLinkGeneration")),
    _row("pcie.width", Tier.SLOW, _positive, Call("nvmlDeviceGetCurrPcieLinkWidth")),
    _row("pcie.replay_count", Tier.RARE, _as_is, Field(94), Call("nvmlDeviceGetPcieReplayCounter")),
    _row("nvlink.link_count", Tier.RARE, _as_is, Field(91)),
    _row("nvlink.link_bytes_per_s", Tier.RARE, lambda megabytes: _positive(megabytes * _MEGABYTE), Field(90)),
    _row("nvlink.error_count.crc_flit", Tier.RARE, _as_is, Field(38)),
    _row("nvlink.error_count.crc_data", Tier.RARE, _as_is, Field(45)),
    _row("nvlink.error_count.replay", Tier.RARE, _as_is, Field(52)),
    _row("nvlink.error_count.recovery", Tier.RARE, _as_is, Field(59)),
    _row("ecc.enabled", Tier.SLOW, lambda modes: bool(modes[0]), Call("nvmlDeviceGetEccMode")),
    _row("ecc.corrected_volatile", Tier.SLOW, _as_is, Call("nvmlDeviceGetTotalEccErrors", (0, 0))),
    _row("ecc.uncorrected_volatile", Tier.SLOW, _as_is, Call("nvmlDeviceGetTotalEccErrors", (1, 0))),
    _row("ecc.corrected_aggregate", Tier.RARE, _as_is, Call("nvmlDeviceGetTotalEccErrors", (0, 1))),
    _row("ecc.uncorrected_aggregate", Tier.RARE, _as_is, Call("nvmlDeviceGetTotalEccErrors", (1, 1))),
    _row(
        "ecc.remapped_corrected ecc.remapped_uncorrected ecc.remap_pending ecc.remap_failed",
        Tier.RARE,
        _remapped,
        Call("nvmlDeviceGetRemappedRows"),
    ),
    _row("recovery_action", Tier.RARE, lambda action: RECOVERY_ACTIONS.get(action, str(action)), Field(230)),
)
