from __future__ import annotations

import msgspec
import pytest
from rich.cells import cell_len

from monitor.types.gpu import GpuSample
from tests.tui import scenes
from tests.tui.apps import app_of, show
from tests.tui.test_gpu_panel import board_of
from tui.view import View
from tui.widgets.gpu_grid import grid_columns, lines_for_all, paint_grid
from tui.widgets.gpu_panel import GpuPanel, paint_gpus
from tui.widgets.looking import Looking


def crowd(**changed: dict[str, object]) -> View:
    """64 cards that nobody's run joins into lines; some in trouble, named by "gpu" and their index."""
    view = scenes.view_of("sixty_four")
    assert view.snapshot is not None
    samples: list[GpuSample] = []
    for index, sample in enumerate(view.snapshot.gpus):
        changes = changed.get(f"gpu{index}", {})
        samples.append(msgspec.structs.replace(sample, **changes))
    snapshot = msgspec.structs.replace(view.snapshot, gpus=tuple(samples))
    return View(hello=view.hello, snapshot=snapshot, history=view.history, holdings={})


def grid(view: View, width: int, room: int, gpu: str = "") -> GpuPanel:
    return paint_gpus(board_of(view), Looking(area="gpus" if gpu else "runs", gpu=gpu), width, room)


@pytest.mark.parametrize(("width", "room"), [(80, 9), (80, 14), (120, 17), (120, 24), (200, 20), (300, 40)])
def test_all_gpus_are_seen_at_once(width: int, room: int) -> None:
    panel = grid(crowd(), width, room)
    assert len(panel.lines) <= room
    targets = {target for line in panel.lines for _, _, target in line.hits}
    assert len(targets) == 64
    assert len(panel.entries) == 64
    assert all(cell_len(line.text) <= width for line in panel.lines)
    words = " ".join(line.text for line in panel.lines).split()
    assert {str(index) for index in range(64)} <= set(words)


def test_a_wide_cell_tells_load_heat_and_memory() -> None:
    panel = grid(crowd(), 200, 20)
    first = panel.lines[1].text[:40]
    assert "98%" in first
    assert "61°" in first
    assert "119.0" in first


@pytest.mark.parametrize(("width", "room"), [(200, 20), (120, 17), (80, 14)])
def test_trouble_is_said_in_a_word_and_not_only_in_colour(width: int, room: int) -> None:
    hot = {"throttle": ("hw_thermal",), "temperature_c": 91.0}
    view = crowd(gpu3={"state": "lost", "state_detail": "fell off the bus"}, gpu7=hot)
    text = "\n".join(line.text for line in grid(view, width, room).lines)
    assert "▲lost" in text
    assert "▲heat" in text


def test_the_narrowest_cells_still_have_a_sign() -> None:
    view = crowd(gpu3={"state": "lost"}, gpu7={"throttle": ("hw_thermal",)})
    text = [line.text for line in grid(view, 80, 9).lines]
    assert "3 ▲lost" in text[4]
    assert "%▲" in text[8][:10]


def test_the_selected_cell_has_a_mark_and_a_click_names_its_gpu() -> None:
    view = crowd()
    uuid = board_of(view).gpus[20].uuid
    panel = grid(view, 120, 17, gpu=uuid)
    marked = [line for line in panel.lines if "▸20" in line.text]
    assert len(marked) == 1
    start = marked[0].text.index("▸20")
    assert any(begin <= start < end and target == f"gpu:{uuid}" for begin, end, target in marked[0].hits)


def test_what_does_not_fit_even_so_is_counted_and_follows_the_selection() -> None:
    view = crowd()
    last = board_of(view).gpus[63].uuid
    panel = grid(view, 40, 6, gpu=last)
    assert panel.lines[-1].text.strip().startswith("+48 GPUs")
    assert any("▸63" in line.text for line in panel.lines)


def test_lines_for_all_is_enough() -> None:
    view = crowd()
    for width in (40, 80, 120, 200):
        needed = lines_for_all(board_of(view), width)
        assert not any("+" in line.text[:4] for line in grid(view, width, needed).lines)


async def test_arrows_move_down_and_across_the_columns() -> None:
    app = app_of()
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot, crowd())
        await pilot.press("shift+tab", "down", "right")
        overview = app.overview
        assert overview.gpu_panel.stride > 1
        uuids = [entry.key for entry in overview.gpu_panel.entries]
        assert uuids.index(overview.looking.gpu) == 1 + overview.gpu_panel.stride
        await pilot.press("left", "up")
        assert overview.looking.gpu == uuids[0]


def test_memory_goes_without_a_digit_rather_than_the_run() -> None:
    view = scenes.view_of("sixty_four")
    text = paint_grid(Looking(), grid_columns(board_of(view), 120, 14), board_of(view).gpus, 120)[1].text
    assert " 119 A" in text
    wide = paint_grid(Looking(), grid_columns(board_of(view), 200, 14), board_of(view).gpus, 200)[1].text
    assert " 119.0 A" in wide
