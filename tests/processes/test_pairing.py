from __future__ import annotations

import pytest

from monitor.processes.pairing import Holder, LocalProcess, pair
from monitor.types.gpu import GpuProcess, GpuSample
from monitor.types.identity import ProcessIdentity
from tests.processes.fake_proc import HERE, NESTED

A = ProcessIdentity(pid=42, start_ticks=1)
B = ProcessIdentity(pid=43, start_ticks=2)


def gpu(uuid: str, *pids: int) -> GpuSample:
    return GpuSample(uuid=uuid, processes=tuple(GpuProcess(pid=pid) for pid in pids))


def hows(*arguments: object) -> list[tuple[int, str, int | None]]:
    pairings = pair(*arguments)  # type: ignore[arg-type]
    return [(one.driver_pid, one.how, one.process.pid if one.process else None) for one in pairings]


def test_on_the_host_pids_are_pids() -> None:
    local = {42: LocalProcess(A, True), 99: LocalProcess(None, False), 98: LocalProcess(None, True)}
    assert hows([gpu("GPU-a", 42, 99, 98)], local, [], HERE) == [
        (42, "same_pid", 42),
        (99, "gone", None),
        (98, "hidden", None),
    ]


def test_a_foreign_pid_is_never_given_a_local_name() -> None:
    """The driver's 42 is not our bash 42, and 2721979 does not exist here."""
    local = {42: LocalProcess(A, True, holds_gpu=False), 2721979: LocalProcess(None, False)}
    pairings = pair([gpu("GPU-a", 2721979, 42)], local, [], NESTED)
    assert [one.how for one in pairings] == ["other_namespace", "other_namespace"]
    assert all(one.process is None and "--pid=host" in one.detail for one in pairings)


def test_inside_a_container_an_open_gpu_confirms_the_pid() -> None:
    local = {42: LocalProcess(A, True, holds_gpu=True), 43: LocalProcess(B, True, holds_gpu=None)}
    assert hows([gpu("GPU-a", 42, 43)], local, [], NESTED) == [(42, "same_pid", 42), (43, "other_namespace", None)]


def test_the_only_pair_that_fits_is_inferred() -> None:
    pairings = pair([gpu("GPU-a", 5000), gpu("GPU-b", 5000)], {}, [Holder(A, None)], NESTED)
    assert {(one.how, one.process) for one in pairings} == {("inferred", A)}


@pytest.mark.parametrize(
    ("gpus", "holders"),
    [
        ([gpu("GPU-a", 5000, 5001)], [Holder(A, None)]),
        ([gpu("GPU-a", 5000)], [Holder(A, None), Holder(B, None)]),
        ([gpu("GPU-a", 5000)], [Holder(A, frozenset({"GPU-b"}))]),
        ([gpu("GPU-a", 5000), gpu("GPU-b", 5000)], [Holder(A, frozenset({"GPU-b"}))]),
    ],
)
def test_what_is_not_unique_is_not_guessed(gpus: list[GpuSample], holders: list[Holder]) -> None:
    assert {how for _, how, _ in hows(gpus, {}, holders, NESTED)} == {"other_namespace"}


def test_each_pair_found_makes_the_next_one_unique() -> None:
    holders = [Holder(A, frozenset({"GPU-a"})), Holder(B, frozenset({"GPU-b"}))]
    assert hows([gpu("GPU-a", 5000), gpu("GPU-b", 5001)], {}, holders, NESTED) == [
        (5000, "inferred", 42),
        (5001, "inferred", 43),
    ]


def test_a_confirmed_process_is_no_partner_for_another_pid() -> None:
    local = {42: LocalProcess(A, True, holds_gpu=True)}
    assert hows([gpu("GPU-a", 42, 5000)], local, [Holder(A, None)], NESTED) == [
        (42, "same_pid", 42),
        (5000, "other_namespace", None),
    ]


def test_dead_and_hidden_processes_are_said_to_be_so() -> None:
    (zombie,) = pair([gpu("GPU-a", 42)], {42: LocalProcess(A, True, zombie=True)}, [], HERE)
    assert zombie.how == "same_pid"
    assert "parent" in zombie.detail
    (hidden,) = pair([gpu("GPU-a", 42)], {42: LocalProcess(None, True)}, [], NESTED)
    assert (hidden.how, hidden.process) == ("hidden", None)


def test_no_gpus_and_no_processes() -> None:
    assert pair([], {}, [], HERE) == ()
    assert pair([GpuSample(uuid="GPU-a")], {}, [Holder(A, None)], NESTED) == ()
