"""The Textual application: themes, the stream, and one screen."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from textual._compositor import CompositorUpdate
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.filter import LineFilter
from textual.screen import Screen
from textual.timer import Timer

from monitor.clean import clean
from monitor.stream.source import MessageSource
from tui.app.actions import ACTIONS
from tui.app.feed import Feed, MessageRefused, StreamEnded, ViewReady
from tui.app.lean_update import lean
from tui.app.options import LiveOptions
from tui.outputs.chosen import not_there
from tui.screens.overview import Overview
from tui.theme.loader import default_theme, load_themes
from tui.theme.palette import Palette, fallback_meanings
from tui.view import ViewBuilder
from tui.widgets.glyphs import AsciiFilter
from tui.widgets.header import Connection

if TYPE_CHECKING:
    from textual.theme import Theme

NOTICE_S = 7.0
"""For each of the notices at the start."""
FIRST_PAINT_AFTER_S = 0.8
"""Without a first snapshot by then the screen says that it waits."""


@runtime_checkable
class Playback(Protocol):
    """A source that can stand still and change its speed."""

    @property
    def speed(self) -> float:
        """Seconds of the recording in one of the viewer's."""

    def pause(self) -> None:
        """Stand still."""

    def resume(self) -> None:
        """Go on."""

    def set_speed(self, speed: float) -> None:
        """Play at another speed."""


