"""The painting of the one screen: GPUs, runs, and the detail of what is selected."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.app import ComposeResult
from textual.screen import Screen
from textual.timer import Timer

from monitor.types.identity import ProcessIdentity
from monitor.types.requests import Request, Tail, Watch
from monitor.types.run import Run
from tui.app.actions import ACTIONS, SHOWN_IN_FOOTER
from tui.app.options import LiveOptions
from tui.screens.arrange import Heights, arrange, gpu_room
from tui.screens.detail_panel import paint_detail
from tui.screens.host import host_of
from tui.theme.palette import Palette
from tui.view import View
from tui.widgets.board import Board, Letters, build_board
from tui.widgets.footer import paint_footer
from tui.widgets.gpu_grid import lines_for_all
from tui.widgets.gpu_panel import GpuPanel, paint_gpus
from tui.widgets.gpu_rows import GpuEntry
from tui.widgets.header import Connection, paint_header
from tui.widgets.ink import Line
from tui.widgets.line_panel import LinePanel
from tui.widgets.log_tab import log_process
from tui.widgets.looking import JUST_BEGUN, SORTS, TABS, WINDOWS, Looking
from tui.widgets.run_table import RunRow, fitting, paint_runs, run_rows
from tui.widgets.tab_bar import paint_tabs

NOTICE_S = 4.0
ENDED_SHOWN = 3
TAIL_BYTES = 32 * 1024


class PaintedScreen(Screen[None]):
    """Paints views. What a person chose is in `looking`; what is true is in `board`."""

    AUTO_FOCUS = None

    def __init__(self, options: LiveOptions, palette: Palette) -> None:
        super().__init__()
        self._options = options
        self._letters = Letters()
        self._connection = Connection(kind=options.kind, title=options.title, interval_s=options.interval_s)
        self._newest = View()
        self._started = False
        self._moved = False
        windows = [window.words for window in WINDOWS]
        self._window_chosen = options.window in windows
        self._notice = ""
        self._notice_timer: Timer | None = None
        self._asked: Watch | None = None
        self._tailed: ProcessIdentity | None = None
        self._heights = Heights(1, 0, 0, 1, 0, 1)
        self.looking = Looking(
            window=windows.index(options.window) if self._window_chosen else 0,
            sort=SORTS.index(options.sort) if options.sort in SORTS else 0,
        )
        self.most_scroll = 0
        self.board = Board(View())
        self.gpu_panel = GpuPanel((), ())
        self.rows: tuple[RunRow, ...] = ()
        self.panels = {
            name: LinePanel(palette, id=name) for name in ("header", "gpus", "runs", "tabs", "detail", "footer")
        }

    def compose(self) -> ComposeResult:
        """Six panels from top to bottom."""
        yield from self.panels.values()

    def use(self, palette: Palette) -> None:
        """Take the styles of another theme."""
        for panel in self.panels.values():
            panel.use(palette)

    # What comes from the stream

    def begin(self) -> None:
        """Start to paint, whatever there is by now."""
        self._started = True
        self.paint()

    def take(self, view: View, connection: Connection) -> None:
        """Show a newer view, unless the picture is paused."""
        self._newest, self._connection = view, connection
        if self._covered:
            return  # another screen covers this one: painting below it would send that one again
        if self.looking.paused and self._options.kind != "replay":
            self._paint_header()
            return
        self.board = build_board(view, self._letters, self._options.gpus)
        if view.snapshot is not None:
            self._started = True
        self._widen_window(view)
        if self._started:
            self.paint()

    def _widen_window(self, view: View) -> None:
        """Histories show what was watched up to a minute, then five, unless a person chose a window."""
        if view.first_s is None or view.taken_s is None:
            return
        watched_s = view.taken_s - view.first_s
        window = self.looking.window
        if not self._window_chosen:
            window = 1 if watched_s > WINDOWS[0].seconds else 0
        begun = next((one for one in JUST_BEGUN if watched_s <= one.seconds), None)
        if begun is not None and (begun.seconds > WINDOWS[window].seconds or (self._window_chosen and window)):
            begun = None
        if (window, begun) != (self.looking.window, self.looking.begun):
            self.looking = self.looking.with_(window=window, begun=begun)

    def reconnect(self, connection: Connection) -> None:
        """Only the state of the connection has changed."""
        self._connection = connection
        if self._started and not self._covered:
            self._paint_header()

    @property
    def _covered(self) -> bool:
        """Whether a question or the help lies over it. Textual counts a screen below a modal one as current."""
        return self.app.screen is not self

    def on_screen_resume(self) -> None:
        """Nothing covers it any more: show what has come meanwhile."""
        if self._newest.hello is not None:
            self.take(self._newest, self._connection)

    # Painting

    def on_resize(self, _event: events.Resize) -> None:
        """Share out the lines again."""
        if self._started:
            self.paint()

    def paint(self) -> None:
        """Paint every panel; each sends only what changed."""
        width, height = self.size
        if width < 10 or height < 5:
            return
        header = paint_header(self.board, self._connection, width)
        self._choose_run()
        needed = lines_for_all(self.board, width)
        self.gpu_panel = self._paint_gpus(width, gpu_room(height, len(header), self._rows_wanted, needed))
        heights = arrange(height, len(header), len(self.gpu_panel.lines), max(1, self._rows_wanted))
        self._set_heights(heights)
        show = {
            "header": header,
            "gpus": self.gpu_panel.lines,
            "runs": paint_runs(self.board, self.looking, self.rows, width, heights.runs) if heights.runs else (),
            "tabs": (paint_tabs(self.board, self.looking, self.selected_row, self.selected_entry, width),),
            "detail": self._paint_detail(width, heights.detail),
            "footer": (self._footer(width),),
        }
        for name, lines in show.items():
            self.panels[name].show(lines)
        self._ask()

    @property
    def _rows_wanted(self) -> int:
        """Lines that the runs would like: of the ended ones only some, so that they do not crowd out the detail."""
        over = sum(row.runs[0].ended is not None for row in self.rows)
        return len(self.rows) - max(0, over - ENDED_SHOWN)

    def _paint_header(self) -> None:
        self.panels["header"].show(paint_header(self.board, self._connection, self.size.width))

    def _choose_run(self) -> None:
        self.rows = run_rows(self.board, self.looking)
        wanted = self.looking.run
        if not self._moved:
            mine = next((row.key for row in self.rows if row.runs[0].mine), "")
            current = next((row for row in self.rows if row.key == wanted), None)
            if mine and (current is None or not current.runs[0].mine):
                wanted = mine
        key = fitting(self.rows, wanted)
        if key != self.looking.run:
            self.looking = self.looking.with_(run=key)

    def _paint_gpus(self, width: int, room: int) -> GpuPanel:
        panel = paint_gpus(self.board, self.looking, width, room)
        if self.looking.area != "gpus":
            return panel
        keys = [entry.key for entry in panel.entries]
        if self.looking.gpu in keys or not keys:
            return panel
        uuid = self.looking.gpu.removeprefix("fold:")
        holding = (entry.key for entry in panel.entries if any(row.uuid == uuid for row in entry.rows))
        self.looking = self.looking.with_(gpu=next(holding, keys[0]))
        return paint_gpus(self.board, self.looking, width, room)

    def _set_heights(self, heights: Heights) -> None:
        if heights == self._heights:
            return
        self._heights = heights
        for name in ("header", "gpus", "runs", "tabs"):
            lines = getattr(heights, name)
            self.panels[name].styles.height = lines
            self.panels[name].display = lines > 0

    def _paint_detail(self, width: int, room: int) -> Sequence[Line]:
        lines, most = paint_detail(
            self.board, self.looking, self.selected_row, self.selected_entry, width, room, self._options
        )
        self.most_scroll = most
        if self.looking.detail_top > most:
            self.looking = self.looking.with_(detail_top=most)
        return lines

    def _footer(self, width: int) -> Line:
        keys = [
            (SHOWN_IN_FOOTER.get(one.id, one.shown.split()[0]), one.short, one.rank, f"do:{one.id}")
            for one in ACTIONS
            if one.short and self.is_so(one.when)
        ]
        return paint_footer(keys, width, self._notice)

    def notice(self, text: str, seconds: float = NOTICE_S) -> None:
        """Say something in the last line for a while."""
        self._notice = text
        if self._notice_timer is not None:
            self._notice_timer.stop()
        self._notice_timer = self.set_timer(seconds, self._forget_notice)
        if self._started:
            self.panels["footer"].show((self._footer(self.size.width),))

    def _forget_notice(self) -> None:
        self._notice = ""
        self.panels["footer"].show((self._footer(self.size.width),))

    # What is selected

    @property
    def selected_row(self) -> RunRow | None:
        """The selected line of the runs table."""
        return next((row for row in self.rows if row.key == self.looking.run), None)

    @property
    def selected_run(self) -> Run | None:
        """The selected run; of a sweep's line none."""
        row = self.selected_row
        return None if row is None or row.is_group else row.runs[0]

    @property
    def selected_entry(self) -> GpuEntry | None:
        """The selected GPU line, while the GPUs have the keys."""
        if self.looking.area != "gpus":
            return None
        return next((entry for entry in self.gpu_panel.entries if entry.key == self.looking.gpu), None)

    # What is asked of the agent

    def _ask(self) -> None:
        entry = self.selected_entry
        if entry is not None:
            watch = Watch(view="gpu", gpu_uuids=tuple(row.uuid for row in entry.rows))
        else:
            tab = TABS[self.looking.tab]
            watch = Watch(view="overview" if tab == "advice" else tab)
        if watch != self._asked:
            self._asked = watch
            self._send(watch)
        run = self.selected_run
        wanted = log_process(run) if entry is None and TABS[self.looking.tab] == "log" and run else None
        if wanted != self._tailed:
            if self._tailed is not None:
                self._send(Tail(process=self._tailed, max_bytes=0))
            if wanted is not None:
                self._send(Tail(process=wanted, max_bytes=TAIL_BYTES))
            self._tailed = wanted

    def _send(self, request: Request) -> None:
        host_of(self).source.send(request)

    def is_so(self, when: str) -> bool:
        """Whether a condition of an action holds."""
        if when == "signals":
            return self._options.allow_signals and self._options.kind == "live"
        if when == "replay":
            return self._options.kind == "replay"
        if when == "live":
            return self._options.kind in ("live", "remote")
        return True
