"""The one screen: what keys and the mouse do on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.widgets import Input

from monitor.types.requests import Release
from monitor.types.run import Run
from tui.app.actions import ACTIONS, action
from tui.screens.copy import CopyScreen
from tui.screens.detail_panel import paint_detail
from tui.screens.help import HelpScreen
from tui.screens.host import host_of
from tui.screens.painted import PaintedScreen
from tui.widgets.header import paint_header
from tui.widgets.ink import Pen, plain
from tui.widgets.line_panel import LinePanel
from tui.widgets.looking import SORTS, TAB_WORDS, TABS, WINDOWS
from tui.widgets.processes_tab import members_of, process_key, selected_place
from tui.widgets.run_figures import state_words
from tui.widgets.run_table import paint_runs
from tui.widgets.tab_bar import paint_tabs

COPY_MOST = 400
COPY_CHARTS = 40
"""Lines of a detail whose charts would fill whatever they are given."""
AREAS = ("gpus", "runs", "detail")


class Overview(PaintedScreen):
    """Every action of the registry has its method here."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(key, f"do('{one.id}')", one.words, show=False, id=f"traintop.{one.id}.{key}", priority=key == "tab")
        for one in ACTIONS
        for key in one.keys
    ]

    def action_do(self, name: str) -> None:
        """A key was pressed."""
        self.do(name)

    def do(self, name: str) -> None:
        """Do an action by its id."""
        if not self.is_so(action(name).when):
            return
        handler: Callable[[], None] = getattr(self, f"do_{name}")
        handler()

    def look(self, **changes: object) -> None:
        """Change what is looked at and paint."""
        self.looking = self.looking.with_(**changes)
        self.paint()

    def do_up(self) -> None:
        """One line up."""
        self._move(-1)

    def do_down(self) -> None:
        """One line down."""
        self._move(1)

    def do_first(self) -> None:
        """The first line."""
        self._move(-100_000)

    def do_last(self) -> None:
        """The last line."""
        self._move(100_000)

    def _move(self, by: int) -> None:
        if self.looking.area == "detail":
            self._move_detail(by)
            return
        runs = self.looking.area == "runs"
        keys = [row.key for row in self.rows] if runs else [entry.key for entry in self.gpu_panel.entries]
        if not keys:
            return
        current = self.looking.run if runs else self.looking.gpu
        at = keys.index(current) if current in keys else 0
        key = keys[max(0, min(len(keys) - 1, at + by))]
        if runs:
            self._moved = True
            self.look(run=key)
        else:
            self.look(gpu=key)

    def _move_detail(self, by: int) -> None:
        run = self.selected_run
        if TABS[self.looking.tab] == "processes" and run is not None:
            members = members_of(run)
            if members:
                place = selected_place(members, self.looking.process) + by
                self.look(process=process_key(members[max(0, min(len(members) - 1, place))]))
            return
        if TABS[self.looking.tab] == "log" and self.selected_entry is None:
            by = -by  # a log is read from its end
        self.look(detail_top=max(0, self.looking.detail_top + by))

    def do_area(self) -> None:
        """The next panel gets the keys."""
        self._turn_area(1)

    def do_area_back(self) -> None:
        """The panel before gets the keys."""
        self._turn_area(-1)

    def _turn_area(self, by: int) -> None:
        areas = [area for area in AREAS if self._has(area)]
        at = areas.index(self.looking.area) if self.looking.area in areas else 0
        if self.looking.area not in areas:
            at = areas.index("runs")
        self.look(area=areas[(at + by) % len(areas)])

    def _has(self, area: str) -> bool:
        """Whether keys do anything there: the detail gets them only where there is something to choose or scroll."""
        if area == "gpus":
            return bool(self.gpu_panel.entries)
        return area == "runs" or self.most_scroll > 0 or TABS[self.looking.tab] == "processes"

    def do_open(self) -> None:
        """Open or close a sweep."""
        row = self.selected_row
        if row is None or self.looking.area == "gpus":
            return
        group = row.runs[0].group_id
        if not group or not (row.is_group or row.inside):
            return
        self._moved = True
        self.look(expanded=self.looking.expanded ^ {group}, run=f"group:{group}")

    def do_scroll_down(self) -> None:
        """Further down in the detail."""
        self._move_detail(1)

    def do_scroll_up(self) -> None:
        """Further up in the detail."""
        self._move_detail(-1)

    def _tab(self, number: int) -> None:
        area = "runs" if self.looking.area == "gpus" else self.looking.area
        self.look(tab=number % len(TABS), area=area)

    def do_tab_advice(self) -> None:
        """Advice."""
        self._tab(0)

    def do_tab_memory(self) -> None:
        """Memory."""
        self._tab(1)

    def do_tab_steps(self) -> None:
        """Steps."""
        self._tab(2)

    def do_tab_processes(self) -> None:
        """Processes."""
        self._tab(3)

    def do_tab_log(self) -> None:
        """Log."""
        self._tab(4)

    def do_tab_next(self) -> None:
        """The next tab; among GPUs in a grid the next column."""
        self._sideways(1)

    def do_tab_previous(self) -> None:
        """The tab before; among GPUs in a grid the column before."""
        self._sideways(-1)

    def _sideways(self, by: int) -> None:
        if self.looking.area == "gpus" and self.gpu_panel.stride:
            self._move(by * self.gpu_panel.stride)
        else:
            self._tab(self.looking.tab + by)

    def do_window(self) -> None:
        """The next time window."""
        self._window_chosen = True
        self.look(window=(self.looking.window + 1) % len(WINDOWS), begun=None)
        words = WINDOWS[self.looking.window].words
        self.notice(host_of(self).keep("window", words) or f"histories show the last {self.looking.span.words}")

    def do_sort(self) -> None:
        """The next order."""
        self.look(sort=(self.looking.sort + 1) % len(SORTS))
        words = f"runs by {SORTS[self.looking.sort]}" if self.looking.sort else "own runs first"
        self.notice(host_of(self).keep("sort", SORTS[self.looking.sort]) or words)

    def do_user(self) -> None:
        """The next user's runs, after the last one everybody's."""
        users = sorted({run.user for run in self.board.view.runs if run.user})
        order = ["", *users]
        at = order.index(self.looking.user) if self.looking.user in order else 0
        self.look(user=order[(at + 1) % len(order)])

    def do_mine(self) -> None:
        """Only own runs, or all."""
        self.look(mine=not self.looking.mine)

    def do_clear(self) -> None:
        """Back to the runs; from there take the filters away."""
        if self.looking.area != "runs":
            self.look(area="runs")
        else:
            self.look(mine=False, user="", text_filter="")

    def places(self) -> list[tuple[str, str, str]]:
        """What can be gone to: its name, something about it, and its target."""
        board = self.board
        runs = [
            (f"Run {board.letters.get(run.run_id, '')} {run.name}", self._about(run), f"run:{run.run_id}")
            for run in board.view.runs
        ]
        gpus = [(f"GPU {row.label} {row.identity.name}", row.uuid, f"gpu:{row.uuid}") for row in board.gpus]
        return runs + gpus

    def _about(self, run: Run) -> str:
        return f"{'you' if run.mine else run.user or '?'}, {state_words(run, self.board)[0]}"

    def go_to(self, target: str) -> None:
        """Select a run or a GPU, whatever is filtered or folded."""
        kind, _, name = target.partition(":")
        if kind == "gpu":
            self.look(area="gpus", gpu=name)
            return
        run = self.board.run(name)
        self._moved = True
        expanded = self.looking.expanded | ({run.group_id} if run is not None and run.group_id else set())
        self.look(area="runs", run=name, expanded=expanded, mine=False, user="", text_filter="")

    def do_filter(self) -> None:
        """Type a filter in place of the footer."""
        if self.query("#filter"):
            return
        field = Input(
            value=self.looking.text_filter,
            placeholder="name, user, state or command; enter keeps it, esc takes it away",
            id="filter",
            select_on_focus=False,
        )
        self.panels["footer"].display = False
        self.mount(field)
        field.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while typing."""
        self.look(text_filter=event.value)

    def on_input_submitted(self, _event: Input.Submitted) -> None:
        """Keep the filter."""
        self._close_filter()

    def on_key(self, event: events.Key) -> None:
        """Escape in the filter takes it away."""
        if event.key == "escape" and self.query("#filter"):
            event.stop()
            event.prevent_default()
            self.look(text_filter="")
            self._close_filter()

    def _close_filter(self) -> None:
        self.query("#filter").remove()
        self.panels["footer"].display = True
        self.set_focus(None)
        self.paint()

    def do_copy(self) -> None:
        """Copy what is selected and show it as plain text."""
        width = self.size.width
        lines = [paint_header(self.board, self._connection, width)[0], Pen().line(width)]
        row = self.selected_row
        if row is not None and self.selected_entry is None:
            lines += paint_runs(self.board, self.looking, (row,), width, 2)
        title = paint_tabs(self.board, self.looking, row, self.selected_entry, width)
        lines.append(title if row is None or self.selected_entry else plain(TAB_WORDS[self.looking.tab], width))
        listing = self.selected_entry is None and TABS[self.looking.tab] in ("processes", "log")
        room = COPY_MOST if listing else COPY_CHARTS
        lines += paint_detail(self.board, self.looking, row, self.selected_entry, width, room, self._options)[0]
        text = "\n".join(line.text.rstrip() for line in lines).rstrip() + "\n"
        self.app.copy_to_clipboard(text)
        self.app.push_screen(CopyScreen(text, host_of(self).make_palette()))

    def do_signal(self) -> None:
        """Ask before a signal to the selected process."""
        run = self.selected_run
        members = members_of(run) if run is not None else ()
        if TABS[self.looking.tab] != "processes" or self.selected_entry is not None or not members:
            self.look(tab=3, area="detail")
            return
        member = members[selected_place(members, self.looking.process)]
        # Only here: other systems than Linux, where a recording can be shown, lack these signals.
        from tui.app.signals import refusal, send, target_of, this_host
        from tui.screens.confirm import ConfirmScreen

        words = refusal(self._newest, member, self._options.kind, allowed=self._options.allow_signals, host=this_host())
        if words:
            self.notice(words, seconds=8)
            return
        target = target_of(self._newest, member)
        palette = host_of(self).make_palette()
        screen = ConfirmScreen(target, palette, send)
        self.app.push_screen(screen, lambda said: self.notice(said, seconds=8) if said else None)

    def do_pause(self) -> None:
        """Hold the picture, or go on with the newest."""
        paused = not self.looking.paused
        self.looking = self.looking.with_(paused=paused)
        host_of(self).set_paused(paused)
        if not paused:
            self.take(self._newest, host_of(self).connection())
        else:
            self.paint()

    def do_slower(self) -> None:
        """Slower."""
        self.notice(host_of(self).change_pace(0.5))

    def do_faster(self) -> None:
        """Faster."""
        self.notice(host_of(self).change_pace(2.0))

    def do_theme(self) -> None:
        """The next theme."""
        self.notice(host_of(self).next_theme())

    def do_mouse(self) -> None:
        """Give the mouse to the terminal, or take it back."""
        self.notice(host_of(self).toggle_mouse())

    def do_release(self) -> None:
        """Let go of the GPUs."""
        self._send(Release(released=True))
        self.notice("asked the agent to let go of the GPUs")

    def do_take(self) -> None:
        """Take the GPUs again."""
        self._send(Release(released=False))
        self.notice("asked the agent to take the GPUs again")

    def do_help(self) -> None:
        """Everything on one screen."""
        self.app.push_screen(HelpScreen(host_of(self).make_palette(), self.is_so))

    def do_palette(self) -> None:
        """The command palette."""
        self.app.action_command_palette()

    def do_quit(self) -> None:
        """Leave at once."""
        self.app.exit()

    def on_line_panel_clicked(self, event: LinePanel.Clicked) -> None:
        """A click selects; a second one opens."""
        kind, _, name = event.target.partition(":")
        if kind == "run" and all(row.key != name for row in self.rows):
            self.go_to(event.target)
        elif kind == "run":
            self._moved = True
            self.look(area="runs", run=name)
            if event.count > 1:
                self.do_open()
        elif kind == "gpu":
            self.look(area="gpus", gpu=name)
        elif kind == "tab":
            self._tab(int(name))
        elif kind == "do":
            self.do(name)
        elif kind == "process":
            self.look(area="detail", process=name)

    def on_line_panel_wheeled(self, event: LinePanel.Wheeled) -> None:
        """The wheel moves in the panel under it."""
        area = event.panel.id if event.panel.id in AREAS else "detail"
        if area == "detail":
            self._move_detail(event.step)
            return
        if area != self.looking.area:
            self.looking = self.looking.with_(area=area)
        self._move(event.step)
