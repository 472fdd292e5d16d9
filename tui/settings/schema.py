"""Every setting there is: its default and its bounds, as data. What each does is told in docs/settings.md."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from tui.widgets.looking import SORTS, WINDOWS

MIN_INTERVAL_S = 0.25
MAX_INTERVAL_S = 3600.0

SettingValue = bool | float | str | None


@dataclass(frozen=True)
class Setting:
    """One key of the settings file."""

    name: str
    default: SettingValue
    accept: Callable[[object], SettingValue]
    """The value to use. Raises ValueError or TypeError with what is wrong, as the end of a sentence."""


def interval_s(value: object) -> float:
    """Seconds between two looks, within bounds that keep the monitor light.

    Raises:
        ValueError: it is no number between the bounds; the text ends a sentence that names the setting.
    """
    number = float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan
    if not MIN_INTERVAL_S <= number <= MAX_INTERVAL_S:
        raise ValueError(f"must be a number of seconds from {MIN_INTERVAL_S:g} to {MAX_INTERVAL_S:g}")
    return number


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("must be true or false")
    return value


def _name(value: object) -> str:
    if not isinstance(value, str) or not value or len(value) > 100 or not value.isprintable():
        raise ValueError("must be a name in quotes")
    return value


def _one_of(*names: str) -> Callable[[object], SettingValue]:
    def accept(value: object) -> str:
        if not isinstance(value, str) or value not in names:
            raise ValueError("must be one of " + ", ".join(f'"{name}"' for name in names))
        return value

    return accept


SETTINGS: tuple[Setting, ...] = (
    Setting("theme", None, _name),
    Setting("interval", 1.0, interval_s),
    Setting("window", None, _one_of(*(window.words for window in WINDOWS))),
    Setting("sort", None, _one_of(*SORTS)),
    Setting("mouse", True, _flag),
    Setting("ascii", None, _flag),
)
