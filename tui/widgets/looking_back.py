"""What a GPU's counters did while nobody looked, in words."""

from __future__ import annotations

from monitor.history.throttling import HARMLESS
from monitor.store.last_seen import SinceLastSeen
from tui import figures
from tui.widgets.board import Board, GpuRow
from tui.widgets.gpu_figures import THROTTLES

WORTH_TELLING_S = 60.0
"""Who was away for less has missed nothing."""
LONG_HELD_S = 60.0
_GRAVE = frozenset(reason for reason, _, style in THROTTLES if style in ("warn", "critical"))


def since_words(board: Board, row: GpuRow) -> list[tuple[str, str] | None]:
    """For the detail of a GPU: everything that is known."""
    one = board.view.since.get(row.uuid)
    if one is None or one.passed_s < WORTH_TELLING_S:
        return []
    items: list[tuple[str, str] | None] = [("since you last looked", _when(board, one))]
    if one.energy_j is not None and one.mean_power_w is not None:
        items.append(("energy", f"{figures.energy(one.energy_j)}, {one.mean_power_w:.0f} W on average"))
    held = [
        f"{_name(reason)} {figures.duration(seconds)}"
        for reason, seconds in one.throttle_s
        if seconds >= 1 and reason not in HARMLESS
    ]
    if held:
        items.append(("held down by", ", ".join(held)))
    items += [(words, f"{count:,}") for words, count in _errors(one)]
    return items


def since_trouble(board: Board, row: GpuRow) -> str:
    """For everybody: a sentence about what went wrong meanwhile; empty when nothing did."""
    one = board.view.since.get(row.uuid)
    if one is None or one.passed_s < WORTH_TELLING_S:
        return ""
    parts = [
        f"held down by {_name(reason)} for {figures.duration(seconds)}"
        for reason, seconds in one.throttle_s
        if reason in _GRAVE and seconds >= LONG_HELD_S
    ]
    parts += [f"{count:,} {words}" for words, count in _errors(one) if words != "PCIe replays"]
    return f"GPU {row.label}, since you last looked at {_when(board, one)}: {', '.join(parts)}." if parts else ""


def _when(board: Board, one: SinceLastSeen) -> str:
    return figures.clock(one.seen_s, board.utc_offset_s, board.now_s)


def _name(reason: str) -> str:
    return reason.replace("_", " ")


def _errors(one: SinceLastSeen) -> list[tuple[str, int]]:
    counts = (
        ("uncorrected memory errors", one.ecc_uncorrected),
        ("corrected memory errors", one.ecc_corrected),
        ("rows remapped", one.remapped_rows),
        ("PCIe replays", one.pcie_replays),
    )
    return [(words, count) for words, count in counts if count]
