"""The text of one tqdm bar taken apart. What it means is judged in `tqdm`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from monitor.steps.formats.numbers import count, duration_s, exact

_NUMBER = r"\d[\d.,_]{0,31}[kMGTP]?"
_CLOCKS = re.compile(
    r"\[(?P<elapsed>[\d:]{4,20})(?:<(?P<left>\?|\d{1,6} days?, [\d:]{4,20}|[\d:]{4,20}))?"
    rf"(?:, {{0,4}}(?P<rate>\?|{_NUMBER}) {{0,2}}(?P<unit>[^\s/,\]=]{{0,16}})/(?P<per>[^\s,\]=]{{1,16}}))?"
    r"(?P<rest>[^\]]{0,2048})\]"
)
_OF = re.compile(rf"({_NUMBER})/({_NUMBER}|\?)\s*$")
_ALONE = re.compile(rf"({_NUMBER}) ?([A-Za-z_]{{1,16}})\s*$")
_PERCENT = re.compile(r"\d{1,3}%\s*$")


@dataclass(frozen=True)
class BarText:
    """One bar as printed."""

    label: str
    n: float
    total: float | None
    exact: bool
    """False where a unit prefix ate digits of the count."""
    elapsed_s: float | None
    seconds_per_step: float | None
    """As printed; `None` for `?`."""
    unit: str
    postfix: str


@lru_cache(maxsize=8)  # every format asks
def last_bar(text: str) -> BarText | None:
    """The last whole bar of a line, or nothing. Earlier ones on the same line are older states."""
    if "[" not in text:
        return None
    start, found = 0, None
    for match in _CLOCKS.finditer(text):
        bar = _bar(text[start : match.start()], match)
        if bar is not None:
            found = bar
        start = match.end()
    return found


def _bar(before: str, clocks: re.Match[str]) -> BarText | None:
    ending = before[-96:]
    of = _OF.search(ending)
    total_text, unit = None, clocks["unit"] or ""
    if of is not None:
        n_text, total_text = of.groups()
        at = len(before) - len(ending) + of.start()
        if clocks["left"] is None:
            return None
    else:
        alone = _ALONE.search(ending)
        if alone is None or clocks["left"] is not None or clocks["rate"] is None:
            return None
        n_text = alone.group(1)
        at = len(before) - len(ending) + alone.start()
    n = count(n_text)
    total = None if total_text in (None, "?") else count(str(total_text))
    if n is None:
        return None
    per = clocks["per"] or ""
    if per != "s":  # "13.40s/it": seconds for one; the unit stands behind the stroke
        unit = per or unit
    return BarText(
        label=_label(before[:at]),
        n=n,
        total=total,
        exact=exact(n_text) and (total_text in (None, "?") or exact(str(total_text))),
        elapsed_s=duration_s(clocks["elapsed"]),
        seconds_per_step=_seconds(clocks["rate"], per),
        unit=unit,
        postfix=clocks["rest"].lstrip(", "),
    )


def _label(before: str) -> str:
    text = before.rstrip()
    if text.endswith("|"):
        opening = text.rfind("|", 0, len(text) - 1)
        text = text[:opening] if opening >= 0 else text[:-1]
    text = _PERCENT.sub("", text.rstrip())
    return text.strip().rstrip(":").strip()


def _seconds(rate: str | None, per: str) -> float | None:
    number = None if rate is None or rate == "?" else count(rate)
    if number is None or number <= 0:
        return None
    return 1 / number if per == "s" else number
