"""Everything a person can do, once: keys, footer, command palette and help are all made from this."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Action:
    """One thing to do."""

    id: str
    """The screen has a method `do_<id>`."""
    keys: tuple[str, ...]
    """Keys by Textual's names; none for what only the palette offers."""
    shown: str
    """The keys as a person reads them."""
    words: str
    """For the palette and the help."""
    short: str = ""
    """For the footer; empty keeps it out of there."""
    group: str = "Look"
    when: str = ""
    """What must be so, else the action is neither offered nor done; see `Overview.is_so`."""
    rank: int = 50
    """The lowest ranks stay in a narrow footer."""


ACTIONS: tuple[Action, ...] = (
    Action("up", ("up", "k"), "↑ k", "The line above", group="Move"),
    Action("down", ("down", "j"), "↓ j", "The line below", "select", "Move", rank=10),
    Action("first", ("home", "g"), "home g", "The first line", group="Move"),
    Action("last", ("end", "G"), "end G", "The last line", group="Move"),
    Action("area", ("tab",), "tab", "GPUs, runs, detail in turn", "GPUs/runs", "Move", rank=20),
    Action("area_back", ("shift+tab",), "shift+tab", "The same, backwards", group="Move"),
    Action("open", ("enter", "space"), "enter", "Open or close a sweep", group="Move"),
    Action("scroll_down", ("shift+down", "pagedown"), "shift+↓ pgdn", "Detail: further down", group="Move"),
    Action("scroll_up", ("shift+up", "pageup"), "shift+↑ pgup", "Detail: further up", group="Move"),
    Action("tab_advice", ("1",), "1", "Advice", "tab", "Tabs", rank=15),
    Action("tab_memory", ("2",), "2", "Memory", group="Tabs"),
    Action("tab_steps", ("3",), "3", "Steps", group="Tabs"),
    Action("tab_processes", ("4",), "4", "Processes", group="Tabs"),
    Action("tab_log", ("5",), "5", "Log", group="Tabs"),
    Action("tab_next", ("right",), "→", "The next tab", group="Tabs"),
    Action("tab_previous", ("left",), "←", "The tab before", group="Tabs"),
    Action("window", ("w",), "w", "Time window, 1 min to 24 h", "window", rank=25),
    Action("sort", ("s",), "s", "Order of the runs", "sort", rank=40),
    Action("filter", ("slash",), "/", "Filter the runs", "filter", rank=30),
    Action("user", ("u",), "u", "Runs of one user, in turn", "user", rank=45),
    Action("mine", ("m",), "m", "Only my runs", "mine", rank=35),
    Action("clear", ("escape",), "esc", "Back to the runs, no filters"),
    Action("copy", ("y",), "y", "Copy, and show as plain text", "copy", "Do", rank=38),
    Action("signal", ("x",), "x", "Send a signal to a process", "signal", "Do", "signals", rank=36),
    Action("pause", ("p",), "p", "Pause; watching goes on", "pause", "Do", rank=60),
    Action("slower", ("minus",), "-", "Slower replay", "", "Do", "replay"),
    Action("faster", ("plus", "equals_sign"), "+", "Faster replay", "", "Do", "replay"),
    Action("theme", ("t",), "t", "The next theme", "theme", "Do", rank=70),
    Action("mouse", ("M",), "M", "Mouse to the terminal, back", "", "Do"),
    Action("release", (), "", "Let go of the GPUs, so that the driver can be reloaded", "", "Do", "live"),
    Action("take", (), "", "Take the GPUs again", "", "Do", "live"),
    Action("help", ("question_mark",), "?", "This help", "help", "Do", rank=2),
    Action("palette", ("ctrl+p",), "^p", "All commands", "commands", "Do", rank=65),
    Action("quit", ("q", "ctrl+c"), "q", "Quit", "quit", "Do", rank=1),
)

GROUPS = ("Move", "Tabs", "Look", "Do")
TOGETHER: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("up", "down"), "↑↓ k j", "A line up or down"),
    (("first", "last"), "home end", "The first or last line (g G)"),
    (("area", "area_back"), "tab", "GPUs, runs, detail in turn"),
    (("scroll_down", "scroll_up"), "shift+↑↓", "Scroll the detail (pgup pgdn)"),
    (("tab_advice", "tab_memory", "tab_steps", "tab_processes", "tab_log"), "1–5", "Advice Memory Steps Procs Log"),
    (("tab_next", "tab_previous"), "→ ←", "The next tab, the tab before"),
    (("slower", "faster"), "- +", "Speed of the replay"),
)
"""Actions that share a line of the help: their ids, keys and words."""

SHOWN_IN_FOOTER = {"down": "↑↓", "tab_advice": "1–5"}
"""Where the footer stands for more than one action."""


def action(name: str) -> Action:
    """The action with this id.

    Raises:
        KeyError: there is none.
    """
    for one in ACTIONS:
        if one.id == name:
            return one
    raise KeyError(name)
