from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
from rich.cells import cell_len

from monitor.types.gpu import EccCounts, GpmActivity, XidEvent
from monitor.types.messages import Text
from monitor.types.record import Missing
from monitor.types.run import Run
from tests.tui import parts, scenes
from tui.app.options import LiveOptions
from tui.screens.detail_panel import paint_detail
from tui.view import View, ViewBuilder
from tui.widgets.board import Board, Letters, build_board
from tui.widgets.gpu_rows import GpuEntry
from tui.widgets.looking import TABS, Looking
from tui.widgets.memory_tab import memory_parts
from tui.widgets.run_table import RunRow, run_rows


def board_of(view: View) -> Board:
    return build_board(view, Letters())


def tab(view: View, name: str, width: int = 120, room: int = 24, run: Run | None = None, **options: bool) -> list[str]:
    run = run or view.runs[0]
    looking = Looking(tab=TABS.index(name), run=run.run_id, window=1)
    row = RunRow(run.run_id, (run,))
    lines, _ = paint_detail(board_of(view), looking, row, None, width, room, LiveOptions(**options))  # type: ignore[arg-type]
    return [line.text.rstrip() for line in lines]


def gpu_detail(view: View, index: int, width: int = 120, room: int = 24) -> str:
    board = board_of(view)
    looking = Looking(area="gpus", gpu=board.gpus[index].uuid, window=1)
    entry = GpuEntry(board.gpus[index].uuid, (board.gpus[index],))
    lines, _ = paint_detail(board, looking, None, entry, width, room, LiveOptions())
    return "\n".join(line.text.rstrip() for line in lines)


def test_advice_is_honest_about_what_it_looks_at() -> None:
    text = " ".join(" ".join(tab(scenes.view_of("eight"), "advice")).split())
    assert "▲ GPU 6: the hardware slows it down because of heat (87 °C, 1410 of 1980 MHz now)." in text
    assert "Looked at today:" in text
    assert "comes in a later version" in text
    assert "12,400 of 40,000 steps" in text
    assert "last checkpoint step 12,000, 12 min ago" in text


def test_advice_names_faults_and_xids() -> None:
    text = "\n".join(tab(scenes.view_of("lost"), "advice"))
    assert text.startswith("  ▲ GPU 3 is lost: it fell off the bus")
    assert "GPU 3 is lost; the others" not in text, "the same is not said twice"
    assert "GPU 5: the driver reported XID 94 at 13:57 (an uncorrectable memory error that was contained" in text


def test_advice_says_what_is_missing_and_the_way_out() -> None:
    view = scenes.view_of("shared")
    text = " ".join(" ".join(tab(view, "advice", run=view.runs[3])).split())
    assert "step: its output is a terminal of another user" in text
    assert "start it with its output in a file" in text


def test_advice_on_an_ended_run_quotes_the_evidence() -> None:
    view = scenes.view_of("shared")
    text = "\n".join(tab(view, "advice", run=view.runs[5]))
    assert "Ended 13:50 at step 1,730 of 5,000: out of memory." in text
    assert "CUDA out of memory" in text


def test_advice_inside_a_container_gives_the_hint_once() -> None:
    board = board_of(scenes.view_of("containers"))
    lines, _ = paint_detail(board, Looking(), None, None, 120, 20, LiveOptions())
    assert "\n".join(line.text for line in lines).count("--pid=host") == 1


def test_memory_tells_whose_bytes_they_are() -> None:
    view = scenes.view_of("eight")
    board = board_of(view)
    sizes = {name: size for name, size, _ in memory_parts(board, view.runs[0], board.gpus[0])}
    assert sizes["this run"] == pytest.approx(73.9 * parts.GIB, abs=2)
    assert set(sizes) == {"this run", "in use, no process named", "kept by the driver", "free"}
    text = "\n".join(tab(view, "memory"))
    assert "GPU 0, the fullest of 0–6" in text
    assert "highest sampled 74.9 GiB" in text
    assert "lowest 71.3 GiB" in text
    assert "limit┤" in text


def test_memory_of_a_run_on_the_cpu_is_the_machines() -> None:
    text = "\n".join(tab(scenes.view_of("no_driver"), "memory"))
    assert "this run 1.3 GiB" in text
    assert "machine has 1.0 TiB" in text or "machine has 1024 GiB" in text


def test_steps_tell_where_they_come_from() -> None:
    text = "\n".join(tab(scenes.view_of("eight"), "steps"))
    assert "12,400 of 40,000 steps  31%" in text
    assert "read from tqdm in stderr → logs/train.err" in text
    assert "measured over 1,200 steps and 37 min by its own clock" in text
    assert "15 h 03 min (14 h 27 min – 15 h 39 min, 8 of 10 times)" in text
    assert "✓ used" in text
    assert "not used  hf_dict" in text
    assert "agrees, ten steps behind" in text


def test_the_spread_is_that_of_the_mean_with_pauses() -> None:
    view = scenes.view_of("eight")
    run = msgspec.structs.replace(
        view.runs[0], step_seconds=0.1, wall_seconds_per_step=0.1, rate_spread_ratio=0.45, ended=None
    )
    assert "0.100 s ± 45 %" in "\n".join(tab(view, "steps", run=run))
    paused = msgspec.structs.replace(run, wall_seconds_per_step=0.2)
    text = "\n".join(tab(view, "steps", run=paused))
    assert "with pauses 0.200 s ± 45 %" in text
    assert "0.100 s ±" not in text


