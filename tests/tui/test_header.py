from __future__ import annotations

from dataclasses import replace

import msgspec

from monitor.types.messages import Hello, SourceTiming
from tests.tui import scenes
from tui.view import View
from tui.widgets.board import Letters, build_board
from tui.widgets.header import Connection, fold_numbers, paint_header, short_model


def header(view: View, connection: Connection | None = None, width: int = 120) -> list[str]:
    return [
        line.text.rstrip() for line in paint_header(build_board(view, Letters()), connection or Connection(), width)
    ]


def changed(view: View, **hello: object) -> View:
    assert view.hello is not None
    return replace(view, hello=msgspec.structs.replace(view.hello, **hello))


def test_what_the_first_line_says() -> None:
    line = header(scenes.view_of("eight"))[0]
    for piece in ("traintop", "node07", "8 × H100 80GB", "free: GPU 7", "driver 580.95", "watching since 14:00"):
        assert piece in line
    assert line.endswith("Mon 14:02:31 CET")


def test_a_narrow_line_keeps_what_matters() -> None:
    line = header(scenes.view_of("eight"), width=80)[0]
    assert "free: GPU 7" in line
    assert line.endswith("14:02:31 CET")


def test_no_driver_is_one_plain_sentence() -> None:
    lines = header(scenes.view_of("no_driver"))
    assert " ".join(line.strip() for line in lines[1:]) == (
        "No NVIDIA driver here: libnvidia-ml.so.1 was not found. Training runs on the CPU are shown. "
        "`traintop doctor` explains."
    )
    assert "free" not in lines[0]


def test_a_demo_says_that_it_is_one() -> None:
    assert "demo: GPUs are simulated" in header(changed(scenes.view_of("eight"), simulated=True))[0]


def test_the_state_of_the_connection() -> None:
    view = scenes.view_of("eight")
    assert "no answer for 12 s" in header(view, Connection(silent_s=12.0))[0]
    assert "no answer" not in header(view, Connection(silent_s=1.0))[0]
    assert "stream ended" in header(view, Connection(ended="the agent has ended"))[0]
    assert "paused  replay 2×" in header(view, Connection(kind="replay", speed=2.0, paused=True))[0]


def test_a_driver_that_hangs_is_named() -> None:
    view = scenes.view_of("eight")
    assert view.snapshot is not None
    timing = SourceTiming(source="driver", waiting_s=12.0)
    hung = replace(view, snapshot=msgspec.structs.replace(view.snapshot, timings=(timing,)))
    assert "no answer from the driver for 12 s" in header(hung)[0]
    assert "driver silent for 12 s" in header(hung, width=80)[0]


def test_before_the_first_answer() -> None:
    assert "waiting for the first answer" in header(View())[0]
    assert "no answer yet" in header(View(), Connection(silent_s=9.0))[0]
    asking = View(hello=Hello(taken_s=0, boot_s=0, host="x"))
    assert "Asking the driver" in header(asking)[1]


def test_numbers_are_folded() -> None:
    assert fold_numbers(["0", "1", "2", "3", "7"]) == "0–3, 7"
    assert fold_numbers(["4", "5"]) == "4, 5"
    assert fold_numbers(["0:1", "0:2"]) == "0:1, 0:2"
    assert fold_numbers([]) == ""


def test_models_are_short() -> None:
    assert short_model("NVIDIA H100 80GB HBM3") == "H100 80GB"
    assert short_model("NVIDIA GeForce RTX 4090") == "RTX 4090"
    assert short_model("NVIDIA A100-SXM4-40GB") == "A100 SXM4 40GB"
