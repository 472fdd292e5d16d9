"""The figures of GPUs as short texts, for one card and for several folded into one line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from monitor.history.history import History
from monitor.history.series import SeriesKey
from monitor.types.gpu import GpuSample
from tui import figures
from tui.widgets.board import GpuRow

THROTTLES: tuple[tuple[str, str, str], ...] = (
    ("hw_thermal", "▲heat", "critical"),
    ("sw_thermal", "▲heat", "warn"),
    ("power_brake", "▲brake", "critical"),
    ("hw_slowdown", "▲slow", "critical"),
    ("reliability", "▲volt", "warn"),
    ("board_limit", "▲board", "warn"),
    ("power_cap", "cap", "label"),
    ("sync_boost", "sync", "label"),
    ("application_clocks", "clocks", "label"),
    ("display_clocks", "displ", "label"),
)
"""Reasons for low clocks in the order of their weight, a short word, and how loudly to say it."""

STATES = {
    "lost": "lost: the driver cannot reach it",
    "needs_reset": "needs a reset",
    "no_permission": "no permission to read it",
    "asleep": "asleep",
    "error": "the driver gave an error",
}


def flag(sample: GpuSample | None) -> tuple[str, str]:
    """The most important thing to notice about a GPU, in at most seven cells, and its style."""
    if sample is None:
        return "", "label"
    if sample.xids:
        return f"XID {sample.xids[-1].xid}"[:7], "critical"
    if sample.ecc is not None and (sample.ecc.uncorrected_volatile or sample.ecc.remap_failed):
        return "▲ECC", "critical"
    for reason, word, style in THROTTLES:
        if reason in sample.throttle:
            return word, style
    return "", "label"


def state_words(sample: GpuSample) -> str:
    """Why there are no figures, in words."""
    return sample.state_detail or STATES.get(sample.state, sample.state)


SHORT_STATES: dict[str, tuple[str, str]] = {
    "lost": ("▲lost", "critical"),
    "needs_reset": ("▲reset", "critical"),
    "error": ("▲error", "warn"),
    "no_permission": ("denied", "warn"),
    "asleep": ("asleep", "label"),
}


def short_state(sample: GpuSample | None) -> tuple[str, str]:
    """The same in a word, and its style, for where there is little room."""
    return ("–", "label") if sample is None else SHORT_STATES.get(sample.state, (sample.state, "warn"))


def known(values: Iterable[float | None]) -> list[float]:
    """Those that are known."""
    return [value for value in values if value is not None]


def span(values: Iterable[float | None], scale: float = 1.0, unit: str = "") -> str:
    """Like "61–63", or one number where all agree when rounded; a dash where nothing is known."""
    rounded = sorted(round(value * scale) for value in known(values))
    if not rounded:
        return "–"
    if rounded[0] == rounded[-1]:
        return f"{rounded[0]}{unit}"
    return f"{rounded[0]}–{rounded[-1]}{unit}"


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of what is known."""
    found = known(values)
    return sum(found) / len(found) if found else None


def memory_words(rows: Sequence[GpuRow]) -> str:
    """Like "74.9/79.6", in GiB; of several the fullest."""
    used = known(row.sample.memory_used_bytes for row in rows if row.sample)
    totals = known(row.total_bytes for row in rows)
    if not used and not totals:
        return "–"
    return f"{figures.gib(max(used) if used else None)}/{figures.gib(max(totals) if totals else None)}"


def power_words(rows: Sequence[GpuRow], *, limit: bool) -> str:
    """Like "634/700", in watts; ranges of several."""
    now = span(row.sample.power_w for row in rows if row.sample)
    if not limit:
        return now
    top = known(row.limit_w for row in rows)
    return f"{now}/{max(top):.0f}" if top else now


def outliers(rows: Sequence[GpuRow], history: History) -> list[GpuRow]:
    """Those of a group that stand out, worst first: they get a line of their own.

    Loads are compared over a minute: a momentary dip makes no outlier, and lines do not come and go.
    """
    if len(rows) < 3:
        return []
    minute = {
        row.uuid: mean(history.series(SeriesKey(f"gpu:{row.uuid}", "gpu_util_ratio"), 90, 3).values) for row in rows
    }
    loads = sorted(known(minute.values()))
    heats = sorted(known(row.sample.temperature_c for row in rows if row.sample))
    memories = sorted(known(row.memory_ratio for row in rows))
    clocks = sorted(known(row.sample.sm_mhz for row in rows if row.sample))
    scored = []
    for row in rows:
        sample = row.sample
        score = 0.0
        if sample is None or sample.state != "ok":
            score += 100
        else:
            if flag(sample)[1] in ("warn", "critical"):
                score += 50
            score += _apart(minute[row.uuid], loads, 0.08, below=True)
            score += _apart(sample.temperature_c, heats, 12, below=False)
            score += _apart(row.memory_ratio, memories, 0.08, below=False)
            score += _apart(sample.sm_mhz, clocks, 200, below=True)
        if score >= 1:
            scored.append((score, row))
    if len(scored) * 2 >= len(rows):
        return []
    return [row for _, row in sorted(scored, key=lambda item: -item[0])]


def _apart(value: float | None, ordered: list[float], by: float, *, below: bool) -> float:
    if value is None or not ordered:
        return 0.0
    middle = ordered[len(ordered) // 2]
    distance = middle - value if below else value - middle
    return distance / by if distance >= by else 0.0
