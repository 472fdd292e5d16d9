from __future__ import annotations

from rich.cells import cell_len

from tests.tui import scenes
from tests.tui.apps import app_of, show
from tui.app.actions import ACTIONS, GROUPS, TOGETHER
from tui.screens.help import help_rows, paint_help
from tui.screens.overview import Overview
from tui.widgets.footer import paint_footer


def test_no_key_does_two_things() -> None:
    keys = [key for one in ACTIONS for key in one.keys]
    assert len(keys) == len(set(keys))
    assert next(one.id for one in ACTIONS if "q" in one.keys) == "quit"


def test_ids_are_unique_and_each_has_its_method() -> None:
    ids = [one.id for one in ACTIONS]
    assert len(ids) == len(set(ids))
    for one in ids:
        assert callable(getattr(Overview, f"do_{one}"))


def test_every_binding_comes_from_the_registry() -> None:
    bound = {binding.key for binding in Overview.BINDINGS}  # type: ignore[union-attr]
    assert bound == {key for one in ACTIONS for key in one.keys}


def test_the_help_names_every_key_and_fits_24_lines_of_80_columns() -> None:
    lines = paint_help(80, lambda _when: True)
    assert len(lines) <= 24
    assert all(cell_len(line.text) <= 80 for line in lines)
    text = "\n".join(line.text for line in lines)
    assert "…" not in text
    rows = [row for group in GROUPS for row in help_rows(group, lambda _when: True)]
    covered = {one for ids, _, _ in TOGETHER for one in ids}
    shown = {one.words for one in ACTIONS if one.shown and one.id not in covered}
    assert shown <= {words for _, words in rows}
    for _, words in rows:
        assert words in text


def test_the_help_leaves_out_what_is_not_possible() -> None:
    text = "\n".join(line.text for line in paint_help(80, lambda when: not when))
    assert "Send a signal" not in text


def test_the_footer_keeps_help_and_quit_to_the_last() -> None:
    keys = [("↑↓", "select", 10, ""), ("w", "window", 25, ""), ("?", "help", 2, "do:help"), ("q", "quit", 1, "do:quit")]
    line = paint_footer(keys, 18)
    assert line.text.split() == ["?", "help", "q", "quit"]
    assert "do:help" in {target for _, _, target in line.hits}
    assert line.back == "band"
    assert paint_footer(keys, 40, "a [/notice]").text == " a [/notice]"


async def test_the_palette_offers_what_is_possible_and_every_theme() -> None:
    app = app_of()
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot, "eight")
        commands = {command.title: command for command in app.get_system_commands(app.screen)}
        assert "Send a signal to a process" not in commands
        commands["Theme traintop-light"].callback()
        assert app.theme == "traintop-light"
        commands["Steps"].callback()
        assert app.overview.looking.tab == 2
        await pilot.press("ctrl+p")
        await pilot.pause()
        await pilot.press("escape")
        assert app.is_running


async def test_every_action_can_be_done_on_every_scene_without_a_crash() -> None:
    app = app_of()
    async with app.run_test(size=(80, 24)) as pilot:
        for name in scenes.SCENES:
            await show(pilot, name)
            for one in ACTIONS:
                if one.id in ("quit", "palette", "help", "copy", "filter", "mouse"):
                    continue
                app.overview.do(one.id)
            await pilot.pause()
        assert app.is_running
