"""The physics of one simulated GPU: power follows load, heat follows power, clocks give way to heat and limits."""

from __future__ import annotations

import math
from collections.abc import Callable

from monitor.simulation.noise import noise
from monitor.simulation.plans import GpuPlan

TICK_S = 0.5
"""Figures move on a fixed grid, so that they depend on the time alone and not on how often somebody looks."""

_HEAT_LAG_S = 18.0
_POWER_LAG_S = 0.9
_BELOW_SHUTDOWN_C = 1.0
_MIN_CLOCK_RATIO = 0.5
_PROPORTIONAL_PER_C = 0.02
_INTEGRAL_PER_C_S = 0.0012
"""The two gains settle the heat loop (lag 18 s, some 70 degrees per whole clock) in about a minute, nearly unswung."""


class Board:
    """State after `ticks` ticks. `load(at_s)` gives utilisation and intensity."""

    def __init__(self, plan: GpuPlan, seed: int, load: Callable[[float], tuple[float, float]]) -> None:
        self.plan = plan
        self._seed = seed
        self._load = load
        self._tick = 0
        self.limit_w = plan.power_limit_w or plan.model.limit_w
        self.util_ratio, self._intensity = load(0.0)
        self._held_back = 0.0
        self.clock_ratio = 1.0
        self.throttle: tuple[str, ...] = ()
        self.throttled_s: dict[str, float] = {}
        self.power_w = self.power_instant_w = 0.0
        self.temperature_c = plan.air_c
        self._settle()
        self.energy_j = self.power_w * 86_400.0
        """As if the driver had been loaded for a day."""

    def advance(self, to_s: float) -> None:
        """Move on to this time since the start; never back."""
        target = int(to_s / TICK_S)
        while self._tick < target:
            self._tick += 1
            self._step()

    def _demand_w(self, clock_ratio: float) -> float:
        model = self.plan.model
        return model.idle_w + (model.full_w - model.idle_w) * self.util_ratio * self._intensity * clock_ratio**2

    def _capped_clock(self) -> float:
        """The clock at which the load draws just the limit (power goes with about the square of the clock)."""
        dynamic_w = self._demand_w(1.0) - self.plan.model.idle_w
        if dynamic_w <= 0:
            return 1.0
        return min(1.0, math.sqrt(max(0.0, self.limit_w - self.plan.model.idle_w) / dynamic_w))

    def _settle(self) -> None:
        """Start where the load at the beginning would have led to: in balance."""
        plan = self.plan
        clock_ratio = self._capped_clock()
        dynamic_w = self._demand_w(1.0) - plan.model.idle_w
        if plan.air_c + plan.cooling_c_per_w * self._demand_w(clock_ratio) > plan.model.hot_c:
            balance_w = (plan.model.hot_c - plan.air_c) / plan.cooling_c_per_w - plan.model.idle_w
            clock_ratio = max(_MIN_CLOCK_RATIO, math.sqrt(max(0.0, balance_w) / dynamic_w))
            self._held_back = 1.0 - clock_ratio
        self.clock_ratio = clock_ratio
        self.power_w = self.power_instant_w = self._demand_w(clock_ratio)
        self.temperature_c = min(
            plan.air_c + plan.cooling_c_per_w * self.power_w, plan.model.shutdown_c - _BELOW_SHUTDOWN_C
        )
        self.throttle = self._reasons(self._capped_clock())

    def _step(self) -> None:
        plan = self.plan
        self.util_ratio, self._intensity = self._load(self._tick * TICK_S)
        excess_c = self.temperature_c - plan.model.hot_c
        self._held_back = min(1.0 - _MIN_CLOCK_RATIO, max(0.0, self._held_back + _INTEGRAL_PER_C_S * excess_c * TICK_S))
        cool_clock = 1.0 - min(1.0 - _MIN_CLOCK_RATIO, self._held_back + _PROPORTIONAL_PER_C * max(0.0, excess_c))
        capped_clock = self._capped_clock()
        self.clock_ratio = min(cool_clock, capped_clock)
        wanted_w = self._demand_w(self.clock_ratio)
        wanted_w *= 1.0 + (0.015 if self.util_ratio > 0.01 else 0.004) * noise(self._seed, self._tick)
        self.power_instant_w = min(wanted_w, self.limit_w * 1.02)
        self.power_w += (self.power_instant_w - self.power_w) * (1.0 - math.exp(-TICK_S / _POWER_LAG_S))
        settled_c = plan.air_c + plan.cooling_c_per_w * self.power_w
        self.temperature_c += (settled_c - self.temperature_c) * (TICK_S / _HEAT_LAG_S)
        self.temperature_c = min(self.temperature_c, plan.model.shutdown_c - _BELOW_SHUTDOWN_C)
        self.energy_j += self.power_w * TICK_S
        self.throttle = self._reasons(capped_clock)
        for reason in self.throttle:
            self.throttled_s[reason] = self.throttled_s.get(reason, 0.0) + TICK_S

    def _reasons(self, capped_clock: float) -> tuple[str, ...]:
        if self.util_ratio < 0.005:
            return ("idle",)
        reasons: list[str] = []
        if capped_clock < 0.995 and capped_clock <= self.clock_ratio + 1e-9:
            reasons.append("power_cap")
        if self.temperature_c >= self.plan.model.slowdown_c and self.clock_ratio < 0.98:
            reasons += ["hw_slowdown", "hw_thermal"]
        elif self._held_back > 0.02 and self.clock_ratio < 0.98:
            reasons.append("sw_thermal")
        return tuple(reasons)

    @property
    def sm_mhz(self) -> int:
        """Clock of the multiprocessors, in steps of 15 MHz."""
        model = self.plan.model
        if self.util_ratio < 0.005:
            return model.sm_idle_mhz
        return max(model.sm_idle_mhz, int(model.sm_max_mhz * self.clock_ratio) // 15 * 15)

    @property
    def performance_state(self) -> int:
        """0 under load, 8 at rest."""
        return 8 if self.util_ratio < 0.005 else 0

    @property
    def fan_ratio(self) -> float | None:
        """Intended fan speed, after the temperature; `None` where the board has no fan of its own."""
        if not self.plan.model.has_fan:
            return None
        return round(min(1.0, max(0.3, 0.3 + (self.temperature_c - 45.0) * 0.018)), 2)
