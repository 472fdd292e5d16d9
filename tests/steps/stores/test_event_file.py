"""TensorBoard event files, crafted."""

from __future__ import annotations

import struct
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.steps.stores.event_file import EventFile, is_event_file
from monitor.steps.stores.follower import StoreFollower
from monitor.steps.stores.wire import masked_crc32c
from tests.steps.stores.crafted import (
    HEADER,
    ORIGIN,
    T0_S,
    counts,
    event,
    frame,
    read,
    scalar,
    steps,
    tensor,
    text,
)

NAME = "events.out.tfevents.1770000000.node.77.0"


def _plain(first: int = 1, last: int = 40) -> bytes:
    return b"".join(event(n, T0_S + 2 * n, scalar("train/loss", 1 / n)) for n in range(first, last + 1))


def _write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_the_checksum_is_the_published_one() -> None:
    # CRC-32C of "123456789" is 0xE3069283 by the catalogue of checksums.
    crc = 0xE3069283
    assert masked_crc32c(b"123456789") == (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def test_steps_and_their_clock_are_the_files_own(tmp_path: Path) -> None:
    found = counts(read(_write(tmp_path / NAME, HEADER + _plain())))
    assert [e.step for e in found] == list(range(1, 41))
    assert found[-1].event_s == T0_S + 80
    assert {e.event_clock for e in found} == {"text"}
    assert found[-1].values[0].name == "loss"


def test_scalars_in_tensors_and_epochs_from_zero(tmp_path: Path) -> None:
    data = HEADER + b"".join(event(n, T0_S + n, tensor("epoch_loss", 0.5)) for n in range(5))
    last = counts(read(_write(tmp_path / NAME, data)))[-1]
    assert (last.step, last.unit, last.values[0].value) == (5, "epoch", 0.5)


def test_arguments_of_the_trainer_are_settings_and_the_total(tmp_path: Path) -> None:
    arguments = '{"max_steps": 400, "bf16": true, "api_key": "not-a-real-key-1234567"}'
    data = HEADER + event(0, T0_S, text("args/text_summary", arguments)) + _plain()
    follower = StoreFollower(NAME, most_events=100)
    last = counts(read(_write(tmp_path / NAME, data), follower=follower))[-1]
    known = {setting.name: setting.value for setting in follower.settings()}
    assert (last.total, last.unit) == (400, "optimizer_step")
    assert (known["max_steps"], known["bf16"], known["api_key"]) == (400, True, "***")


def test_held_out_figures_and_counts_of_epochs_do_not_count(tmp_path: Path) -> None:
    data = HEADER + _plain() + event(3, T0_S + 90, scalar("val/acc", 0.5)) + event(4, T0_S + 91, scalar("speed", 9))
    assert steps(read(_write(tmp_path / NAME, data)))[-1] == 40


def test_a_restart_in_the_same_file_is_followed(tmp_path: Path) -> None:
    assert steps(read(_write(tmp_path / NAME, HEADER + _plain() + _plain(30, 35))))[-1] == 35


def test_a_torn_record_is_waited_for(tmp_path: Path) -> None:
    whole = HEADER + _plain()
    follower = StoreFollower(NAME)
    path = tmp_path / NAME
    assert steps(read(_write(path, whole[:-9]), follower=follower))[-1] == 39
    assert steps(read(_write(path, whole), follower=follower)) == [40]
    assert steps(read(path, follower=follower)) == []


def test_a_file_that_was_cut_or_replaced_is_read_anew(tmp_path: Path) -> None:
    follower = StoreFollower(NAME)
    path = _write(tmp_path / NAME, HEADER + _plain())
    read(path, follower=follower)
    again = read(_write(path, HEADER + _plain(1, 3)), follower=follower)
    assert again.restarted
    assert steps(again) == [1, 2, 3]


def test_garbage_and_holes_between_records_are_passed_over(tmp_path: Path) -> None:
    data = HEADER + _plain(1, 5) + b"\0" * 5000 + b"\xffgarbage" * 30 + _plain(6, 9)
    assert steps(read(_write(tmp_path / NAME, data))) == list(range(1, 10))


def test_large_records_are_skipped_unread(tmp_path: Path) -> None:
    data = HEADER + frame(b"g" * 3_000_000) + _plain(1, 5)
    assert steps(read(_write(tmp_path / NAME, data))) == [1, 2, 3, 4, 5]


def test_a_gigabyte_that_was_only_announced_costs_nothing(tmp_path: Path) -> None:
    length = struct.pack("<Q", 8 << 30)
    data = HEADER + _plain(1, 5) + length + struct.pack("<I", masked_crc32c(length)) + b"x" * 100
    follower = StoreFollower(NAME)
    assert steps(read(_write(tmp_path / NAME, data), follower=follower)) == [1, 2, 3, 4, 5]
    assert steps(read(_write(tmp_path / NAME, data + b"y" * 100), follower=follower)) == []


def test_of_a_long_file_the_end_is_read(tmp_path: Path) -> None:
    data = HEADER + _plain(1, 20_000)
    follower = StoreFollower(NAME, start_bytes=100_000, tick_bytes=1 << 26)
    polled = read(_write(tmp_path / NAME, data), follower=follower)
    assert steps(polled)[-1] == 20_000
    assert polled.skipped_bytes > 400_000


def test_a_sparse_file_makes_no_claim(tmp_path: Path) -> None:
    path = tmp_path / NAME
    with path.open("wb") as file:
        file.truncate(1 << 33)
    assert counts(read(path, follower=StoreFollower(NAME))) == []


@pytest.mark.parametrize("head", [b"", b"\0" * 40])
def test_an_empty_event_file_is_one_by_its_name(head: bytes) -> None:
    assert is_event_file(NAME, head[:11])
    assert not is_event_file("train.log", head)


@given(st.binary(max_size=400), st.integers(0, 200))
def test_no_bytes_break_it_and_none_of_them_are_steps(garbage: bytes, cut: int) -> None:
    reader = EventFile()
    found = reader.feed(garbage[:cut], ORIGIN) + reader.feed(garbage[cut:], ORIGIN)
    assert [e for e in found if e.step is not None] == []


@given(st.binary(max_size=200))
def test_no_payload_breaks_it(garbage: bytes) -> None:
    odd = frame(garbage) + frame(b"\x2a" + bytes([len(garbage) & 0x7F]) + garbage)
    good = event(7, T0_S, scalar("train/loss", 0.5))
    assert [e.step for e in EventFile().feed(HEADER + odd + good, ORIGIN)][-1:] == [7]


@given(st.lists(st.integers(1, 3000), max_size=6))
def test_however_it_is_cut_the_readings_are_the_same(cuts: list[int]) -> None:
    data = HEADER + _plain()
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    reader = EventFile()
    found = [e for a, b in pairwise(places) for e in reader.feed(data[a:b], ORIGIN)]
    assert [e.step for e in found] == list(range(1, 41))
