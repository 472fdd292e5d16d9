from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
from rich.cells import cell_len

from monitor.types.gpu import GpuIdentity, GpuSample
from monitor.types.messages import Snapshot, SourceTiming
from tests.tui import parts, scenes
from tui.view import View
from tui.widgets.board import Board, Letters, build_board
from tui.widgets.gpu_panel import paint_gpus
from tui.widgets.looking import Looking

LOOKING = Looking(window=1)


def board_of(view: View, only: tuple[str, ...] = ()) -> Board:
    return build_board(view, Letters(), only)


def text_of(view: View, width: int = 120, room: int = 20, looking: Looking = LOOKING) -> list[str]:
    return [line.text.rstrip() for line in paint_gpus(board_of(view), looking, width, room).lines]


def with_samples(view: View, *samples: GpuSample, identities: tuple[GpuIdentity, ...] = ()) -> View:
    assert view.snapshot is not None
    assert view.hello is not None
    snapshot = Snapshot(taken_s=view.snapshot.taken_s, boot_s=view.snapshot.boot_s, gpus=samples)
    hello = msgspec.structs.replace(view.hello, gpus=identities or view.hello.gpus[: len(samples)])
    return View(hello=hello, snapshot=snapshot, history=view.history)


def test_a_row_a_gpu_where_there_is_room() -> None:
    lines = text_of(scenes.view_of("eight"))
    assert len(lines) == 9
    assert lines[1].startswith(" 0  ")
    assert "74.9/79.6  94%" in lines[1]
    assert "A llama3-8b-sft" in lines[1]
    assert "▲heat" in lines[7]
    assert "87° 1410" in lines[7].replace("  ", " ")
    assert lines[8].endswith("free")


def test_ranks_are_folded_with_their_outlier_beside_where_there_is_little_room() -> None:
    lines = text_of(scenes.view_of("eight"), width=80, room=7)
    assert [line.split()[0] for line in lines[1:]] == ["0–5", "6", "7"]
    assert "61–63°" in lines[1]
    assert "74.9/79.6" in lines[1]
    assert "▲heat" in lines[2]
    assert "free" in lines[3]


def test_sixty_four_gpus_fit_by_folding() -> None:
    panel = paint_gpus(board_of(scenes.view_of("sixty_four")), LOOKING, 200, 24)
    assert len(panel.lines) < 20
    assert sum(len(entry.rows) for entry in panel.entries) == 64


@pytest.mark.parametrize("name", list(scenes.SCENES))
@pytest.mark.parametrize(("width", "room"), [(40, 4), (80, 8), (100, 12), (120, 16), (160, 20), (200, 30), (317, 40)])
def test_no_line_is_wider_than_the_screen_and_the_room_is_kept(name: str, width: int, room: int) -> None:
    panel = paint_gpus(board_of(scenes.view_of(name)), LOOKING, width, room)
    assert len(panel.lines) <= room
    assert all(cell_len(line.text) <= width for line in panel.lines)


def test_what_is_cut_is_counted_and_reachable() -> None:
    view = scenes.view_of("lost")
    lines = text_of(view, width=20, room=3)
    assert lines[-1].strip().startswith("+")
    panel = paint_gpus(board_of(view), LOOKING, 20, 3)
    last = panel.entries[-1]
    chosen = text_of(view, 20, 3, Looking(area="gpus", gpu=last.key))
    assert any("▸7" in line for line in chosen)


def test_broken_gpus_say_so_in_words_and_hide_nothing_else() -> None:
    lines = text_of(scenes.view_of("lost"))
    assert "no permission to read this GPU" in lines[2]
    assert "▲ since 14:02: The GPU is lost: it fell off the bus" in lines[4]
    assert "XID 94" in lines[6]
    assert "A llama3-8b-sft" in lines[1]


def test_one_gpu_gets_a_card_with_charts_and_an_axis() -> None:
    lines = text_of(scenes.view_of("one"), room=14)
    assert "NVIDIA GeForce RTX 4090" in lines[0]
    assert "A vit-small-cifar" in lines[0]
    assert "10.1/24.0 GiB" in lines[1]
    assert "−5 min" in lines[-2]
    assert "now" in lines[-2]
    assert "371/450 W" in lines[-1]
    assert "fan 52%" in lines[-1]


def test_four_digit_watts_and_a_fan_above_100_stay_aligned() -> None:
    card = parts.gpu(0)
    plain = parts.busy(card, 5)
    big = parts.busy(card, 5, power_w=1180.0, power_limit_w=1400.0, fan_ratio=1.12, temperature_c=101.0)
    view = scenes.view_of("eight")
    rows = [text_of(with_samples(view, sample, identities=(card,)), width=120, room=4)[1] for sample in (plain, big)]
    assert "1180/1400" in rows[1]
    assert "101°" in rows[1]
    assert rows[0].index("1980") == rows[1].index("1980")
    card_lines = text_of(with_samples(view, big, identities=(card,)), width=120, room=12)
    assert "fan 112%" in card_lines[-1]


def test_unknown_figures_are_dashes_never_zero() -> None:
    card = parts.gpu(0)
    row = text_of(with_samples(scenes.view_of("eight"), GpuSample(uuid=card.uuid), identities=(card,)), room=4)[1]
    assert "0%" not in row
    assert row.count("–") >= 3


def test_mig_instances_stand_under_their_parent() -> None:
    parent = msgspec.structs.replace(parts.gpu(0), mig_enabled=True)
    part = GpuIdentity(
        uuid="MIG-1", index=0, name="H100 MIG 1g.10gb", memory_total_bytes=10 * parts.GIB, mig_parent_uuid=parent.uuid
    )
    view = with_samples(
        scenes.view_of("eight"), parts.busy(parent, 99), parts.busy(part, 99, used_gib=8.0), identities=(parent, part)
    )
    lines = text_of(view, room=4)
    assert "split into MIG instances" in lines[1]
    assert lines[2].startswith("  0:0")
    assert "8.0/10.0" in lines[2]


def test_unified_memory_is_marked() -> None:
    card = msgspec.structs.replace(parts.gpu(0, "NVIDIA GB10"), unified_memory=True)
    view = with_samples(scenes.view_of("eight"), parts.busy(card, 5), identities=(card,))
    assert "shared with the CPU" in text_of(view, room=4)[1]


def test_processes_of_other_containers_are_named_as_such() -> None:
    lines = text_of(scenes.view_of("containers"), width=160, room=4)
    assert "pid 2721979 in another" in lines[1]
    assert "pid 42, hidden" in lines[2]
    assert not any("free" in line for line in lines)


def test_a_choice_of_gpus_hides_the_others() -> None:
    view = scenes.view_of("eight")
    assert [row.label for row in board_of(view, ("0", "6")).gpus] == ["0", "6"]
    assert len(board_of(view, ("mine",)).gpus) == 7
    uuid = parts.gpu(3).uuid
    assert [row.label for row in board_of(view, (uuid,)).gpus] == ["3"]


def test_figures_that_the_driver_has_not_renewed_are_greyed() -> None:
    view = scenes.view_of("eight")
    assert view.snapshot is not None
    hung = msgspec.structs.replace(view.snapshot, timings=(SourceTiming(source="driver", waiting_s=12.0),))
    panel = paint_gpus(board_of(replace(view, snapshot=hung)), LOOKING, 120, 20)
    assert {style for line in panel.lines for _, style in line.spans} <= {"label", "faint"}
    assert [line.text for line in panel.lines] == [
        line.text for line in paint_gpus(board_of(view), LOOKING, 120, 20).lines
    ]
