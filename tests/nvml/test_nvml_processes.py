"""Properties of the process list and of field values, for whatever a driver hands out."""

from __future__ import annotations

import dataclasses
import math
import struct
from typing import Any

import pynvml
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.clean import clean
from monitor.nvml.binding import Binding
from monitor.nvml.calls import Call, Caller, Field, Question
from monitor.nvml.errors import REFUSALS, Refusal
from monitor.nvml.fields import FieldBatch
from monitor.nvml.processes import ProcessLister
from monitor.nvml.sums import unattributed_bytes
from tests.fake_nvml.gpu import NOT_AVAILABLE, FakeGpu
from tests.fake_nvml.library import FakeLibrary, installed

TOTAL = 80 << 30
PID_MAX = 4194304
pids = st.one_of(st.integers(0, 2**32 - 1), st.integers(1, 200))
memories = st.one_of(st.integers(0, 2**64 - 1), st.sampled_from([0, NOT_AVAILABLE, TOTAL, TOTAL + 1]))
lists = st.lists(st.tuples(pids, memories), max_size=300)


def _lister(library: FakeLibrary) -> tuple[ProcessLister, Any]:
    pynvml.nvmlInit()
    caller = Caller(Binding(pynvml))
    return ProcessLister(caller, PID_MAX), pynvml.nvmlDeviceGetHandleByIndex(0)


@given(compute=lists, graphics=lists, generation=st.sampled_from(["470", "525", "535", "580"]))
def test_only_rows_that_can_be_true_survive(
    compute: list[tuple[int, int]], graphics: list[tuple[int, int]], generation: str
) -> None:
    gpu = FakeGpu(compute=list(compute), graphics=list(graphics))
    with installed(FakeLibrary([gpu], generation)) as library:
        lister, handle = _lister(library)
        listed = lister.read(handle, TOTAL, 0.0)
    sane = [
        row for row in (*compute, *graphics) if 0 < row[0] <= PID_MAX and (row[1] <= TOTAL or row[1] == NOT_AVAILABLE)
    ]
    assert {claim.pid for claim in listed.claims} == {pid for pid, _memory in sane}
    assert len(listed.claims) == len({pid for pid, _memory in sane})
    assert listed.dropped == len(compute) + len(graphics) - len(sane)
    for claim in listed.claims:
        assert claim.used_memory_bytes is None or 0 < claim.used_memory_bytes <= TOTAL


@given(claims=lists, used=st.one_of(st.none(), st.integers(0, TOTAL)))
def test_unattributed_memory_is_never_negative_nor_guessed(claims: list[tuple[int, int]], used: int | None) -> None:
    gpu = FakeGpu(compute=list(claims))
    with installed(FakeLibrary([gpu])) as library:
        lister, handle = _lister(library)
        listed = lister.read(handle, TOTAL, 0.0)
    rest = unattributed_bytes(used, listed)
    if used is None or listed.dropped:
        assert rest is None
    else:
        assert rest == max(0, used - sum(claim.used_memory_bytes or 0 for claim in listed.claims))
    assert unattributed_bytes(used, dataclasses.replace(listed, refusal=REFUSALS[4])) is None


def test_an_unchanged_list_is_the_same_object_and_a_changed_one_is_not() -> None:
    gpu = FakeGpu(compute=[(5, 100), (6, 200)])
    with installed(FakeLibrary([gpu])) as library:
        lister, handle = _lister(library)
        first = lister.read(handle, TOTAL, 0.0)
        assert lister.read(handle, TOTAL, 1.0) is first
        gpu.compute.append((7, 300))
        assert [claim.pid for claim in lister.read(handle, TOTAL, 2.0).claims] == [5, 6, 7]
        gpu.compute.clear()
        assert lister.read(handle, TOTAL, 3.0).claims == ()


def test_a_list_that_grows_between_two_calls() -> None:
    gpu = FakeGpu(compute=[(pid, pid) for pid in range(1, 1001)])
    with installed(FakeLibrary([gpu])) as library:
        lister, handle = _lister(library)
        assert len(lister.read(handle, TOTAL, 0.0).claims) == 1000
        before = library.calls["nvmlDeviceGetComputeRunningProcesses_v3"]
        lister.read(handle, TOTAL, 1.0)
        assert library.calls["nvmlDeviceGetComputeRunningProcesses_v3"] == before + 1  # room is kept


@pytest.mark.parametrize(
    ("kind", "raw", "value"),
    [
        (0, struct.pack("<d", 1.5), 1.5),
        (1, struct.pack("<II", 7, 0xDEAD), 7),
        (2, struct.pack("<Q", 2**40), 2**40),
        (3, struct.pack("<Q", 2**63), 2**63),
        (4, struct.pack("<q", -5), -5),
        (5, struct.pack("<iI", -6, 0xDEAD), -6),
        (6, struct.pack("<HHI", 9, 0xDEAD, 0xDEAD), 9),
    ],
)
def test_the_member_of_a_field_value_follows_its_type(kind: int, raw: bytes, value: float) -> None:
    assert _field(kind, raw) == value


@given(kind=st.integers(0, 2**32 - 1), raw=st.binary(min_size=8, max_size=8))
def test_any_field_value_is_a_finite_number_or_a_refusal(kind: int, raw: bytes) -> None:
    answer = _field(kind, raw)
    assert isinstance(answer, Refusal) or math.isfinite(answer)


def _field(kind: int, raw: bytes) -> int | float | Refusal:
    class Library(FakeLibrary):
        def __getattr__(self, name: str) -> Any:
            if name != "nvmlDeviceGetFieldValues":
                return super().__getattr__(name)

            def give(handle: Any, count: Any, values: Any) -> int:
                value = values._obj[0]
                value.nvmlReturn, value.valueType = 0, kind
                value.value.ullVal = int.from_bytes(raw, "little")
                return 0

            return give

    with installed(Library([FakeGpu()])) as library:
        _lister_unused, handle = _lister(library)
        (answer,) = FieldBatch(Caller(Binding(pynvml)), [Field(83)]).read(handle)
    return answer


@given(
    codes=st.lists(st.sampled_from([0, 2, 3, 4, 6, 10, 13, 15, 25, 999]), min_size=1, max_size=60),
)
def test_a_question_refused_for_good_is_never_asked_again(codes: list[int]) -> None:
    question = Question((Call("new"), Call("old")))
    finals = 0
    for tick, code in enumerate(codes):
        if question.spelling is None:
            break
        refusal = REFUSALS[code]
        final = refusal.is_final or code == 2
        finals += final
        question.refused(refusal, float(tick))
        assert question.position == finals
        assert question.retry_at_s <= tick + 60
    assert finals <= 2
    assert question.refusal is not None


@given(st.binary(max_size=95).filter(lambda name: b"\0" not in name))
def test_any_name_is_safe_text(name: bytes) -> None:
    with installed(FakeLibrary([FakeGpu(name=name or b"x")])) as library:
        _unused, handle = _lister(library)
        answer = Caller(Binding(pynvml)).call("nvmlDeviceGetName", handle)
    assert isinstance(answer, bytes)
    assert clean(answer, 96) == clean(clean(answer, 96), 96)
