"""No text, however odd, may crash a format, hold it up, or be counted where it counts nothing. All is invented."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.steps.formats.known_lines import LINES, MARKS
from monitor.steps.formats.registry import TextReader
from tests.steps.texts import counts_of, events_of

_WORDS = sorted({hint for row in LINES for hint in row.hints} | {hint for mark in MARKS for hint in mark.hints})
_PIECES = st.sampled_from(
    (*_WORDS, "0", "1", "12", "999", "3/10", "[3/10]", "1e9", "-1", "nan", ",", " ", "  ", ": ", "|", "[", "]",
     "(", ")", "%", "━" * 8, "=>..", "s", "ms/step", "loss", "lr", "\r", "\n", "\t", "{\"epoch\"", "}",
     "2026-02-03 04:05:06")
)  # fmt: skip


@given(st.lists(_PIECES, max_size=40))
def test_pieces_of_known_lines_in_any_order(pieces: list[str]) -> None:
    for event in events_of("".join(pieces) + "\n"):
        assert event.step is None or event.step >= 0
        assert event.total is None or event.total > 0
        assert event.seconds_per_step is None or event.seconds_per_step >= 0
        assert event.elapsed_s is None or event.elapsed_s >= 0
        assert 0 <= event.confidence <= 1


@given(st.binary(max_size=400))
def test_any_bytes(data: bytes) -> None:
    for event in events_of(data):
        assert event.step is None or event.step >= 0


@given(st.lists(st.text(alphabet="abcdefghijklmnop qrstuvwxyz.,;", max_size=60), max_size=20))
def test_prose_counts_nothing(lines: list[str]) -> None:
    assert counts_of("\n".join(lines)) == []


@pytest.mark.parametrize(
    "line",
    [
        "Epoch: [" + "1" * 4000 + "] eta: ",
        "iter: 5  " + "total_loss " * 400,
        "epoch 1: " + " " * 4000 + "num_updates=",
        "| " * 2000,
        "Epoch(train) " + "[" * 4000,
        "-" * 4090,
        "1/2 " + "━" * 4000,
        "3/99  6.9G " + "0.1 " * 1000,
        "12: " + "total: " * 600 + "remaining: ",
        '{"epoch": ' + "[" * 4000,
        "time taken " * 400,
        "max_epochs " + " " * 4000 + "5",
        "Tue Feb " + "1" * 4000,
        "step " + "1," * 2000,
    ],
    ids=range(14),
)
def test_no_line_is_slow(line: str) -> None:
    reader = TextReader()
    started = time.perf_counter()
    events_of((line + "\n") * 20, reader)
    assert time.perf_counter() - started < 1.0


@pytest.mark.parametrize(
    "text",
    [
        "Downloading weights: 3/10 files\n" * 5,
        "Saving checkpoint at epoch 3\nSaving checkpoint at epoch 4\nSaving checkpoint at epoch 5\n",
        "[1] 12345\n[2] 12346\n[3] 12347\n",
        "100/100 tests passed\n",
        "Loaded 3/10 shards\nLoaded 4/10 shards\nLoaded 5/10 shards\n",
        "Class 1: P=87.89% R=77.91%\nClass 2: P=8.7% R=47.1%\nClass 3: P=7.7% R=7.1%\n",
        "Train: 6542, Val: 1402, Test: 1403\n",
        "2026-02-03 04:05:06 INFO epochs=100 batch=16 imgsz=640\n",
    ],
)
def test_what_only_looks_like_a_counter(text: str) -> None:
    assert counts_of(text) == []
