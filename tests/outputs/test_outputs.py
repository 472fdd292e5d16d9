"""What is printed: pictures, JSON held to the published schemas, CSV, free GPUs."""

from __future__ import annotations

import csv
import io
import json
import math
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.cells import cell_width, cut
from monitor.types.record import Range
from tests.outputs.views import GIB, MINE, NOW_S, OTHERS, free_view, full_view, no_driver_view, unknown_view
from tui import figures
from tui.outputs import attach, doctor, free, once_json, schemas, text
from tui.outputs import csv as csv_output
from tui.outputs.chosen import only_gpus
from tui.outputs.output import encode, finite, moment, range_out
from tui.outputs.paint import Column, Span, ascii_text, plain, table, wrapped
from tui.view import View

VIEWS = [full_view(), free_view(), unknown_view(), no_driver_view(), View()]


def valid(command: str, data: bytes) -> dict[str, Any]:
    """The object, held to the published schema; NaN and infinity are no JSON."""

    def refuse(token: str) -> float:
        raise AssertionError(f"{token} is not JSON")

    assert data.count(b"\n") == 1
    found: dict[str, Any] = json.loads(data, parse_constant=refuse)
    jsonschema.validate(found, json.loads((schemas.folder() / f"{command}.json").read_text()))
    return found


@pytest.mark.parametrize("command", [name for name, _, _ in schemas.OUTPUTS])
def test_the_published_schemas_are_those_of_the_types(command: str) -> None:
    assert (schemas.folder() / f"{command}.json").read_text() == schemas.text(command), "run `make schemas`"
    jsonschema.Draft202012Validator.check_schema(schemas.schema(command))


@pytest.mark.parametrize("command", [name for name, _, _ in schemas.OUTPUTS])
def test_a_failure_is_one_object_with_its_sentence(command: str) -> None:
    found = valid(command, encode(schemas.failed(command, "It was not to be.")))
    assert found["error"] == "It was not to be."


@pytest.mark.parametrize("view", VIEWS)
def test_once_json_is_valid_whatever_is_unknown(view: View) -> None:
    found = valid("once", encode(once_json.once_output(view)))
    assert (found["error"] is None) == (view.snapshot is not None)
    assert [run["run_id"] for run in found["runs"]] == [run.run_id for run in view.runs]


def test_once_json_says_what_is_known() -> None:
    found = valid("once", encode(once_json.once_output(full_view())))
    gpu = found["gpus"][0]
    assert (gpu["memory_used_bytes"], gpu["power_w"], gpu["power_limit_w"]) == (70 * GIB, 634.0, 700.0)
    assert (gpu["throttle"], gpu["xid"]) == (["hw_thermal"], 31)
    assert found["gpus"][1]["power_w"] is None
    assert found["gpus"][2]["processes"] is None
    assert found["gpus"][2]["missing"] == {"power_w": "lost"}
    run = found["runs"][0]
    assert (run["step"], run["total_steps"], run["loss"]) == (12_400.0, 40_000.0, 1.73)
    assert run["remaining_seconds"] == {"low": 40_000.0, "likely": 50_784.0, "high": 60_000.0}
    assert found["runs"][1]["missing"] == {
        "step": "its files belong to another user",
        "remaining_seconds": "no step is known",
    }
    assert found["taken_at"] == "2027-01-15T09:00:00+01:00"


def test_other_users_arguments_are_hidden_unless_asked_for() -> None:
    def commands(*, show_arguments: bool) -> list[str | None]:
        output = once_json.once_output(full_view(), show_arguments=show_arguments)
        return [process.command for process in output.processes]

    assert commands(show_arguments=False) == ["python train.py", None]
    assert commands(show_arguments=True) == ["python train.py", "python secret_data.py"]


@given(st.floats())
def test_only_numbers_become_numbers(value: float) -> None:
    assert finite(value) == (value if math.isfinite(value) else None)
    span = range_out(Range(low=0.0, likely=1.0, high=value))
    assert (span is not None) == math.isfinite(value)


@given(st.floats(), st.one_of(st.none(), st.integers(-50_000, 50_000)))
def test_every_moment_is_a_date_or_unknown(wall_s: float, offset_s: int | None) -> None:
    found = moment(wall_s, offset_s)
    assert found is None or "T" in found


