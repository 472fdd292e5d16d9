"""How many lines each panel gets."""

from __future__ import annotations

from dataclasses import dataclass

GPU_SHARE = 0.42
GPU_SHARE_SMALL = 0.33
GPU_SHARE_MOST = 0.45
"""In a small terminal, where that shows every GPU at once."""
SMALL_LINES = 30
DETAIL_SHARE = 0.34
DETAIL_LEAST = 5
RUNS_LEAST = 3


@dataclass(frozen=True)
class Heights:
    """Lines of each panel, from top to bottom."""

    header: int
    gpus: int
    runs: int
    tabs: int
    detail: int
    footer: int


def gpu_room(height: int, header: int, runs: int, needed: int = 0) -> int:
    """Lines that the GPU panel may take: more when there are few runs, and where `needed` lines show every GPU."""
    space = height - header - 2
    wanted_below = max(RUNS_LEAST, min(runs + 1, space // 4)) + max(DETAIL_LEAST, round(space * DETAIL_SHARE))
    if height < SMALL_LINES:
        return max(2, round(space * GPU_SHARE_SMALL), min(needed, round(space * GPU_SHARE_MOST)))
    return max(2, min(round(space * 0.6), max(round(space * GPU_SHARE), space - wanted_below)))


def arrange(height: int, header: int, gpus: int, runs: int) -> Heights:
    """Share out the screen. `gpus` are painted lines, `runs` is the number of lines that the runs would like."""
    space = max(0, height - header - 2 - gpus)
    detail = max(DETAIL_LEAST, round((height - header - 2) * DETAIL_SHARE))
    lines = max(min(RUNS_LEAST, space), min(runs + 1, space - detail))
    rest = space - lines
    return Heights(header, gpus, lines, 1 if rest > 0 else 0, max(0, rest), 1)
