"""Tables of one key and one value a row, in boxes: Stable-Baselines3, OpenAI Baselines, Spinning Up, guided diffusion.

A table is read when its closing line is there: its step stands near the end, and which row is the step depends on the
others. `| total_timesteps | 81920 |` is the step so far; no such table tells where the run ends.
"""

from __future__ import annotations

import re

from monitor.steps.formats.figures import own_name
from monitor.steps.formats.line_format import EVIDENCE_CHARS, FileText, Origin
from monitor.steps.formats.numbers import count, figure
from monitor.steps.formats.run_clock import CoarseClock
from monitor.steps.lines import Line
from monitor.types.steps import StepEvent, StepUnit, StepValue

MAX_ROWS = 96
_ROW = re.compile(r"^[|│┃] {0,64}(?P<key>[^|│┃]{1,64}?) {0,64}[|│┃] {0,64}(?P<value>[^|│┃]{0,48}?) {0,64}[|│┃]$")
_BARS = ("|", "│", "┃")
_RULE = re.compile(r"^[-=─━┄╌+┌┐└┘├┤┬┴┼╭╮╰╯]{8,400}$")
_STEPS: tuple[tuple[str, StepUnit], ...] = (
    ("total_timesteps", "step"),
    ("total timesteps", "step"),
    ("timesteps_so_far", "step"),
    ("timestepssofar", "step"),
    ("totalenvinteracts", "step"),
    ("totalenvsteps", "step"),
    ("total_env_steps", "step"),
    ("num_timesteps", "step"),
    ("global_step", "step"),
    ("total steps", "step"),
    ("steps", "step"),
    ("step", "step"),
    ("nupdates", "step"),
    ("iteration", "step"),
    ("iterations", "step"),
    ("itr", "step"),
    ("epoch", "epoch"),
    ("epochs", "epoch"),
)
"""Rows that hold the counter, the surest first."""
_ELAPSED = ("time_elapsed", "timeelapsed", "total time (s)", "elapsed", "time (s)")
_HELD_OUT = ("eval", "test", "valid")


class BoxTableFormat:
    """Reads the tables of one file."""

    name = "box_table"

    def __init__(self) -> None:
        self._rows: list[tuple[str, str]] = []
        self._clock = CoarseClock()

    def read(self, line: Line, text: FileText, origin: Origin) -> tuple[StepEvent, ...]:
        """The counter of the table that this line closes."""
        content = line.text
        if not line.whole:
            return ()
        row = _ROW.match(content) if content[:1] in _BARS and content.count(content[0]) == 3 else None
        if row is not None:
            if len(self._rows) < MAX_ROWS:
                self._rows.append((row["key"].strip().casefold(), row["value"].strip()))
            return ()
        rows, self._rows = self._rows, []
        if not rows or _RULE.match(content) is None:
            return ()
        return self._table(rows, text, origin)

    def _table(self, rows: list[tuple[str, str]], text: FileText, origin: Origin) -> tuple[StepEvent, ...]:
        fields: dict[str, str] = {}
        section = ""
        for key, value in rows:
            if not value:
                section = key
                continue
            full = key if "/" in key else section + key
            fields.setdefault(full, value)
        found = _counter(fields)
        values = _values(fields)
        if found is None or (len(fields) < 2 and not values):
            return ()
        key, step, unit = found
        elapsed_s = next(
            (n for name, value in fields.items() if _plain(name) in _ELAPSED and (n := count(value))), None
        )
        if elapsed_s is not None:
            elapsed_s = self._clock.take(elapsed_s, 1.0 if elapsed_s == int(elapsed_s) else 0.0)
        total, source = text.announced.total(("total_timesteps",), least=step)
        if _plain(key) not in ("total_timesteps", "total timesteps"):
            total, source = None, ""
        return (
            StepEvent(
                process=origin.process,
                source=self.name,
                where=origin.where,
                series=key,
                unit=unit,
                step=step,
                total=total,
                total_source=source,
                elapsed_s=elapsed_s,
                seen_s=origin.seen_s,
                values=values,
                confidence=0.55 if unit == "epoch" else 0.8,
                evidence=", ".join(f"{name} {value}" for name, value in fields.items())[:EVIDENCE_CHARS],
            ),
        )


def _plain(key: str) -> str:
    return key.rsplit("/", 1)[-1]


def _counter(fields: dict[str, str]) -> tuple[str, float, StepUnit] | None:
    for wanted, unit in _STEPS:
        for key, value in fields.items():
            if _plain(key) != wanted or key.startswith(_HELD_OUT):
                continue
            number = count(value)
            if number is not None and number >= 0:
                return key, number, unit
    return None


def _values(fields: dict[str, str]) -> tuple[StepValue, ...]:
    """The figures; of losses the one that is called just that, else the first."""
    found: dict[str, StepValue] = {}
    for key, text in sorted(fields.items(), key=lambda pair: _plain(pair[0]) != "loss"):
        name = None if key.startswith(_HELD_OUT) else own_name(_plain(key))
        value = None if name is None or name == "epoch" or name in found else figure(name, text)
        if name is not None and value is not None:
            found[name] = value
    return tuple(found.values())
