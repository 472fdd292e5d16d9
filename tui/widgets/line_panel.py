"""A widget that shows ready lines and sends only what changed to the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from tui.theme.palette import Palette
from tui.widgets.ink import EMPTY, Line, width_of

WHOLE_LINE_SHARE = 0.6
"""Above this share of changed cells the whole line is sent: one piece costs less than many moves of the cursor."""


class LinePanel(Widget, can_focus=False):
    """Lines from a painter. `show` compares them with what is there and marks the changed parts."""

    DEFAULT_CSS = "LinePanel { width: 100%; height: 1; }"
    ALLOW_SELECT = False

    class Clicked(Message):
        """Somebody clicked on something that means something."""

        def __init__(self, target: str, count: int) -> None:
            super().__init__()
            self.target = target
            self.count = count

    class Wheeled(Message):
        """The wheel was turned over a panel."""

        def __init__(self, panel: LinePanel, step: int) -> None:
            super().__init__()
            self.panel = panel
            self.step = step

    def __init__(self, palette: Palette, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._palette = palette
        self._lines: tuple[Line, ...] = ()

    @property
    def lines(self) -> tuple[Line, ...]:
        """What is shown."""
        return self._lines

    @property
    def text(self) -> str:
        """What is shown, without styles: for tests and for copying."""
        return "\n".join(line.text.rstrip() for line in self._lines)

    def use(self, palette: Palette) -> None:
        """Take the styles of another theme."""
        self._palette = palette
        self.refresh()

    def show(self, lines: Sequence[Line]) -> None:
        """Show these lines from the top; mark what differs from before."""
        old, new = self._lines, tuple(lines)
        if old == new:
            return
        self._lines = new
        width = self.size.width
        regions: list[Region] = []
        for y in range(min(max(len(old), len(new)), self.size.height)):
            before = old[y] if y < len(old) else EMPTY
            after = new[y] if y < len(new) else EMPTY
            if before is not after and (before.spans != after.spans or before.back != after.back):
                regions.extend(Region(x, y, end - x, 1) for x, end in changed_columns(before, after, width))
        if regions:
            self.refresh(*regions)

    def render_line(self, y: int) -> Strip:
        """One line for the compositor."""
        width = self.size.width
        line = self._lines[y] if y < len(self._lines) else EMPTY
        style = self._palette.style
        segments = [Segment(text, style(role, line.back)) for text, role in line.spans]
        used = sum(width_of(text) for text, _ in line.spans)
        if used < width:
            segments.append(Segment(" " * (width - used), style("text", line.back)))
            return Strip(segments, width)
        return Strip(segments, used).crop(0, width)

    def on_click(self, event: events.Click) -> None:
        """Tell the screen what was clicked."""
        line = self._lines[event.y] if 0 <= event.y < len(self._lines) else EMPTY
        target = next((name for start, end, name in line.hits if start <= event.x < end), line.target)
        if target:
            event.stop()
            self.post_message(self.Clicked(target, event.chain))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Pass the wheel on."""
        event.stop()
        self.post_message(self.Wheeled(self, -1))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Pass the wheel on."""
        event.stop()
        self.post_message(self.Wheeled(self, 1))


def changed_columns(before: Line, after: Line, width: int) -> list[tuple[int, int]]:
    """The column ranges in which two lines differ, near ones joined."""
    whole = [(0, width)]
    if before.back != after.back:
        return whole
    old, new = _cells(before, width), _cells(after, width)
    if not old or len(old) != len(new):
        return whole
    ranges: list[tuple[int, int]] = []
    for x, (one, other) in enumerate(zip(old, new, strict=True)):
        if one == other:
            continue
        if ranges and x - ranges[-1][1] < 8:
            ranges[-1] = (ranges[-1][0], x + 1)
        else:
            ranges.append((x, x + 1))
    if sum(end - start for start, end in ranges) > width * WHOLE_LINE_SHARE:
        return whole
    return ranges


def _cells(line: Line, width: int) -> list[tuple[str, str]]:
    cells: list[tuple[str, str]] = []
    for text, role in line.spans:
        if width_of(text) != len(text):
            return []  # wide characters: send the line whole
        cells.extend((character, role) for character in text)
    if len(cells) < width:
        cells.extend([(" ", "text")] * (width - len(cells)))
    return cells
