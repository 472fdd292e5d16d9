from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
from rich.cells import cell_len

from advisor.assessment import Assessment
from monitor.history.least_free import LeastFree
from monitor.types.record import Range
from monitor.types.run import Run
from monitor.types.steps import StepValue
from tests.tui import parts, scenes
from tui.view import View
from tui.widgets.board import Board, Letters, build_board
from tui.widgets.looking import SORTS, Looking
from tui.widgets.run_figures import finish_words, left_words
from tui.widgets.run_table import fitting, paint_runs, run_rows


def board_of(view: View) -> Board:
    return build_board(view, Letters())


def painted(view: View, looking: Looking | None = None, width: int = 120, room: int = 20) -> list[str]:
    board, looking = board_of(view), looking or Looking()
    return [line.text.rstrip() for line in paint_runs(board, looking, run_rows(board, looking), width, room)]


def many(count: int) -> View:
    runs = tuple(
        parts.run(f"run-{n:02d}", (3000 + n,), user="bob" if n % 2 else "ada", mine=n == 5) for n in range(count)
    )
    return replace(scenes.view_of("eight"), runs=runs)


def test_everything_about_a_run_is_on_its_line() -> None:
    line = painted(scenes.view_of("eight"))[1]
    for piece in (
        "A",
        "llama3-8b-sft",
        "you",
        "0–6",
        "12,400/40,000",
        "1.84 s",
        "1.732",
        "4.1G free",
        "15 h",
        "training",
    ):
        assert piece in line
    assert "Tue 04:29–05:41" in line


def test_siblings_of_a_sweep_are_one_line_that_opens() -> None:
    view = scenes.view_of("eight")
    closed = painted(view)
    assert len(closed) == 3
    assert "sweep lr=… (4)" in closed[2]
    assert "880–991" in closed[2]
    assert "1 waits for disk, 3 training" in closed[2]
    opened = painted(view, Looking(expanded=frozenset({"sweep"})))
    assert len(opened) == 7
    assert "sweep lr=3e-4" in opened[3]
    assert "waits for disk" in opened[3]


def test_a_sweep_is_done_when_its_last_run_is_and_that_is_said_only_if_all_are_known() -> None:
    view = scenes.view_of("eight")
    sweep = [run for run in view.runs if run.group_id == "sweep"]
    now_s = view.taken_s or 0.0
    judged = {
        run.run_id: Assessment(
            run_id=run.run_id,
            remaining_s=Range(low=hours * 3000.0, likely=hours * 3600.0, high=hours * 4000.0),
            finish_s=Range(low=now_s + hours * 3000, likely=now_s + hours * 3600, high=now_s + hours * 4000),
        )
        for hours, run in enumerate(sweep, 2)
    }
    known = painted(replace(view, assessments=judged))[2]
    assert f"{len(sweep) + 1} h 00" in known
    del judged[sweep[0].run_id]
    assert " h 00" not in painted(replace(view, assessments=judged))[2]


def test_servers_notebooks_and_ended_runs_are_called_that() -> None:
    lines = painted(scenes.view_of("shared"))
    assert "vLLM" in lines[2]
    assert "serving" in lines[2]
    assert "88/120 epochs" in lines[3]
    assert "notebook" in lines[5]
    assert "out of memory 13:50" in lines[6]


def test_what_does_not_fit_is_counted_and_the_selection_stays_visible() -> None:
    view = many(30)
    lines = painted(view, room=10)
    assert len(lines) == 10
    assert lines[-1].strip().startswith("+22 rows")
    lines = painted(view, Looking(run="run-3029"), room=10)
    assert any(line.startswith("▸") and "run-29" in line for line in lines)


def test_filters_and_their_count() -> None:
    view = many(30)
    assert len(painted(view, Looking(user="bob"))) == 16
    assert "15 of 30" in painted(view, Looking(user="bob"), width=160)[0]
    assert len(painted(view, Looking(mine=True))) == 2
    assert "run-07" in painted(view, Looking(text_filter="RUN-07"))[1]
    assert "No run fits the filter; 30 without it" in painted(view, Looking(text_filter="zzz"))[1]


def test_orders() -> None:
    view = scenes.view_of("shared")
    board = board_of(view)
    by = {name: [row.runs[0].name for row in run_rows(board, Looking(sort=n))] for n, name in enumerate(SORTS)}
    assert by["own first"][0] == "bert-base-de"
    assert by["memory"][0] == "unet-seg"
    assert by["name"][0] == "analysis.ipynb"
    assert by["time left"][0] == "bert-base-de"
    assert all(names[-1] == "gpt2-med" for names in by.values()), "ended runs come last"


