"""Pictures of whole screens. Look at the report and renew them with --snapshot-update when a change is wanted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.tui.apps import app_of, show

Compare = Callable[..., bool]

PICTURES: tuple[tuple[str, tuple[int, int], str, tuple[str, ...]], ...] = (
    ("one", (80, 24), "dark", ()),
    ("one", (120, 40), "light", ("3",)),
    ("eight", (80, 24), "ansi", ()),
    ("eight", (120, 40), "dark", ()),
    ("eight", (120, 40), "light", ("2",)),
    ("eight", (120, 40), "contrast", ("shift+tab", "end", "up")),
    ("eight", (120, 40), "ansi", ("4",)),
    ("sixteen", (120, 40), "dark", ()),
    ("sixty_four", (80, 24), "dark", ()),
    ("sixty_four", (200, 60), "light", ()),
    ("shared", (120, 40), "ansi", ("down", "down")),
    ("lost", (80, 24), "light", ()),
    ("no_driver", (80, 24), "dark", ("2",)),
)


IDS = [f"{name}-{size[0]}x{size[1]}-{theme}{'-' + keys[0] if keys else ''}" for name, size, theme, keys in PICTURES]


@pytest.mark.parametrize(("name", "size", "theme", "keys"), PICTURES, ids=IDS)
def test_picture(snap_compare: Compare, name: str, size: tuple[int, int], theme: str, keys: tuple[str, ...]) -> None:
    async def prepare(pilot: Pilot[Any]) -> None:
        await show(pilot, name)
        await pilot.press(*keys)

    run_before: Callable[[Pilot[Any]], Awaitable[None]] = prepare
    assert snap_compare(app_of(theme=f"traintop-{theme}"), terminal_size=size, run_before=run_before)
