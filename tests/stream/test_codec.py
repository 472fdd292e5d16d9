from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.clean import clean
from monitor.stream.codec import MAX_LINE_BYTES, ForeignStreamError, MessageDecoder, RequestDecoder, encode
from monitor.types.messages import Fault, Hello
from monitor.types.requests import Allow, Release, Request, Stop, Tail, Watch
from tests.stream.invented import identity, stream, tick

WHOLE = stream(12)
RAW = b"".join(encode(message) for message in WHOLE)


@given(st.lists(st.integers(0, len(RAW)), max_size=20))
def test_the_messages_do_not_depend_on_how_the_bytes_arrive(cuts: list[int]) -> None:
    decoder = MessageDecoder()
    edges = [0, *sorted(cuts), len(RAW)]
    messages = [each for start, end in itertools.pairwise(edges) for each in decoder.feed(RAW[start:end])]
    assert messages == WHOLE
    assert not decoder.cut_off


@given(st.integers(0, len(RAW)))
def test_any_prefix_gives_a_prefix_of_the_messages(length: int) -> None:
    decoder = MessageDecoder()
    messages = decoder.feed(RAW[:length])
    assert messages == WHOLE[: len(messages)]
    assert len(messages) == RAW[:length].count(b"\n")
    assert decoder.broken == 0


def test_another_major_version_is_one_sentence() -> None:
    with pytest.raises(ForeignStreamError, match=r"protocol 2.*speaks 1") as caught:
        MessageDecoder().feed(encode(Hello(taken_s=1, boot_s=1, protocol_major=2)))
    assert "\n" not in str(caught.value)


def test_a_newer_minor_version_with_fields_and_types_we_do_not_know_is_read() -> None:
    decoder = MessageDecoder()
    messages = decoder.feed(
        b'{"type":"hello","taken_s":1,"boot_s":1,"protocol_minor":9,"new_field":{"a":[1]}}\n'
        b'{"type":"weather","taken_s":1,"boot_s":1}\n' + encode(tick(1))
    )
    assert [type(message).__name__ for message in messages] == ["Hello", "Snapshot"]
    assert (decoder.unknown, decoder.broken) == (1, 0)


def test_a_line_that_cannot_be_read_loses_only_itself() -> None:
    decoder = MessageDecoder()
    bad = [
        b'{"type":"snapshot","taken_s":"soon","boot_s":1}\n',
        b"\xff\xfe\n",
        b'{"type":"fault"}\n',
        b"[" * 100_000 + b"\n",
        b'{"type":"text","taken_s":1,"boot_s":1,"process":{"pid":1,"start_ticks":1},"lines":["\xff"]}\n',
    ]
    messages = decoder.feed(encode(tick(1)) + b"".join(bad) + encode(tick(2)))
    assert messages == [tick(1), tick(2)]
    assert decoder.broken == len(bad)


@pytest.mark.parametrize(
    "foreign", [b"PK\x03\x04\n", b"hello\n", b"\n\n{}\n", b'{"loss": 0.5}\n', b"\x00" * 50 + b"\n"]
)
def test_a_foreign_first_line_is_refused(foreign: bytes) -> None:
    with pytest.raises(ForeignStreamError, match="not a traintop stream"):
        MessageDecoder().feed(foreign)


def test_what_a_login_shell_prints_first_is_let_pass_where_that_is_expected() -> None:
    decoder = MessageDecoder(noise_lines=2)
    assert decoder.feed(b"Welcome to node07\nLast login: yesterday\n" + encode(tick(1))) == [tick(1)]
    with pytest.raises(ForeignStreamError):
        MessageDecoder(noise_lines=2).feed(b"one\ntwo\nthree\n")


def test_a_line_without_end_is_given_up_in_bounded_memory() -> None:
    decoder = MessageDecoder()
    piece = b'{"type":"hello"' + b" " * 1_000_000
    for _ in range(MAX_LINE_BYTES // len(piece)):
        assert decoder.feed(piece) == []
    with pytest.raises(ForeignStreamError, match="16 MiB"):
        decoder.feed(piece * 2)


@given(st.binary(max_size=400))
def test_arbitrary_bytes_never_raise_anything_else(data: bytes) -> None:
    decoder, requests = MessageDecoder(), RequestDecoder()
    try:
        messages = decoder.feed(data) + decoder.feed(b"\n")
        assert bool(messages) <= decoder.understood
    except ForeignStreamError:
        assert not decoder.understood
    assert requests.feed(data + b"\n") == []
    assert requests.broken == sum(1 for line in data.split(b"\n") if line.strip())


REQUESTS: tuple[Request, ...] = (
    Watch(view="gpu", gpu_uuids=("GPU-a",)),
    Tail(process=identity(1), max_bytes=100),
    Allow(process=identity(1), source="terminal"),
    Release(),
    Release(released=False),
    Stop(),
)


def test_requests_come_through_one_byte_at_a_time() -> None:
    decoder = RequestDecoder()
    raw = b"".join(encode(request) for request in REQUESTS)
    got = [request for number in range(len(raw)) for request in decoder.feed(raw[number : number + 1])]
    assert tuple(got) == REQUESTS


def test_a_request_without_end_is_dropped_and_counted() -> None:
    decoder = RequestDecoder()
    assert decoder.feed(b"x" * 100_000) == []
    assert decoder.broken == 1
    assert decoder.feed(b"\n" + encode(Stop())) == [Stop()]


HOSTILE = "\x1b]52;c;ZXZpbA==\x07 a\u202eb\x9bc\u200bd\x7f"


@pytest.mark.parametrize("escaped", [True, False])
def test_terminal_codes_in_a_stream_from_elsewhere_never_reach_a_record(escaped: bool) -> None:
    document = {
        "type": "fault",
        "taken_s": 1,
        "boot_s": 1,
        "key": "k",
        "source": "driver",
        "sentence": HOSTILE,
        "process": {"pid": 1, "start_ticks": 7},
    }
    line = json.dumps(document, ensure_ascii=escaped).encode() + b"\n"
    (message,) = MessageDecoder().feed(line)
    assert isinstance(message, Fault)
    assert message.sentence == clean(HOSTILE)
    assert message.sentence.isprintable()
    assert message.process == identity(1)


@given(st.text(max_size=80))
def test_any_text_comes_out_clean_and_clean_text_as_it_was(text: str) -> None:
    fault = Fault(taken_s=1, boot_s=1, key="k", source="driver", sentence=clean(text))
    assert MessageDecoder().feed(encode(fault)) == [fault]
    line = json.dumps({"type": "fault", "taken_s": 1, "boot_s": 1, "key": "k", "source": "x", "sentence": text})
    for message in MessageDecoder().feed(line.encode() + b"\n"):
        assert isinstance(message, Fault)
        assert message.sentence == clean(text)


def test_a_document_that_is_nested_too_deep_is_a_broken_line() -> None:
    decoder = MessageDecoder()
    deep = b"[" * 100_000 + b"]" * 100_000
    for text in (b"x", b"\\u001b"):
        line = b'{"type":"hello","taken_s":1,"boot_s":1,"host":"' + text + b'","new":' + deep + b"}\n"
        assert decoder.feed(line) == []
    assert decoder.broken == 2
    assert decoder.feed(encode(tick(1))) == [tick(1)]
    requests = RequestDecoder()
    assert requests.feed(b'{"type":"stop","new":' + deep + b"}\n") == []
