"""What the person looks at: selection, tab, window, order and filters. One frozen value that every painter gets."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

TABS = ("advice", "memory", "steps", "processes", "log")
TAB_WORDS = ("Advice", "Memory", "Steps", "Processes", "Log")


@dataclass(frozen=True)
class Window:
    """A stretch of time that histories show."""

    seconds: float
    words: str


WINDOWS = (
    Window(60, "1 min"),
    Window(300, "5 min"),
    Window(1800, "30 min"),
    Window(4 * 3600, "4 h"),
    Window(24 * 3600, "24 h"),
)

JUST_BEGUN = (Window(15, "15 s"), Window(30, "30 s"), Window(120, "2 min"))
"""Shown in place of a longer window while no more than this was watched at all."""

SORTS = ("own first", "time left", "memory", "name")


@dataclass(frozen=True)
class Looking:
    """The state of the screen that a key can change."""

    area: str = "runs"
    """Which panel the arrow keys move in: gpus or runs."""
    gpu: str = ""
    """Key of the selected GPU line: a uuid, or "fold:…" for a line that stands for several."""
    run: str = ""
    """The selected run's id, or "group:…" for a sweep's line."""
    tab: int = 0
    window: int = 0
    sort: int = 0
    text_filter: str = ""
    user: str = ""
    """Only runs of this user; empty for all."""
    mine: bool = False
    expanded: frozenset[str] = field(default_factory=frozenset)
    """Groups of sweeps that are open."""
    detail_top: int = 0
    """First line of the detail that is shown."""
    process: str = ""
    """Key of the selected process (see `processes_tab.process_key`); empty for the first."""
    paused: bool = False
    begun: Window | None = None
    """One of `JUST_BEGUN` while little was watched, so that histories are not mostly empty."""

    @property
    def span(self) -> Window:
        """The time window of all histories; their axes say which it is."""
        return self.begun or WINDOWS[self.window]

    def with_(self, **changes: object) -> Looking:
        """A copy with some fields changed; a new subject starts at the top of its detail."""
        if {"run", "gpu", "tab", "area"} & changes.keys() and "detail_top" not in changes:
            changes |= {"detail_top": 0}
        return replace(self, **changes)  # type: ignore[arg-type]