def test_csv_has_a_line_a_gpu_and_empty_cells_for_unknown() -> None:
    rows = list(csv.DictReader(io.StringIO(csv_output.gpus_csv(full_view()))))
    assert [row["uuid"] for row in rows] == ["GPU-0", "GPU-1", "GPU-2"]
    assert rows[0]["throttle"] == "hw_thermal"
    assert rows[1]["power_w"] == ""
    assert rows[2]["state"] == "lost"
    assert csv_output.gpus_csv(View()).count("\n") == 1


def test_free_gpus_the_emptiest_first() -> None:
    found = valid("free", encode(free.free_output(free_view(), free.FreeQuestion())))
    assert [gpu["state"] for gpu in found["gpus"]] == ["held", "free", "free"]
    assert found["cuda_visible_devices"] == "GPU-2,GPU-1"
    assert (found["free_count"], found["enough"]) == (2, True)


def test_free_gpus_by_count_and_room() -> None:
    found = free.free_output(free_view(), free.FreeQuestion(count=1, min_free_bytes=40 * GIB))
    assert [gpu.state for gpu in found.gpus] == ["held", "too_small", "free"]
    assert (found.cuda_visible_devices, found.enough) == ("GPU-2", True)
    found = free.free_output(free_view(), free.FreeQuestion(count=2, min_free_bytes=40 * GIB))
    assert (found.cuda_visible_devices, found.enough) == (None, False)
    assert "Free: 1 of the 2 GPUs with 40.0 GiB or more that were asked for." in plain(free.free_text(found, 100))


def test_since_says_how_it_is_known_and_never_claims_more() -> None:
    lines = plain(free.free_text(free.free_output(full_view(), free.FreeQuestion()), 140))
    assert "its process started 2027-01-15 06:30" in lines
    assert "bob: 日本語-run (pid 4800)" in lines
    held_since_start = next(line for line in lines.splitlines() if "pid 4800" in line)
    assert "2027" not in held_since_start
    watched = plain(free.free_text(free.free_output(free_view(), free.FreeQuestion()), 140))
    assert "2027-01-15 08:59, as watched" in watched


def test_free_without_a_gpu_is_a_sentence() -> None:
    found = free.free_output(no_driver_view(), free.FreeQuestion())
    assert found.error is not None
    assert "libnvidia-ml" in found.error


@pytest.mark.parametrize("width", [20, 40, 80, 120, 200])
@pytest.mark.parametrize("view", VIEWS)
def test_no_line_of_the_picture_is_wider_than_the_terminal(view: View, width: int) -> None:
    for line in text.picture(view, width):
        assert sum(cell_width(span.text) for span in line) <= width


def test_the_picture_at_120_columns() -> None:
    shown = plain(text.picture(full_view(), 120))
    assert "node07 · 3 × H100 80GB HBM3 · driver 580.95 · free: 0 · 09:00 CET" in shown
    assert "▲ hw thermal" in shown
    assert "12,400 / 40,000" in shown
    assert "14 h 06 min" in shown
    assert "A  step read from tqdm in stderr → logs/train.err" in shown
    assert "B  no step: its files belong to another user" in shown
    assert "GPU 2 does not answer." in shown


def test_what_has_no_room_is_counted() -> None:
    lines = text.picture(full_view(), 80, 5)
    assert len(lines) == 5
    assert "more lines" in plain(lines[-1:])
    assert len(text.picture(full_view(), 80, 50)) < 50


def test_no_driver_is_one_sentence() -> None:
    shown = plain(text.picture(no_driver_view(), 120))
    assert "There is no NVIDIA driver here: libnvidia-ml.so.1 was not found." in shown


@pytest.mark.parametrize("view", VIEWS)
def test_ascii_and_colours(view: View) -> None:
    lines = text.picture(view, 100)
    assert plain(lines, unicode=False).isascii()
    assert "\x1b" not in plain(lines)
    assert "\x1b[" in plain(lines, colours=16)


@given(st.text(), st.integers(0, 30))
def test_cutting_never_exceeds_the_width(value: str, width: int) -> None:
    assert cell_width(cut(value, width)) <= width


