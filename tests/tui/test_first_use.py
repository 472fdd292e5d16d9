from __future__ import annotations

from dataclasses import replace

import msgspec
from rich.cells import cell_len

from tests.tui import scenes
from tests.tui.apps import app_of, panel_text, show
from tests.tui.test_gpu_grid import crowd


async def test_window_order_and_theme_are_kept_for_next_time() -> None:
    kept: list[tuple[str, str]] = []

    def save(name: str, value: str) -> str:
        kept.append((name, value))
        return "" if name != "sort" else "settings.toml cannot be written: read-only."

    app = app_of(save=save)
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot, "eight")
        await pilot.press("w", "s")
        assert "cannot be written" in panel_text(app, "footer")
        await pilot.press("t")
    assert kept[:2] == [("window", "30 min"), ("sort", "time left")]
    assert kept[2][0] == "theme"


async def test_a_kept_window_and_order_are_there_from_the_beginning() -> None:
    app = app_of(window="4 h", sort="name")
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot, scenes.view_of("eight", 10))
        assert "−4 h" in panel_text(app, "gpus")
        await show(pilot, "eight")
        assert "−4 h" in panel_text(app, "gpus")
        assert "by name" in panel_text(app, "runs")


async def test_escape_leads_back_to_the_runs_and_then_takes_filters_away() -> None:
    app = app_of()
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot, "eight")
        await pilot.press("m", "shift+tab")
        assert app.overview.looking.area == "gpus"
        await pilot.press("escape")
        assert (app.overview.looking.area, app.overview.looking.mine) == ("runs", True)
        await pilot.press("escape")
        assert not app.overview.looking.mine


async def test_tab_leads_only_where_keys_do_something() -> None:
    app = app_of()
    async with app.run_test(size=(120, 50)) as pilot:
        await show(pilot, "eight")
        areas = []
        for _ in range(3):
            await pilot.press("tab")
            areas.append(app.overview.looking.area)
        assert areas == ["gpus", "runs", "gpus"], "the advice fits, so there is nothing to scroll"
        await pilot.press("4", "tab")
        assert app.overview.looking.area == "detail"


async def test_the_palette_finds_runs_and_gpus_by_name() -> None:
    app = app_of()
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot, "hostile")
        await pilot.press("m")
        commands = {one.title: one for one in app.get_system_commands(app.screen)}
        assert not any("[" in title for title in commands), "the palette would take brackets for markup"
        await show(pilot, "eight")
        commands = {one.title: one for one in app.get_system_commands(app.screen)}
        commands["Run B sweep lr=3e-4"].callback()
        assert app.overview.looking.run == "run-5101"
        assert not app.overview.looking.mine
        assert "▸B" in panel_text(app, "runs")
        commands["GPU 3 NVIDIA H100 80GB HBM3"].callback()
        assert panel_text(app, "tabs").strip().startswith("GPU 3")


async def test_a_terminal_that_changes_its_size_is_filled_anew() -> None:
    app = app_of()
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot, "sixty_four")
        for width, height in ((40, 10), (200, 60), (300, 85), (80, 24)):
            await pilot.resize_terminal(width, height)
            await pilot.pause()
            panels = app.overview.panels
            assert all(cell_len(line.text) <= width for panel in panels.values() for line in panel.lines)
            assert sum(panel.size.height for panel in panels.values() if panel.display) == height
            assert "quit" in panels["footer"].text


async def test_a_click_on_a_cell_of_the_grid_selects_its_gpu() -> None:
    app = app_of()
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot, crowd())
        line = next(line for line in app.overview.gpu_panel.lines if " 20 " in line.text)
        y = app.overview.gpu_panel.lines.index(line)
        await pilot.click("#gpus", offset=(line.text.index(" 20 ") + 2, y))
        assert panel_text(app, "tabs").strip().startswith("GPU 20")
        await pilot.click("#gpus", offset=(2, 1))
        assert panel_text(app, "tabs").strip().startswith("GPU 0")


async def test_a_filter_finds_states_only_as_whole_words() -> None:
    app = app_of()
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot, "shared")
        await pilot.press("slash", *"traini")
        assert "0 of" in panel_text(app, "runs")
        await pilot.press(*"ng")
        assert "0 of" not in panel_text(app, "runs")


async def test_a_sweep_lists_its_runs_with_the_lowest_loss_first() -> None:
    app = app_of()
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot, "eight")
        await pilot.press("down")
        text = panel_text(app, "detail").splitlines()
        assert "the lowest loss first" in text[0]
        assert [line.split()[-1] for line in text[2:6]].count("training") == 3
        assert [float(line[line.index(" s ") + 3 :].split()[0]) for line in text[2:6]] == [0.92, 0.95, 0.98, 1.01]
        await pilot.click("#detail", offset=(8, 3))
        assert app.overview.looking.run == "run-5102"


async def test_ended_runs_do_not_crowd_out_the_detail() -> None:
    view = scenes.view_of("shared")
    over = next(run for run in view.runs if run.ended is not None)
    many = tuple(msgspec.structs.replace(over, run_id=f"over-{number}") for number in range(20))
    app = app_of()
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot, view)
        before = app.overview.panels["detail"].size.height
        await show(pilot, replace(view, runs=(*view.runs, *many)))
        assert app.overview.panels["detail"].size.height >= before - 4
        assert "+" in panel_text(app, "runs").splitlines()[-1]
        await pilot.press("end")
        assert app.overview.looking.run == "over-19"
        assert "▸" in panel_text(app, "runs")
