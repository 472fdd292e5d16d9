from __future__ import annotations

import pytest

from monitor.history.holders import GpuHolders
from monitor.types.facts import ProcessFacts
from monitor.types.gpu import GpuIdentity, GpuProcess, GpuSample
from monitor.types.identity import ProcessIdentity
from monitor.types.messages import Facts, Hello, Snapshot
from monitor.types.process import Pairing

WALL_S = 1_800_000_000.0
MIB = 1024**2
BOB = ProcessIdentity(pid=42, start_ticks=7)


def sample(
    *pids: int,
    used_mib: int | None = 2,
    util: float | None = 0.0,
    known: bool = True,
    state: str = "ok",
    kind: str = "C",
    uuid: str = "A",
) -> GpuSample:
    return GpuSample(
        uuid=uuid,
        state=state,
        gpu_util_ratio=util,
        memory_used_bytes=None if used_mib is None else used_mib * MIB,
        memory_reserved_bytes=306 * MIB,
        processes=tuple(GpuProcess(pid=pid, kind=kind, used_memory_bytes=100 * MIB) for pid in pids),
        processes_known=known,
    )


def tick(holders: GpuHolders, at_s: float, *samples: GpuSample) -> None:
    pairings = tuple(
        Pairing(gpu_uuid=one.uuid, driver_pid=42, process=BOB)
        for one in samples
        if any(p.pid == 42 for p in one.processes)
    )
    holders.update(Snapshot(taken_s=WALL_S + at_s, boot_s=at_s, gpus=samples, pairings=pairings))


def bobs_facts(started: float) -> Facts:
    fact = ProcessFacts(process=BOB, user="bob", started_s=WALL_S + started)
    return Facts(taken_s=WALL_S, boot_s=0.0, processes=(fact,))


def test_already_held_when_watching_began_is_dated_by_the_process() -> None:
    holders = GpuHolders()
    holders.update(bobs_facts(-3600))
    tick(holders, 100, sample(42, used_mib=9000))
    held = holders.holding("A")
    assert (held.state, held.since_kind, held.since_s, held.users, held.pids) == (
        "held",
        "process_start",
        WALL_S - 3600,
        ("bob",),
        (42,),
    )


def test_facts_that_come_later_still_date_it() -> None:
    holders = GpuHolders()
    tick(holders, 100, sample(42, used_mib=9000))
    assert holders.holding("A").since_kind == "at_least"
    holders.update(bobs_facts(50))
    tick(holders, 101, sample(42, used_mib=9000))
    assert (holders.holding("A").since_kind, holders.holding("A").since_s) == ("process_start", WALL_S + 50)


def test_changes_that_were_watched_are_dated_by_the_change() -> None:
    holders = GpuHolders()
    holders.update(bobs_facts(50))
    tick(holders, 100, sample())
    assert (holders.holding("A").state, holders.holding("A").since_kind) == ("free", "at_least")
    assert holders.free() == ("A",)
    tick(holders, 101, sample(42, used_mib=9000))
    assert (holders.holding("A").since_kind, holders.holding("A").since_s) == ("watched", WALL_S + 101)
    tick(holders, 102, sample(42, used_mib=9000))
    tick(holders, 103, sample())
    assert (holders.holding("A").state, holders.holding("A").since_s, holders.holding("A").since_kind) == (
        "free",
        WALL_S + 103,
        "watched",
    )


def test_time_that_was_not_seen_is_not_claimed() -> None:
    holders = GpuHolders()
    tick(holders, 100, sample())
    tick(holders, 4000, sample())
    assert (holders.holding("A").since_s, holders.holding("A").since_kind) == (WALL_S + 4000, "at_least")
    tick(holders, 4001, sample(state="lost", used_mib=None))
    assert holders.holding("A").state == "unknown"
    assert "lost" in holders.holding("A").why
    tick(holders, 4002, sample())
    assert holders.holding("A").since_s == WALL_S + 4002


def test_the_same_process_after_a_gap_keeps_its_time() -> None:
    holders = GpuHolders()
    tick(holders, 100, sample())
    tick(holders, 101, sample(42, used_mib=9000))
    tick(holders, 200, sample(42, used_mib=9000))
    assert (holders.holding("A").since_s, holders.holding("A").since_kind) == (WALL_S + 101, "watched")


@pytest.mark.parametrize(
    ("reading", "state"),
    [
        (sample(used_mib=10151, util=1.0), "held"),  # memory and use, but nobody to be seen
        (sample(used_mib=10151), "held"),
        (sample(util=0.6), "held"),
        (sample(known=False), "unknown"),
        (sample(known=False, used_mib=70_000), "held"),
        (sample(used_mib=None), "unknown"),
        (sample(9, kind="G", used_mib=150, util=0.2), "free"),  # a desktop
        (sample(9, kind="C+G", used_mib=150), "held"),
        (sample(util=None), "free"),
    ],
)
def test_free_only_when_nothing_speaks_against_it(reading: GpuSample, state: str) -> None:
    holders = GpuHolders()
    tick(holders, 1, reading)
    assert holders.holding("A").state == state


def test_memory_without_a_process_is_said_to_be_held_by_one_that_cannot_be_seen() -> None:
    holders = GpuHolders()
    tick(holders, 1, sample(used_mib=10151, util=1.0))
    held = holders.holding("A")
    assert held.unseen_bytes == 10151 * MIB
    assert "cannot be seen" in held.why
    assert held.pids == ()


def test_unified_memory_is_judged_by_its_processes_alone() -> None:
    holders = GpuHolders()
    holders.update(
        Hello(taken_s=WALL_S, boot_s=0.0, gpus=(GpuIdentity(uuid="A", index=0, name="GB10", unified_memory=True),))
    )
    tick(holders, 1, sample(used_mib=89_000))
    assert holders.holding("A").state == "free"


def test_a_gpu_split_into_instances_is_free_when_all_of_them_are() -> None:
    holders = GpuHolders()
    parts = (
        GpuIdentity(uuid="M1", index=0, name="m", mig_parent_uuid="P"),
        GpuIdentity(uuid="M2", index=1, name="m", mig_parent_uuid="P"),
    )
    holders.update(
        Hello(taken_s=WALL_S, boot_s=0.0, gpus=(GpuIdentity(uuid="P", index=0, name="p", mig_enabled=True), *parts))
    )
    tick(holders, 1, sample(uuid="P", util=None), sample(uuid="M1"), sample(42, uuid="M2", used_mib=9000))
    assert (holders.holding("P").state, holders.holding("M1").state, holders.holding("P").pids) == (
        "held",
        "free",
        (42,),
    )
    tick(holders, 2, sample(uuid="P", util=None), sample(uuid="M1"), sample(uuid="M2"))
    assert (holders.holding("P").state, holders.holding("P").since_s) == ("free", WALL_S + 2)


def test_a_gpu_that_nobody_named_is_unknown() -> None:
    assert GpuHolders().holding("X").state == "unknown"