@given(st.text())
def test_ascii_text_is_ascii(value: str) -> None:
    assert ascii_text(value).isascii()


def test_a_table_drops_the_columns_that_matter_least() -> None:
    columns = (Column("a"), Column("b", keep=1), Column("c", keep=2), Column("d", least=3))
    rows = [[Span("aaaa"), Span("bbbb"), Span("cccc"), Span("dddddddd")]]
    lines, dropped = table(columns, rows, 18)
    assert dropped == ("b",)
    assert plain(lines).splitlines()[1] == " aaaa  cccc  dddd…"


@pytest.mark.parametrize(("index", "letter"), [(0, "A"), (25, "Z"), (26, "AA"), (701, "ZZ"), (702, "AAA")])
def test_run_letters(index: int, letter: str) -> None:
    assert text.run_letter(index) == letter


def test_attach_says_what_is_read_and_from_where() -> None:
    view = full_view()
    output = attach.attach_output(view, view.runs[0], MINE.pid)
    found = valid("attach", encode(output))
    assert (found["step"], found["ended"], found["watched_seconds"]) == (12_400.0, "running", 4.0)
    assert found["sources"][0]["source"] == "tqdm"
    assert found["sources"][0]["used"] is True
    shown = plain(attach.attach_text(view, view.runs[0], output))
    assert "12,400 / 40,000 optimizer step (31 %)" in shown
    assert "14 h 06 min (11 h 07 min to 16 h 40 min, 8 of 10 times)" in shown


def test_attach_says_why_there_is_no_step() -> None:
    view = full_view()
    output = attach.attach_output(view, view.runs[1], OTHERS.pid)
    valid("attach", encode(output))
    assert output.notes[0].startswith("The process belongs to another user")
    assert "not known: its files belong to another user" in plain(attach.attach_text(view, view.runs[1], output))


def test_doctor_says_what_would_fix_it() -> None:
    check = doctor.CheckOut(name="UTF-8", works=False, detail="POSIX", remedy="export LC_ALL=C.UTF-8")
    output = doctor.doctor_output(no_driver_view(), "0.1.0", (check,))
    found = valid("doctor", encode(output))
    assert found["checks"][0]["works"] is False
    shown = plain(doctor.doctor_text(output))
    assert "libnvidia-ml.so.1" in shown
    assert "→ export LC_ALL=C.UTF-8" in shown
    assert moment(NOW_S, 3600) == found["taken_at"]


@pytest.mark.parametrize(
    ("names", "uuids"),
    [(("0",), ["GPU-0"]), (("GPU-1", "2"), ["GPU-1", "GPU-2"]), (("mine",), ["GPU-0"]), (("9",), [])],
)
def test_some_gpus_only(names: tuple[str, ...], uuids: list[str]) -> None:
    view = only_gpus(full_view(), names)
    assert view.snapshot is not None
    assert [sample.uuid for sample in view.snapshot.gpus] == uuids
    assert set(view.holdings) == set(uuids)
    assert len(view.runs) == 2


def test_long_sentences_are_wrapped_not_cut() -> None:
    lines = plain(text.picture(no_driver_view(), 40)).splitlines()
    assert " ! There is no NVIDIA driver here:" in lines
    assert "   libnvidia-ml.so.1 was not found." in lines


@pytest.mark.parametrize("words", ["", "a", "word " * 30, "x" * 50, "日本語 " * 12])
@pytest.mark.parametrize("width", [5, 20, 80])
def test_wrapping_loses_no_word(words: str, width: int) -> None:
    lines = wrapped(Span(" ! ", "bad"), words, width)
    assert all(sum(cell_width(span.text) for span in one) <= width for one in lines)
    if max((cell_width(word) for word in words.split()), default=0) <= width - 3:
        assert " ".join(span.text for one in lines for span in one[1:]).split() == words.split()


def test_a_moment_that_no_calendar_has_breaks_nothing() -> None:
    for moment_s in (1e300, -1e300, 1e15):
        assert figures.clock(moment_s, 3600, 1_800_000_000.0)
        assert figures.clock(1_800_000_000.0, None, moment_s)