def test_the_selection_follows_a_run_into_its_group_and_falls_back_to_the_first() -> None:
    rows = run_rows(board_of(scenes.view_of("eight")), Looking())
    assert fitting(rows, "run-5102") == "group:sweep"
    assert fitting(rows, "run-4711") == "run-4711"
    assert fitting(rows, "gone") == "run-4711"
    assert fitting((), "gone") == ""


def test_a_loss_that_is_nan_is_said() -> None:
    view = scenes.view_of("one")
    bad = msgspec.structs.replace(view.runs[0], values=(StepValue(name="loss", value="nan"),))
    board = board_of(replace(view, runs=(bad,)))
    line = paint_runs(board, Looking(), run_rows(board, Looking()), 120, 5)[1]
    assert any("nan" in text and style == "critical" for text, style in line.spans)


def test_unknown_is_a_dash() -> None:
    view = replace(scenes.view_of("one"), runs=(parts.run("fresh", (1,), phase="starting"),), assessments={})
    line = painted(view)[1]
    assert line.count("–") >= 5
    assert "starting" in line


@pytest.mark.parametrize("name", list(scenes.SCENES))
@pytest.mark.parametrize("width", [40, 80, 100, 149, 150, 200])
def test_no_line_is_wider_than_the_screen(name: str, width: int) -> None:
    board = board_of(scenes.view_of(name))
    looking = Looking(expanded=frozenset({"sweep"}))
    for room in (2, 3, 6, 30):
        lines = paint_runs(board, looking, run_rows(board, looking), width, room)
        assert len(lines) <= room
        assert all(cell_len(line.text) <= width for line in lines)


def test_letters_stay_with_their_runs() -> None:
    letters = Letters()
    assert letters.give(["a", "b", "c"]) == {"a": "A", "b": "B", "c": "C"}
    assert letters.give(["c", "d"]) == {"c": "C", "d": "A"}
    assert len(set(letters.give([str(n) for n in range(800)]).values())) == 800


def test_hostile_names_stay_literal_and_aligned() -> None:
    lines = painted(scenes.view_of("hostile"))
    for name, line in zip(scenes.HOSTILE, lines[1:], strict=True):
        assert name in line or name[:12] in line
    column = [cell_len(line[: line.index("[/u]", 5)]) for line in lines[3:] if "[/u]" in line]
    assert len(set(column)) == 1


def test_no_run_at_all_is_a_sentence() -> None:
    assert "No training run is seen" in painted(replace(scenes.view_of("one"), runs=()))[1]


def test_a_run_is_immutable_data() -> None:
    with pytest.raises(AttributeError):
        scenes.view_of("one").runs[0].name = "x"  # type: ignore[misc]
    assert isinstance(scenes.view_of("one").runs[0], Run)


def test_time_left_in_few_letters() -> None:
    words = {9: "9 s", 59.6: "1 min", 3540: "59 min", 9600: "2 h 40", 54_000: "15 h", 210_000: "58 h", 450_000: "5.2 d"}
    assert {seconds: left_words(seconds) for seconds in words} == words
    assert left_words(None) == "–"


@pytest.mark.parametrize(
    ("low_h", "high_h", "words"),
    [
        (0.5, 0.505, "14:32"),
        (1, 2, "15:02–16:02"),
        (9, 11, "23:02–Tue 01:02"),
        (15, 16, "Tue 05:02–06:02"),
        (40, 50, "Wed 06:02–16:02"),
        (40, 60, "Wed 06–Thu 02 h"),
        (200, 240, "10 Mar–12 Mar"),
    ],
)
def test_a_finish_fits_its_column(low_h: float, high_h: float, words: str) -> None:
    low, high = parts.NOW_S + low_h * 3600, parts.NOW_S + high_h * 3600
    board = board_of(scenes.view_of("eight"))
    assert finish_words(Range(low=low, likely=low, high=high), board) == words
    assert cell_len(words) <= 15


def test_wide_tables_tell_what_is_in_use_and_what_was_free_at_the_peak() -> None:
    heading, line, *_ = painted(scenes.view_of("eight"), width=200)
    assert "free at peak" in heading
    assert "517 GiB" in line
    assert "4.1 GiB" in line


def test_a_run_on_the_cpu_tells_its_own_memory_and_claims_nothing_free() -> None:
    line = painted(scenes.view_of("no_driver"))[1]
    assert "1.3 GiB" in line
    assert "free" not in line


def test_little_free_memory_is_set_off() -> None:
    view = scenes.view_of("eight")
    tight = LeastFree(gpu_uuid="GPU-00000000-2", free_bytes=300 * 1024**2, total_bytes=80 * 1024**3)
    board = board_of(replace(view, least_free={view.runs[0].run_id: tight}))
    line = paint_runs(board, Looking(), run_rows(board, Looking()), 120, 12)[1]
    assert ("0.3G free", "warn") in [(text.strip(), style) for text, style in line.spans]
