"""Bytes to lines, and files that grow, shrink, rotate and lie. The texts are invented."""

from __future__ import annotations

import itertools
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.clean import clean
from monitor.steps.lines import HEAD_BYTES, TAIL_BYTES, Line, LineSplitter, TextRing
from monitor.steps.tail import Follower, NotAFileError, Polled, open_text


def _split(chunks: list[bytes]) -> tuple[list[Line], list[Line]]:
    splitter = LineSplitter()
    lines = [line for chunk in chunks for line in splitter.feed(chunk)]
    return lines, splitter.pending()


@given(st.binary(max_size=9000), st.lists(st.integers(0, 9000), max_size=8))
def test_any_chunks_give_the_same_lines(data: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    chunks = [data[a:b] for a, b in itertools.pairwise(edges)]
    assert _split(chunks) == _split([data])


@given(
    st.lists(
        st.sampled_from([b"a" * 3000, b"\xc3", b"\xa9", b"\r", b"\n", b"\x1b[", b"31m", b"\x00" * 50]), max_size=30
    )
)
def test_lines_are_clean_and_bounded(parts: list[bytes]) -> None:
    lines, pending = _split(parts)
    for line in lines + pending:
        assert len(line.text) <= HEAD_BYTES + TAIL_BYTES
        assert clean(line.text) == line.text


@pytest.mark.parametrize(
    ("data", "texts"),
    [
        (b"one\r\ntwo\r\n", ["one", "two"]),
        (b"\rbar 1\rbar 2\rbar 3\n", ["bar 1", "bar 2", "bar 3"]),
        (b"\x00\x00\x00step 1\n", ["step 1"]),
        (b"\x1b[1;31mred\x1b[0m text\n", ["red text"]),
        (b"inner 1\x1b[A\x1b[Aouter 2\n", ["inner 1", "outer 2"]),
        (b"\x1b]0;title\x07after\n", ["after"]),
        (b"60/60\x08\x08\x08\x08\x08\n", ["60/60"]),
        (b"caf\xe9\n", ["caf\ufffd"]),
        ("Schritt ü\n".encode(), ["Schritt ü"]),
    ],
)
def test_ends_and_escapes(data: bytes, texts: list[str]) -> None:
    assert [line.text for line in _split([data])[0]] == texts


def test_a_long_line_keeps_its_beginning_and_its_end() -> None:
    (first, last), _ = _split([b"step:118 - " + b"x" * 100_000 + b" - end\n"])
    assert first.text.startswith("step:118 - ")
    assert last.text.endswith(" - end")
    assert len(first.text) + len(last.text) <= HEAD_BYTES + TAIL_BYTES


def test_the_ring_shows_a_redrawn_bar_once() -> None:
    ring = TextRing()
    for line in _split([b"start\n\rbar 1\rbar 2\rbar 3\nnext\r\nlast\n"])[0]:
        ring.add(line)
    assert ring.last(1000) == ("start", "bar 3", "next", "last")
    assert ring.last(11) == ("next", "last")


def test_the_ring_is_bounded() -> None:
    ring = TextRing()
    for row in range(5000):
        ring.add(Line("x" * 1000, row))
    assert sum(len(text) for text in ring.last(10**9)) <= 65536


def _poll(follower: Follower, path: Path) -> Polled:
    descriptor = open_text(str(path))
    try:
        return follower.poll(descriptor)
    finally:
        os.close(descriptor)


def test_what_is_appended_comes_once_and_the_rest_stays_pending(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\ntw")
    follower = Follower()
    first = _poll(follower, path)
    assert [line.text for line in first.lines] == ["one"]
    assert [(line.text, line.whole) for line in first.pending] == [("tw", False)]
    assert not _poll(follower, path).grew
    with path.open("ab") as file:
        file.write(b"o\nthree\n")
    assert [line.text for line in _poll(follower, path).lines] == ["two", "three"]


def test_a_large_file_is_read_at_its_beginning_and_near_its_end(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"banner\n" + b"".join(b"line %d\n" % n for n in range(100_000)))
    first = _poll(Follower(), path)
    assert first.head[0].text == "banner"
    assert first.lines[-1].text == "line 99999"
    assert 8_000 < len(first.lines) < 20_000
    assert first.lines[0].text.startswith("line "), "no half line"
    assert first.skipped_bytes > 500_000


def test_a_jump_is_skipped_and_said(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"start of a li")
    follower = Follower()
    _poll(follower, path)
    with path.open("ab") as file:
        file.write(b"ne\n" + b"y" * 3_000_000 + b"\nend\n")
    later = _poll(follower, path)
    assert later.skipped_bytes > 2_000_000
    assert later.lines[-1].text == "end"


def test_truncation_and_rotation_begin_anew(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"a long first line\n")
    follower = Follower()
    _poll(follower, path)
    path.write_bytes(b"new\n")
    cut = _poll(follower, path)
    assert cut.restarted
    assert [line.text for line in cut.lines] == ["new"]
    path.rename(tmp_path / "log.1")
    path.write_bytes(b"rotated, and longer than before\n")
    rotated = _poll(follower, path)
    assert rotated.restarted
    assert [line.text for line in rotated.lines] == ["rotated, and longer than before"]


def test_a_sparse_line_of_200_mb_costs_next_to_nothing(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("wb") as file:
        file.write(b"step 1 loss 2\n")
        file.truncate(200 * 1024 * 1024)
        file.seek(0, os.SEEK_END)
        file.write(b"\nstep 2 loss 1\n")
    start = time.thread_time()
    polled = _poll(Follower(), path)
    assert polled.lines[-1].text == "step 2 loss 1"
    assert polled.skipped_bytes > 190 * 1024 * 1024
    assert time.thread_time() - start < 1.0


def test_only_regular_files_are_opened_and_nothing_blocks(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (str(tmp_path / "fifo"), "/dev/null", str(tmp_path)):
        with pytest.raises(NotAFileError):
            open_text(path)
    with pytest.raises(OSError, match="No such file"):
        open_text(str(tmp_path / "absent"))
