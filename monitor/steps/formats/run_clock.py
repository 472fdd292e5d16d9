"""One clock over a run, from clocks that begin anew with each of its parts."""

from __future__ import annotations

import math

BEGUN_RATIO = 0.5
"""A clock that falls below this share of what it said has begun anew."""
DIGITS = 20
"""Then one digit is 5 % of what has gone by."""


class RunClock:
    """Adds up the times of parts (epochs, bars). In seconds; only differences of what it gives mean something."""

    def __init__(self) -> None:
        self._earlier_s = 0.0
        self._part: object = None
        self._last_s = 0.0

    def at(self, part: object, elapsed_s: float) -> float:
        """Seconds over all parts, `elapsed_s` into this one. A part that begins anew under its name is a new one.

        A little back is rounding (Keras prints the mean of a step only), and no time passes.
        """
        if part != self._part or elapsed_s < BEGUN_RATIO * self._last_s:
            self._earlier_s += self._last_s
            self._part, self._last_s = part, 0.0
        self._last_s = max(self._last_s, elapsed_s)
        return self._earlier_s + self._last_s

    def add(self, seconds: float) -> float:
        """Seconds over all parts, of which one more lasted `seconds`."""
        self._earlier_s += self._last_s + seconds
        self._last_s, self._part = 0.0, None
        return self._earlier_s


class CoarseClock:
    """Passes a clock on only as often as its last digit allows: whole seconds say nothing of steps of two seconds."""

    def __init__(self) -> None:
        self._last_s: float | None = None

    def take(self, elapsed_s: float, digit_s: float) -> float | None:
        """The time, where enough of its digits have gone by since the last one that was passed on.

        Parts of a second are passed on always: what they lack evens out over many lines.
        """
        if self._last_s is not None and digit_s >= 1 and 0 <= elapsed_s - self._last_s < DIGITS * digit_s:
            return None
        self._last_s = elapsed_s
        return elapsed_s


class LeftTotal:
    """The total that follows from a printed elapsed time and a printed time left, where `left = elapsed / done · rest`.

    Each line bounds it by the digits that it prints; the bounds of all lines are put together.
    """

    def __init__(self) -> None:
        self._done = 0.0
        self._least, self._most = 0.0, math.inf

    def take(self, done: float, elapsed: tuple[float, float], left: tuple[float, float]) -> float | None:
        """The total after `done` steps; times as (seconds, seconds of the last printed digit). `None` while unsure."""
        if done < self._done:
            self._least, self._most = 0.0, math.inf
        self._done = done
        (elapsed_s, elapsed_digit_s), (left_s, left_digit_s) = elapsed, left
        if elapsed_s <= elapsed_digit_s or done <= 0:
            return self._total()
        least = done * (1 + max(0.0, left_s - left_digit_s) / (elapsed_s + elapsed_digit_s))
        most = done * (1 + (left_s + left_digit_s) / (elapsed_s - elapsed_digit_s))
        if least > self._most or most < self._least:
            self._least, self._most = least, most
        else:
            self._least, self._most = max(least, self._least), min(most, self._most)
        return self._total()

    def _total(self) -> float | None:
        """The roundest whole number between the bounds, once they are near each other."""
        if not self._least > 0 or self._most > self._least * 1.05:
            return None
        least, most = math.ceil(self._least - 1e-9), math.floor(self._most + 1e-9)
        if least > most:
            return None
        for power in range(12, -1, -1):
            for unit in (10**power, 10**power // 2):
                found = -(-least // unit) * unit if unit else 0
                if unit and found <= most:
                    return float(found)
        return None
