"""What goes to the terminal in a tick. Counted at the compositor, so it does not depend on the machine."""

from __future__ import annotations

import pyte
import pytest

from tests.tui import scenes
from tests.tui.apps import app_of, show

TICKS = range(100, 108)


@pytest.fixture(autouse=True)
def true_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """The terminal that costs most, whatever the tests run in: fewer colours are shorter to say."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("NO_COLOR", raising=False)


async def ticks(name: str, size: tuple[int, int]) -> tuple[list[int], int]:
    """Bytes of each tick, and of a tick in which nothing changes."""
    app = app_of()
    async with app.run_test(size=size) as pilot:
        await show(pilot, scenes.view_of(name, TICKS[0]))
        app.overview.begin()
        await pilot.pause()
        counts = []
        for tick in TICKS[1:]:
            app.sent_bytes = 0
            await show(pilot, scenes.view_of(name, tick))
            counts.append(app.sent_bytes)
        app.sent_bytes = 0
        await show(pilot, scenes.view_of(name, TICKS[-1]))
        return counts, app.sent_bytes


async def test_a_tick_without_changes_sends_nothing() -> None:
    _, same = await ticks("eight", (120, 40))
    assert same == 0


@pytest.mark.parametrize(
    ("name", "size", "normal", "most"),
    [("one", (120, 40), 1_500, 5_000), ("eight", (120, 40), 2_500, 5_000), ("sixty_four", (200, 60), 4_000, 12_000)],
)
async def test_a_tick_stays_within_its_budget(name: str, size: tuple[int, int], normal: int, most: int) -> None:
    counts, _ = await ticks(name, size)
    assert 0 < sorted(counts)[len(counts) // 2] <= normal
    assert max(counts) <= most


async def test_a_tick_changes_no_layout() -> None:
    app = app_of()
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot, scenes.view_of("eight", 100))
        sizes = {name: panel.size for name, panel in app.overview.panels.items()}
        await show(pilot, scenes.view_of("eight", 101))
        assert {name: panel.size for name, panel in app.overview.panels.items()} == sizes


async def test_a_terminal_shows_the_same_after_parts_as_after_the_whole() -> None:
    parts, whole = pyte.Screen(120, 40), pyte.Screen(120, 40)
    app = app_of()
    async with app.run_test(size=(120, 40)) as pilot:
        stream = pyte.Stream(parts)
        app.written = stream.feed
        for tick in TICKS:
            await show(pilot, scenes.view_of("eight", tick))
        for key in ("down", "2", "w", "3", "shift+tab", "end", "t", "5", "1"):
            await pilot.press(key)
        await show(pilot, "hostile")
        await show(pilot, "shared")
        app.written = pyte.Stream(whole).feed
        app.screen.refresh(layout=True)
        app.refresh()
        await pilot.pause()
        await pilot.pause()
    assert whole.display[0].strip()
    assert parts.display == whole.display
    for y in range(40):
        assert [parts.buffer[y][x] for x in range(120)] == [whole.buffer[y][x] for x in range(120)]


async def test_nothing_is_sent_while_another_screen_covers_this_one() -> None:
    app = app_of()
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot, scenes.view_of("eight", 100))
        await pilot.press("y")
        await pilot.pause()
        before = app.overview.panels["gpus"].text
        app.sent_bytes = 0
        await show(pilot, scenes.view_of("eight", 107))
        assert app.sent_bytes == 0
        await pilot.press("escape")
        await pilot.pause()
        assert app.overview.panels["gpus"].text != before
