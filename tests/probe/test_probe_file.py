"""The file of a probe may hold anything: what is right is read, all else is refused with a reason."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from monitor.probe.file import (
    BODY_AT,
    FACTS_AT,
    LAYOUT,
    MAGIC,
    SIZE_BYTES,
    STEPS_AT,
    ProbeAbsentError,
    ProbeFacts,
    ProbeFileError,
    ProbeReading,
    read_probe,
)
from monitor.probe.inject import _traintop_steps as writer
from monitor.types.identity import ProcessIdentity

PROCESS = ProcessIdentity(pid=1234, start_ticks=5678)
FACTS = {"optimizers": [{"name": "AdamW", "params": 40, "count": 9, "lr": 0.001}], "recent": [[1, 10], [5, 60]]}


def page(**changed: Any) -> bytes:
    """A whole file."""
    one: dict[str, Any] = {
        "sequence": 9,
        "count": 9,
        "first": 10,
        "last": 100,
        "resumed": 0,
        "series": 0,
        "end": 9,
        "facts": FACTS,
    }
    one.update(changed)
    body = one.get("body") or json.dumps(one["facts"]).encode()
    found = bytearray(SIZE_BYTES)
    head = (
        one.get("magic", MAGIC),
        one.get("layout", LAYOUT),
        SIZE_BYTES,
        one.get("pid", 1234),
        one.get("ticks", 5678),
    )
    struct.pack_into("<8sIIQQ", found, 0, *head)
    steps = (one["sequence"], one["count"], one["first"], one["last"], one["resumed"], one["series"], one["end"])
    struct.pack_into("<QQqqqQQ", found, STEPS_AT, *steps)
    struct.pack_into("<QQQ", found, FACTS_AT, 3, one.get("length", len(body)), one.get("facts_end", 3))
    found[BODY_AT : BODY_AT + len(body)] = body
    return bytes(found[:SIZE_BYTES])


def read(folder: Path, data: bytes) -> ProbeReading:
    path = folder / "probe-1234"
    path.write_bytes(data)
    return read_probe(str(path), PROCESS, os.geteuid())


def test_reader_and_writer_have_the_same_form_in_mind() -> None:
    theirs = (writer.MAGIC, writer.LAYOUT, writer.SIZE_BYTES, writer.STEPS_AT, writer.FACTS_AT, writer.BODY_AT)
    assert theirs == (MAGIC, LAYOUT, SIZE_BYTES, STEPS_AT, FACTS_AT, BODY_AT)


def test_a_whole_file(tmp_path: Path) -> None:
    reading = read(tmp_path, page())
    assert (reading.count, reading.first_ns, reading.last_ns, reading.series) == (9, 10, 100, 0)
    assert reading.facts.optimizers[0].name == "AdamW"
    assert reading.facts.recent == ((1, 10), (5, 60))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "cut off"),
        (page()[:200], "cut off"),
        (page(magic=b"\x7fELF\0\0\0\0"), "not a probe's"),
        (page(layout=2), "another version"),
        (page(pid=1235), "earlier process"),
        (page(ticks=5679), "earlier process"),
        (page(end=8), "being written"),
        (page(count=0), "no step"),
        (page(count=2**60), "no sense"),
        (page(first=200), "no sense"),
        (page(resumed=-1), "no sense"),
    ],
)
def test_what_is_refused(tmp_path: Path, data: bytes, words: str) -> None:
    with pytest.raises(ProbeFileError, match=words):
        read(tmp_path, data)


@pytest.mark.parametrize(
    "changed",
    [
        {"length": SIZE_BYTES},
        {"length": 2**63},
        {"facts_end": 4},
        {"body": b"{" * 9000},
        {"body": b"[" * 16000},
        {"body": b'{"optimizers": 3}'},
        {"body": b'{"optimizers": [{"name": "A", "count": -1}]}'},
        {"body": b'{"allocator": {"allocated_bytes": 1e300}}'},
        {"body": b"\xff\xfe"},
    ],
)
def test_damaged_facts_do_not_hide_the_count(tmp_path: Path, changed: dict[str, Any]) -> None:
    reading = read(tmp_path, page(**changed))
    assert reading.count == 9
    assert reading.facts == ProbeFacts()


def test_names_are_cleaned_and_numbers_few(tmp_path: Path) -> None:
    facts = {
        "optimizers": [{"name": "A\x1b[31m" + "x" * 300}] * 20,
        "model": {"name": "\x9b\u202eM", "dtypes": {"\x1b" * 90: 1}},
        "versions": {f"\x07{at}": "1\n2" for at in range(99)},
    }
    found = read(tmp_path, page(facts=facts)).facts
    assert len(found.optimizers) == 12
    assert found.optimizers[0].name.startswith("A^[[31m")
    assert len(found.optimizers[0].name) == 80
    assert found.model.name == "M"
    assert len(found.versions) == 16
    assert "\x1b" not in repr(found)
    assert "\n" not in "".join(found.versions.values())


def test_of_others_links_fifos_and_folders_are_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "probe-1234"
    with pytest.raises(ProbeAbsentError):
        read_probe(str(path), PROCESS, os.geteuid())
    with pytest.raises(ProbeFileError):
        read_probe("/tmp/\0", PROCESS, os.geteuid())
    path.write_bytes(page())
    with pytest.raises(ProbeFileError, match="another user"):
        read_probe(str(path), PROCESS, os.geteuid() + 1)
    link = tmp_path / "link"
    link.symlink_to(path)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for other in (link, fifo, tmp_path):
        with pytest.raises(ProbeFileError, match="no regular file"):
            read_probe(str(other), PROCESS, os.geteuid())


def test_the_pid_that_the_process_knows_counts(tmp_path: Path) -> None:
    path = tmp_path / "probe-7"
    path.write_bytes(page(pid=7))
    assert read_probe(str(path), PROCESS, os.geteuid(), 7).count == 9


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, SIZE_BYTES - 1), st.integers(0, 255)), max_size=40), st.binary(max_size=400))
def test_any_bytes_are_a_reading_or_a_reason(tmp_path: Path, changes: list[tuple[int, int]], body: bytes) -> None:
    data = bytearray(page(body=body or b"{}"))
    for at, value in changes:
        data[at % 600] = value
    try:
        reading = read(tmp_path, bytes(data))
    except ProbeFileError:
        return
    assert 0 < reading.count <= 2**53
    assert reading.first_ns <= reading.last_ns