class TraintopApp(App[None]):
    """Shows one stream until the person quits."""

    TITLE = "traintop"
    CSS_PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "app.tcss")
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c", "quit", show=False, priority=True)]
    """^C leaves from wherever one is; all other keys are in the registry of actions."""
    ALLOW_SELECT = False

    def __init__(
        self,
        source: MessageSource,
        options: LiveOptions | None = None,
        *,
        builder: ViewBuilder | None = None,
        driver_class: type[Driver] | None = None,
    ) -> None:
        self.options = options or LiveOptions()
        super().__init__(driver_class=driver_class, ansi_color=True if self.options.no_color else None)
        self._loaded = load_themes(self.options.theme_folders)
        for theme in self._loaded.themes:
            self.register_theme(theme)
        self.notices: list[str] = [clean(one, 400) for one in (*self.options.notices, *self._loaded.problems)]
        self._own_themes = [theme.name for theme in self._loaded.themes]
        chosen = self.options.theme
        if f"traintop-{chosen}" in self.available_themes:
            chosen = f"traintop-{chosen}"  # "light" is enough
        fallback = default_theme(light=self.options.light, colors=self.options.colors, no_color=self.options.no_color)
        if chosen and chosen not in self.available_themes:
            there = ", ".join(name.removeprefix("traintop-") for name in self._own_themes)
            self.notices.append(f"There is no theme {chosen!r}; there are {there}. {fallback} is used.")
            chosen = ""
        self.theme = chosen or fallback
        self.source = source
        self.feed = Feed(source, builder or ViewBuilder(), self.post_message)
        self._told = 0
        self._gpus_to_check = self.options.gpus
        self.ended = ""
        self._mouse = True
        self._ascii = (AsciiFilter(),) if self.options.ascii_only else ()
        self._overview: Overview | None = None
        self._timer: Timer | None = None

    @property
    def overview(self) -> Overview:
        """The one screen under all questions."""
        if self._overview is None:
            self._overview = Overview(self.options, self.make_palette())
        return self._overview

    def get_default_screen(self) -> Screen[None]:
        """The overview is there from the first frame on."""
        return self.overview

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Textual's, and ours where the terminal has no UTF-8."""
        return [*super().get_line_filters(), *self._ascii]

    def _display(self, screen: Screen[object], renderable: Any) -> None:  # noqa: ANN401 - as Textual has it
        super()._display(screen, lean(renderable) if isinstance(renderable, CompositorUpdate) else renderable)  # type: ignore[arg-type]

    def on_mount(self) -> None:
        """Begin to listen."""
        self.theme_changed_signal.subscribe(self, self._restyle)
        self.feed.start()
        self._timer = self.set_interval(1.0, self._look_at_clock)
        self.set_timer(FIRST_PAINT_AFTER_S, self.overview.begin)
        self._tell_next()

    def on_unmount(self) -> None:
        """Let go of the stream; never waits long."""
        self.feed.close()

    def on_view_ready(self, message: ViewReady) -> None:
        """Paint the newest view."""
        self.overview.take(message.view, self.connection())
        if self._gpus_to_check and message.view.hello is not None and message.view.hello.gpus:
            strange = not_there(message.view, self._gpus_to_check)
            self._gpus_to_check = ()
            if strange:
                self.notices.append(strange)
                if self._told == len(self.notices) - 1:
                    self._tell_next()

    def _tell_next(self) -> None:
        """One notice after another: the last line has room for one."""
        if self._told < len(self.notices):
            self.overview.notice(self.notices[self._told], seconds=NOTICE_S)
            self._told += 1
            self.set_timer(NOTICE_S, self._tell_next)

    def on_message_refused(self, message: MessageRefused) -> None:
        """Say it; the picture stays."""
        self.overview.notice(clean(message.sentence, 200), seconds=10)

    def on_stream_ended(self, message: StreamEnded) -> None:
        """Keep what is shown and say that nothing more will come."""
        self.ended = clean(message.reason, 200) or "the stream is over"
        self.overview.reconnect(self.connection())

    def connection(self) -> Connection:
        """How the stream stands now."""
        speed = self.source.speed if isinstance(self.source, Playback) else 1.0
        return Connection(
            kind=self.options.kind,
            title=clean(os.path.basename(self.options.title), 40),
            interval_s=self.options.interval_s,
            speed=speed,
            paused=self.overview.looking.paused,
            silent_s=None if self.options.kind == "replay" else self.feed.silent_s,
            ended=self.ended,
        )

    def _look_at_clock(self) -> None:
        """Say how long nothing has come: the only thing that changes without a message."""
        self.overview.reconnect(self.connection())

    def set_paused(self, paused: bool) -> None:
        """A replay stands still; a live stream goes on being watched behind a still picture."""
        if isinstance(self.source, Playback):
            if paused:
                self.source.pause()
            else:
                self.source.resume()
        self.overview.reconnect(self.connection())

    def change_pace(self, factor: float) -> str:
        """Change the speed of a replay; what to say about it."""
        if not isinstance(self.source, Playback):
            return "The interval is set when traintop starts: --interval SECONDS"
        self.source.set_speed(self.source.speed * factor)
        return f"replay at {self.source.speed:g}×"

    def toggle_mouse(self) -> str:
        """Give the mouse to the terminal, or take it back; what to say about it."""
        self._mouse = not self._mouse
        self.hold_mouse(True)
        if self._mouse:
            return "the mouse works here again"
        return "the mouse is the terminal's now: mark and copy as usual; M takes it back"

    def hold_mouse(self, hold: bool) -> None:
        """Let a clean screen free the mouse for a while, without forgetting what the person wants."""
        driver = self._driver
        if driver is None:
            return
        name = "_enable_mouse_support" if hold and self._mouse else "_disable_mouse_support"
        switch = getattr(driver, name, None)
        if switch is not None:
            switch()
            driver.flush()

    def next_theme(self) -> str:
        """Switch to the next of our and the user's themes; what to say about it."""
        names = self._own_themes
        at = names.index(self.theme) if self.theme in names else -1
        return self.choose_theme(names[(at + 1) % len(names)])

    def choose_theme(self, name: str) -> str:
        """Switch to this theme, also for next time; what to say about it."""
        self.theme = name
        return self.keep("theme", name) or f"theme {name}"

    def keep(self, name: str, value: str) -> str:
        """Keep a setting for next time; a sentence when that failed."""
        return "" if self.options.save is None else self.options.save(name, value)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Meanings for themes that know nothing of traintop, made of their base palette."""
        theme = self.current_theme
        base = theme.to_color_system().generate()
        return fallback_meanings(
            base["foreground"],
            base["background"],
            theme.primary,
            theme.accent or theme.primary,
            theme.warning or theme.primary,
            theme.error or theme.primary,
            theme.success or theme.primary,
            ansi=theme.ansi,
        )

    def make_palette(self) -> Palette:
        """Styles of the current theme."""
        return Palette(self.get_css_variables())

    def _restyle(self, _theme: Theme) -> None:
        self.overview.use(self.make_palette())

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:  # noqa: ARG002
        """The palette offers every action that is possible now, each theme, and runs and GPUs by their names."""
        overview = self.overview
        for action in ACTIONS:
            if action.id != "palette" and overview.is_so(action.when):
                keys = f"key: {action.shown}" if action.shown else "palette only"
                yield SystemCommand(action.words, keys, lambda name=action.id: overview.do(name))
        for title, about, target in overview.places():
            yield SystemCommand(
                _unmarked(title), _unmarked(about), lambda at=target: overview.go_to(at), discover=False
            )
        for name in sorted(self.available_themes):
            yield SystemCommand(f"Theme {name}", "colours", lambda name=name: self.choose_theme(name))


def _unmarked(text: str) -> str:
    """Foreign text for the palette, which takes brackets for markup."""
    return text.replace("[", "(").replace("]", ")").replace("\\", "/")
