"""Options that several commands share, and their types."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tui.commands.demo import DEFAULT_PROFILE
from tui.settings.schema import interval_s

F = TypeVar("F", bound=Callable[..., Any])

if TYPE_CHECKING:
    _FloatType = click.ParamType[float]
    _IntType = click.ParamType[int]
    _TextType = click.ParamType[str]
    _NamesType = click.ParamType[tuple[str, ...]]
else:  # older releases of click have no type parameters
    _FloatType = _IntType = _TextType = _NamesType = click.ParamType

_SIZE = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s*([kmgt]?)(i?)b?", re.IGNORECASE)
_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*([smhd]?)", re.IGNORECASE)
_DURATION_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


class Interval(_FloatType):
    """Seconds between two looks."""

    name = "seconds"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Check the bounds; nan and infinity are outside them."""
        try:
            return interval_s(float(str(value)))
        except ValueError:
            self.fail(f"{str(value)!r}: {_bound_message()}", param, ctx)


def _bound_message() -> str:
    try:
        interval_s(math.nan)
    except ValueError as error:
        return str(error)
    return ""


class Seconds(_FloatType):
    """A positive, finite number of seconds, at most a year."""

    name = "seconds"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Check that time can be spent so."""
        try:
            number = float(str(value))
        except ValueError:
            number = math.nan
        if not 0 < number <= 366 * 86_400:
            self.fail(f"{str(value)!r} must be a number of seconds above 0 and at most a year", param, ctx)
        return number


class Size(_IntType):
    """Bytes with a unit: 40G and 40GiB are 40 × 2^30, as the driver counts."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read the number and its unit; without a unit GiB is meant."""
        if isinstance(value, int):
            return value
        match = _SIZE.fullmatch(str(value).strip())
        if match is None:
            self.fail(f"{str(value)!r} is no size; write for example 40G or 800M", param, ctx)
        power = {"": 3, "k": 1, "m": 2, "g": 3, "t": 4}[match.group(2).lower()]
        return int(float(match.group(1)) * 1024**power)


class Duration(_FloatType):
    """A duration such as 90s, 30m, 24h or 7d."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read the number and its unit; without a unit seconds are meant."""
        if isinstance(value, float):
            return value
        match = _DURATION.fullmatch(str(value).strip())
        seconds = float(match.group(1)) * _DURATION_UNITS[match.group(2).lower()] if match else 0.0
        if seconds <= 0:
            self.fail(f"{str(value)!r} is no duration; write for example 30m, 24h or 7d", param, ctx)
        return seconds


class GpuList(_NamesType):
    """Indices or UUIDs with commas, or, where a view of the runs is at hand, `mine`."""

    name = "list"

    def __init__(self, *, mine: bool = True) -> None:
        self._mine = mine

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """Split and check."""
        if isinstance(value, tuple):
            return value
        words = tuple(word.strip() for word in str(value).split(",") if word.strip())
        good = all(re.fullmatch(r"\d{1,3}|(?:GPU|MIG)-[0-9a-fA-F-]{1,40}", word) for word in words)
        if not words or not (good or (self._mine and words == ("mine",))):
            also = ", or `mine`" if self._mine else ""
            self.fail(f"{str(value)[:80]!r} must be indices or UUIDs with commas between them{also}", param, ctx)
        return words


class ProfileName(_TextType):
    """A profile of the demo."""

    name = "profile"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check that there is such a profile; the profiles are imported only now."""
        from monitor.simulation.profiles import PROFILES

        names = sorted(PROFILES)
        if value not in names:
            self.fail(f"there is no demo profile {str(value)[:60]!r}; there are {', '.join(names)}", param, ctx)
        return str(value)


def demo_option(function: F) -> F:
    """`--demo [PROFILE]` and `--seed N`."""
    function = click.option(
        "--demo",
        type=ProfileName(),
        is_flag=False,
        flag_value=DEFAULT_PROFILE,
        default=None,
        metavar="[PROFILE]",
        help="Simulated GPUs and one real small training process; a profile may be named.",
    )(function)
    return click.option("--seed", type=click.IntRange(0, 2**31), default=0, hidden=True)(function)


def source_options(function: F) -> F:
    """Where the stream comes from: this machine, the demo, a recording or a command."""
    function = click.option(
        "--from",
        "from_command",
        metavar="COMMAND",
        help="Run COMMAND and read its stream, for example 'ssh node07 traintop agent'.",
    )(function)
    function = click.option("--replay", metavar="FILE", help="Read a recording; - reads it from standard input.")(
        function
    )
    return demo_option(function)


def log_option(function: F) -> F:
    """`--log FILE` on every command."""
    return click.option("--log", "log_path", metavar="FILE", help="Append lateness and cost of each source to FILE.")(
        function
    )


def json_option(function: F) -> F:
    """`--json` on everything that reports."""
    return click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")(function)


def arguments_option(function: F) -> F:
    """`--show-arguments`."""
    return click.option("--show-arguments", is_flag=True, help="Show the arguments of other users' command lines too.")(
        function
    )
