"""W&B's own log of a run, crafted."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from monitor.steps.stores.follower import StoreFollower
from monitor.steps.stores.wandb_file import WandbFile
from tests.steps.stores.crafted import ORIGIN, T0_S, blocks, counts, history, inner, number_field, read, steps

NAME = "run-abc.wandb"


def _row(n: int, **more: object) -> bytes:
    row: dict[str, object] = {"_step": n, "_timestamp": T0_S + 3 * n, "_runtime": 3.0 * n, "train/loss": 1 / n, **more}
    return history(**row)


def _config(**values: object) -> bytes:
    items = [inner(1, key.encode()) + inner(16, json.dumps(value).encode()) for key, value in values.items()]
    return inner(5, b"".join(inner(1, item) for item in items))


def test_the_trainers_own_count_goes_before_the_loggers(tmp_path: Path) -> None:
    rows = [_row(n, **{"train/global_step": 10 * n}) for n in range(1, 9)]
    path = tmp_path / NAME
    path.write_bytes(blocks([_config(max_steps=500, model={"layers": 2}), *rows]))
    follower = StoreFollower(NAME)
    last = counts(read(path, follower=follower))[-1]
    assert (last.step, last.total, last.event_s, last.event_clock) == (80, 500, T0_S + 24, "text")
    assert last.values[0].value == 1 / 8
    assert {s.name: s.value for s in follower.settings()} == {"max_steps": 500, "model.layers": 2}


def test_records_over_several_blocks_and_torn_ones(tmp_path: Path) -> None:
    rows = [_row(n, note="x" * 9000) for n in range(1, 12)]
    data = blocks(rows)
    path = tmp_path / NAME
    follower = StoreFollower(NAME)
    path.write_bytes(data[:40_000])
    first = steps(read(path, follower=follower))
    path.write_bytes(data)
    assert first + steps(read(path, follower=follower)) == list(range(1, 12))


def test_typed_values_of_newer_clients_are_read() -> None:
    item = inner(1, b"_step") + number_field(5, 7)
    loss = inner(1, b"loss") + inner(16, b"0.5")
    found = WandbFile().feed(blocks([inner(2, inner(1, item) + inner(1, loss))]), ORIGIN)
    assert [e.step for e in found] == [7]


def test_huge_records_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(blocks([_row(1), inner(4, b"z" * 3_000_000), _row(2)]))
    assert steps(read(path, follower=StoreFollower(NAME, tick_bytes=1 << 26))) == [1, 2]


def test_the_exit_says_how_it_ended(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(blocks([_row(1), inner(18, number_field(1, 1))]))
    assert [e.ended for e in read(path).events if e.ended] == ["error"]


def test_a_damaged_block_costs_only_itself(tmp_path: Path) -> None:
    data = bytearray(blocks([_row(n, note="x" * 9000) for n in range(1, 40)]))
    data[32768 : 2 * 32768] = b"\xff" * 32768
    path = tmp_path / NAME
    path.write_bytes(data)
    assert steps(read(path))[-1] == 39


@given(st.binary(max_size=300), st.integers(0, 300))
def test_no_bytes_break_it(garbage: bytes, cut: int) -> None:
    reader = WandbFile()
    data = b":W&B\0\0\0" + garbage
    found = reader.feed(data[:cut], ORIGIN) + reader.feed(data[cut:], ORIGIN)
    assert [e for e in found if e.step is not None] == []