def test_an_unknown_rate_says_why() -> None:
    view = scenes.view_of("shared")
    why = Missing(field="step_seconds", reason="not_yet", detail="one reading so far")
    run = msgspec.structs.replace(view.runs[0], step_seconds=None, missing=(why,))
    text = "\n".join(tab(replace(view, assessments={}), "steps", run=run))
    assert "step time unknown: one reading so far" in text
    assert "time left unknown" in text


def test_processes_show_own_arguments_and_hide_those_of_others() -> None:
    view = scenes.view_of("eight")
    mine = "\n".join(tab(view, "processes"))
    assert "trainer 0" in mine
    assert "python train.py --model" in mine
    others = "\n".join(tab(view, "processes", run=view.runs[1]))
    assert "sweep.py" not in others
    assert "--show-arguments" in others
    assert "sweep.py" in "\n".join(tab(view, "processes", run=view.runs[1], show_arguments=True))


def test_the_log_is_shown_from_its_end() -> None:
    view = scenes.view_of("eight")
    process = view.runs[0].members[0].process
    lines = tuple(f"line {n} [/x]" for n in range(50))
    text = Text(taken_s=0, boot_s=0, process=process, path="/home/ada/logs/train.err", lines=lines, skipped_bytes=4096)
    shown = tab(replace(view, texts={process: text}), "log", room=10)
    assert len(shown) == 10
    assert shown[-1].strip() == "line 49 [/x]"
    assert "train.err" in shown[0]
    assert "4.0 KiB before it" in shown[0]
    refused = Text(taken_s=0, boot_s=0, process=process, refused="its output is a pipe")
    assert tab(replace(view, texts={process: refused}), "log") == ["  its output is a pipe"]
    assert "Asking" in tab(view, "log")[0]


def test_a_gpus_detail() -> None:
    text = gpu_detail(scenes.view_of("eight"), 6)
    for piece in (
        "held by ada",
        "by a process that started 07:02",
        "73.9 GiB here",
        "limit 700 W",
        "slows down at 87 °C",
        "held down by hw thermal",
        "hw thermal 4 min 00 s",
        "PCIe 5 ×16 (at most 5 ×16)",
        "18 of 18 links up",
        "none seen while watching",
    ):
        assert piece in text
    free = gpu_detail(scenes.view_of("eight"), 7)
    assert "free   at least since 14:00, when watching began" in free


def test_a_gpus_errors_and_activity() -> None:
    view = scenes.view_of("eight")
    assert view.snapshot is not None
    sample = msgspec.structs.replace(
        view.snapshot.gpus[0],
        xids=(XidEvent(xid=79, seen_s=parts.NOW_S - 60),),
        ecc=EccCounts(enabled=True, corrected_volatile=2, uncorrected_volatile=1, remap_pending=True),
        gpm=GpmActivity(sm_util_ratio=0.8, sm_occupancy_ratio=0.4, tensor_ratio=0.3, dram_ratio=0.5),
        missing=(Missing(field="fan_ratio", reason="not_supported"),),
    )
    snapshot = msgspec.structs.replace(view.snapshot, gpus=(sample, *view.snapshot.gpus[1:]))
    text = gpu_detail(replace(view, snapshot=snapshot), 0)
    for piece in ("79 at 14:01", "2 corrected, 1 not", "one pending", "tensor cores 30%", "fan_ratio (not supported)"):
        assert piece in text


@pytest.mark.parametrize("name", list(scenes.SCENES))
@pytest.mark.parametrize(("width", "room"), [(40, 5), (80, 11), (120, 22), (200, 40)])
def test_every_tab_of_every_scene_fits(name: str, width: int, room: int) -> None:
    view = scenes.view_of(name)
    board = board_of(view)
    for number in range(len(TABS)):
        for row in (*run_rows(board, Looking()), None):
            looking = Looking(tab=number, window=1)
            lines, most = paint_detail(board, looking, row, None, width, room, LiveOptions())
            assert len(lines) <= room
            assert most >= 0
            assert all(cell_len(line.text) <= width for line in lines)
    for gpu in board.gpus:
        entry = GpuEntry(gpu.uuid, (gpu,))
        lines, _ = paint_detail(board, Looking(area="gpus"), None, entry, width, room, LiveOptions())
        assert len(lines) <= room
        assert all(cell_len(line.text) <= width for line in lines)


def test_scrolling_reaches_the_end() -> None:
    board = board_of(scenes.view_of("lost"))
    row = run_rows(board, Looking())[0]
    first, most = paint_detail(board, Looking(), row, None, 60, 4, LiveOptions())
    assert most > 0
    assert first[-1].text.strip().startswith("+")
    last, _ = paint_detail(board, Looking(detail_top=most), row, None, 60, 4, LiveOptions())
    assert "later version" in last[-1].text


@pytest.mark.parametrize("name", list(scenes.SCENES))
def test_every_scene_goes_through_the_real_reducers(name: str) -> None:
    builder = ViewBuilder()
    for message in scenes.scene(name).messages():
        builder.update(message)
    board = board_of(builder.view())
    rows = run_rows(board, Looking())
    assert len(board.gpus) == len(scenes.scene(name).hello.gpus)
    if name not in ("containers", "no_driver"):
        assert rows, "facts of kind training make runs"
    for number in range(len(TABS)):
        for row in rows:
            lines, _ = paint_detail(board, Looking(tab=number), row, None, 100, 20, LiveOptions())
            assert lines
