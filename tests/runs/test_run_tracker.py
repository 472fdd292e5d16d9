from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.runs.ended import MAX_ENDED
from monitor.runs.tracker import RunTracker
from monitor.stream.codec import MessageDecoder, encode
from monitor.types.facts import Container, OpenFile
from monitor.types.messages import Facts, Message, Snapshot
from monitor.types.process import Pairing
from monitor.types.run import Run
from tests.runs.builders import GIB, WALL_S, Node, process, step, who


def tracked(node: Node) -> RunTracker:
    tracker = RunTracker()
    tracker.update(node.hello())
    tracker.update(node.told())
    return tracker


def one(tracker: RunTracker) -> Run:
    (run,) = tracker.runs()
    return run


def torchrun(count: int = 2) -> Node:
    node = Node(
        process(100, "torchrun --nproc_per_node 2 train.py", "launcher"),
        *(
            process(
                101 + rank,
                "python train.py",
                parent=100,
                env={"RANK": str(rank), "WORLD_SIZE": str(count), "MASTER_PORT": "29500"},
            )
            for rank in range(count)
        ),
    )
    node.on_gpu = {101 + rank: (f"GPU-{rank}",) for rank in range(count)}
    return node


def test_a_distributed_run_shows_its_gpus_memory_and_the_steps_of_rank_0() -> None:
    node = torchrun()
    tracker = tracked(node)
    for at in range(1, 40):
        tracker.update(node.tick(step(101, at, seen=node.boot_s), step(102, at, seen=node.boot_s)))
    run = one(tracker)
    assert (run.kind, run.mine, run.user, run.step, run.total) == ("training", True, "ann", 39, 1000)
    assert run.gpu_uuids == ("GPU-0", "GPU-1")
    assert run.gpu_memory_bytes == 20 * GIB
    assert run.step_seconds == pytest.approx(1.0, rel=0.1)
    assert run.phase == "training"
    assert run.started_s == WALL_S + 1.0
    assert run.command == "python train.py"
    assert (run.cpu_ratio, run.rss_bytes) == (3.0, 3 * GIB)
    assert run.energy_j == pytest.approx(2 * 300 * 38)


def test_ranks_that_disagree_are_noted_never_averaged() -> None:
    node = torchrun()
    tracker = tracked(node)
    tracker.update(node.tick(step(101, 100), step(102, 40)))
    run = one(tracker)
    assert run.step == 100
    assert any("rank 1 counts 40" in source.note and not source.used for source in run.sources)


def test_the_rank_that_reports_is_used_when_rank_0_is_silent() -> None:
    node = torchrun()
    tracker = tracked(node)
    tracker.update(node.tick(step(102, 40)))
    assert one(tracker).step == 40


def test_the_id_holds_while_workers_and_rank_0_come_and_go_and_is_the_same_for_who_looks_later() -> None:
    node = torchrun()
    tracker = tracked(node)
    tracker.update(node.tick())
    first = one(tracker).run_id
    node.facts[110] = process(110, "python train.py", "worker", parent=101)
    tracker.update(node.told())
    tracker.update(node.tick())
    later = tracked(node)
    later.update(node.tick())
    assert one(later).run_id == first
    tracker.update(node.tick(ended=node.end(110)))
    tracker.update(node.tick(ended=node.end(101)))
    run = one(tracker)
    assert (run.run_id, run.ended) == (first, None)
    assert [member.process.pid for member in run.members] == [100, 102]


def test_without_a_launcher_the_id_survives_the_death_of_rank_0() -> None:
    node = torchrun()
    del node.facts[100]
    tracker = tracked(node)
    tracker.update(node.tick())
    first = one(tracker).run_id
    tracker.update(node.tick(ended=node.end(101)))
    assert one(tracker).run_id == first


def test_other_processes_and_another_boot_give_other_ids() -> None:
    ids = set()
    for boot, pid in (("a", 100), ("a", 101), ("b", 100)):
        node = Node(process(pid, "python train.py"))
        tracker = RunTracker()
        for message in (node.hello(boot), node.told(), node.tick()):
            tracker.update(message)
        ids.add(one(tracker).run_id)
    assert len(ids) == 3


def test_a_new_boot_forgets_everybody() -> None:
    node = torchrun()
    tracker = tracked(node)
    tracker.update(node.tick())
    tracker.update(node.hello("boot-two"))
    assert tracker.runs() == ()


def test_ranks_that_end_under_their_launcher_are_one_ended_run_with_the_cause() -> None:
    node = torchrun()
    tracker = tracked(node)
    tracker.update(node.tick(step(101, 12_941, 40_000)))
    oom = (
        "Traceback (most recent call last):",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.60 GiB.",
    )
    tracker.update(node.tick(ended=node.end(102, tail=oom)))
    assert one(tracker).ended is None
    tracker.update(node.tick(ended=node.end(101, tail=("Received SIGTERM",))))
    run = one(tracker)
    assert run.ended is not None
    assert (run.ended.how, run.phase, run.step) == ("out_of_memory", "ended", 12_941)
    assert "3.60 GiB" in run.ended.evidence
    assert run.gpu_uuids == ("GPU-0", "GPU-1")
    tracker.update(node.tick(ended=node.end(100)))
    assert len(tracker.runs()) == 1


def test_ranks_started_again_by_the_same_launcher_are_the_same_run() -> None:
    node = torchrun()
    tracker = tracked(node)
    tracker.update(node.tick())
    first = one(tracker).run_id
    tracker.update(node.tick(ended=node.end(101, 102, tail=("Traceback (most recent call last):", "ValueError: x"))))
    assert one(tracker).ended is not None
    node.facts[201] = process(201, "python train.py", parent=100, env={"RANK": "0", "WORLD_SIZE": "2"})
    tracker.update(node.told())
    tracker.update(node.tick())
    run = one(tracker)
    assert (run.run_id, run.ended) == (first, None)


@pytest.mark.parametrize(
    ("tail", "oom_kills", "how", "evidence"),
    [
        (("{'train_runtime': 12.0}", "Training completed."), None, "finished", "Training completed"),
        (
            ("Traceback (most recent call last):", '  File "x.py", line 3', "ValueError: bad shape"),
            None,
            "error",
            "ValueError: bad shape",
        ),
        (("Traceback (most recent call last):", "KeyboardInterrupt"), None, "killed", "KeyboardInterrupt"),
        (
            ("slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-11-30T10:00:00 DUE TO TIME LIMIT ***",),
            None,
            "time_limit",
            "TIME LIMIT",
        ),
        ((), 1, "killed", "host out of memory"),
        (("Killed",), 2, "killed", "host out of memory"),
        (("step 5/1000 loss 2.0",), None, "unknown", "ended without a message at step 5"),
    ],
)
def test_how_a_run_ended(tail: tuple[str, ...], oom_kills: int | None, how: str, evidence: str) -> None:
    node = Node(process(100, "python train.py"))
    tracker = tracked(node)
    tracker.update(node.tick(step(100, 5)))
    tracker.update(node.tick(ended=node.end(100, tail=tail, oom_kills=oom_kills)))
    ended = one(tracker).ended
    assert ended is not None
    assert ended.how == how
    assert evidence in ended.evidence


def test_a_run_that_reached_its_total_finished_though_it_said_nothing() -> None:
    node = Node(process(100, "python train.py"))
    tracker = tracked(node)
    tracker.update(node.tick(step(100, 1000)))
    tracker.update(node.tick(ended=node.end(100)))
    ended = one(tracker).ended
    assert ended is not None
    assert (ended.how, ended.evidence) == ("finished", "reached step 1,000 of 1,000")


def test_words_that_arrive_after_the_end_still_count() -> None:
    node = Node(process(100, "python train.py"))
    tracker = tracked(node)
    tracker.update(node.tick(step(100, 5)))
    tracker.update(node.tick(ended=node.end(100)))
    tracker.update(node.tick(step(100, 6, step=None, ended="out_of_memory", evidence="CUDA out of memory", values=())))
    ended = one(tracker).ended
    assert ended is not None
    assert ended.how == "out_of_memory"


def test_a_process_missed_for_a_moment_has_not_ended() -> None:
    node = Node(process(100, "python train.py"))
    tracker = tracked(node)
    tracker.update(node.tick())
    fact = node.facts.pop(100)
    tracker.update(node.tick())
    assert one(tracker).ended is None
    node.facts[100] = fact
    tracker.update(node.tick())
    assert one(tracker).ended is None
    node.facts.clear()
    for _ in range(3):
        tracker.update(node.tick())
    assert one(tracker).ended is not None


def test_the_bars_of_a_server_are_no_steps_and_a_notebook_that_counts_shows_them() -> None:
    node = Node(process(100, "vllm serve a/b", "serving"), process(101, "python -m ipykernel_launcher", "notebook"))
    tracker = tracked(node)
    tracker.update(node.tick(step(100, 5), step(101, 5, seen=node.boot_s)))
    steps = {run.kind: (run.step, run.phase) for run in tracker.runs()}
    assert steps == {"serving": (None, "not_training"), "notebook": (5, "training")}


def test_trainings_that_one_script_starts_one_after_another_are_runs_of_their_own() -> None:
    node = Node(
        process(90, "uv run python sweep_training.py", "launcher"),
        process(100, "python sweep_training.py", parent=90),
        process(101, "python train.py --lr 1", parent=100),
    )
    tracker = tracked(node)
    tracker.update(node.tick(step(101, 7)))
    first = one(tracker)
    assert [member.role for member in first.members] == ["launcher", "launcher", "trainer"]
    tracker.update(node.tick(ended=node.end(101)))
    node.facts[102] = process(102, "python train.py --lr 2", parent=100)
    tracker.update(node.told())
    tracker.update(node.tick(step(102, 1)))
    runs = {run.run_id: run for run in tracker.runs()}
    assert sorted(run.command for run in runs.values()) == ["python train.py --lr 1", "python train.py --lr 2"]
    ended = runs[first.run_id].ended
    assert ended is not None


def test_a_zombie_has_ended() -> None:
    node = Node(process(100, "python train.py"))
    tracker = tracked(node)
    tracker.update(node.tick(step(100, 1000)))
    node.states = {100: "Z"}
    for _ in range(5):
        tracker.update(node.tick())
    ended = one(tracker).ended
    assert ended is not None
    assert ended.how == "finished"


def test_ended_runs_are_bounded_and_the_newest_stay_first() -> None:
    node = Node()
    tracker = tracked(node)
    for pid in range(100, 100 + MAX_ENDED + 5):
        node.facts[pid] = process(pid, f"python train.py --run_name r{pid}")
        tracker.update(node.told())
        tracker.update(node.tick())
        tracker.update(node.tick(ended=node.end(pid)))
    names = [run.name for run in tracker.runs()]
    assert len(names) == MAX_ENDED
    assert names[0] == f"r{100 + MAX_ENDED + 4}"


def test_a_run_started_again_keeps_the_plain_name_and_the_ended_one_gets_its_pid() -> None:
    node = Node(process(100, "python train.py --run_name a"))
    tracker = tracked(node)
    tracker.update(node.tick())
    tracker.update(node.tick(ended=node.end(100)))
    node.facts[200] = process(200, "python train.py --run_name a")
    tracker.update(node.told())
    tracker.update(node.tick())
    assert [run.name for run in tracker.runs()] == ["a", "a (100)"]


def test_a_sweep_shares_a_group_and_a_lone_run_has_none() -> None:
    node = Node(
        *(process(100 + one_of, f"python train.py --lr {one_of}e-4") for one_of in range(4)),
        process(200, "python other.py"),
    )
    tracker = tracked(node)
    tracker.update(node.tick())
    runs = {run.name: run for run in tracker.runs()}
    assert {"lr=0e-4", "lr=3e-4", "other.py"} < set(runs)
    assert runs["lr=0e-4"].group_name == "sweep train.py …(4)"
    assert len({run.group_id for run in runs.values()}) == 2
    assert runs["other.py"].group_id is None
    tracker.update(node.tick(ended=node.end(103)))
    assert {run.group_name for run in tracker.runs() if run.name.startswith("lr")} == {"sweep train.py …(4)"}
    tracker.update(node.tick(ended=node.end(101, 102)))
    assert "lr=0e-4" in {run.name for run in tracker.runs() if run.ended is None}


def test_own_runs_newest_first_then_those_of_others_by_their_gpus() -> None:
    node = Node(
        process(89, "python train.py --run_name bobs", user="bob", mine=False),
        process(90, "python train.py --run_name carols", user="carol", mine=False),
        process(100, "python train.py --run_name young"),
        process(101, "python train.py --run_name big"),
        process(102, "vllm serve x/y", "serving"),
        process(103, "python -m ipykernel_launcher", "notebook"),
        process(99, "python train.py --run_name old"),
    )
    node.on_gpu = {101: ("GPU-1", "GPU-2"), 99: ("GPU-3",), 100: ("GPU-4",), 90: ("GPU-5",)}
    tracker = tracked(node)
    tracker.update(node.tick())
    own = ["big", "young", "old", "notebook project", "vLLM y"]
    assert [run.name for run in tracker.runs()] == [*own, "carols", "bobs"]


def test_one_process_on_two_gpus_is_one_run_with_both_figures() -> None:
    node = Node(process(100, "python train.py"))
    node.on_gpu = {100: ("GPU-1", "GPU-0")}
    tracker = tracked(node)
    tracker.update(node.tick())
    run = one(tracker)
    assert (run.gpu_uuids, run.gpu_memory_bytes) == (("GPU-0", "GPU-1"), 20 * GIB)


def test_memory_that_is_not_available_makes_the_sum_unknown_not_small() -> None:
    node = torchrun()
    node.unknown_memory = {102}
    node.inferred = {101}
    tracker = tracked(node)
    tracker.update(node.tick())
    assert one(tracker).gpu_memory_bytes is None
    assert one(tracker).gpus_inferred


def test_energy_is_not_claimed_on_a_shared_gpu_nor_where_power_is_unknown() -> None:
    node = Node(process(100, "python train.py"), process(101, "python other_train.py", user="bob", mine=False))
    node.on_gpu = {100: ("GPU-0",), 101: ("GPU-1",)}
    tracker = tracked(node)
    for _ in range(4):
        tracker.update(node.tick())
    assert {run.energy_j for run in tracker.runs()} == {900.0}
    node.on_gpu[101] = ("GPU-0",)
    tracker.update(node.tick())
    assert {run.energy_j for run in tracker.runs()} == {None}


def test_energy_of_time_that_was_not_watched_is_not_claimed() -> None:
    node = Node(process(100, "python train.py"))
    node.on_gpu = {100: ("GPU-0",)}
    tracker = tracked(node)
    for seconds in (1.0, 1.0, 3600.0, 1.0):
        tracker.update(node.tick(seconds=seconds))
    assert one(tracker).energy_j == 600.0


def test_all_ranks_in_state_d_for_several_ticks_wait_for_the_disk() -> None:
    node = torchrun()
    tracker = tracked(node)
    node.states = {101: "D", 102: "D"}
    seen = []
    for _ in range(3):
        tracker.update(node.tick())
        seen.append(one(tracker).waits_for_disk)
    node.states = {101: "D", 102: "R"}
    tracker.update(node.tick())
    assert [*seen, one(tracker).waits_for_disk] == [False, False, True, False]


def test_a_run_that_was_stopped_by_a_signal_is_stalled_at_once_and_goes_on_when_it_goes_on() -> None:
    node = Node(process(100, "python train.py"))
    tracker = tracked(node)
    tracker.update(node.tick(step(100, 1)))
    tracker.update(node.tick(step(100, 2)))
    seen: list[tuple[str, float | None]] = []
    for state in ("T", "T", "S"):
        node.states = {100: state}
        snapshot = node.tick()
        tracker.update(snapshot)
        seen.append((one(tracker).phase, one(tracker).phase_since_s))
    since_s = WALL_S + node.boot_s - 2
    assert seen == [("stalled", since_s), ("stalled", since_s), ("training", None)]


def test_a_run_that_stops_stepping_is_stalled_and_one_that_never_stepped_is_starting() -> None:
    node = Node(process(100, "python train.py"), process(99_000, "python other_train.py"))
    tracker = tracked(node)
    for at in range(1, 30):
        tracker.update(node.tick(step(100, at, seen=node.boot_s)))
    for _ in range(60):
        tracker.update(node.tick())
    assert {run.name: run.phase for run in tracker.runs()} == {"train.py": "stalled", "other_train.py": "starting"}


@pytest.mark.parametrize(
    ("files", "mine", "reason", "words"),
    [
        (
            (OpenFile(descriptor=1, kind="terminal", path="/dev/pts/3", role="stdout"),),
            True,
            "not_supported",
            "goes to a terminal",
        ),
        ((OpenFile(descriptor=1, kind="pipe", path="pipe:[7]", role="stdout"),), True, "not_supported", "pipe"),
        ((OpenFile(descriptor=1, kind="null", path="/dev/null", role="stdout"),), True, "not_supported", "thrown away"),
        ((OpenFile(descriptor=1, kind="file", path="/x/train.log", role="stdout"),), True, "not_yet", "(train.log)"),
        ((), True, "not_yet", "writes to no file"),
        # A counter kept in a file, a data base: the way out is that of the output all the same.
        (
            (
                OpenFile(descriptor=1, kind="terminal", path="/dev/pts/3", role="stdout"),
                OpenFile(descriptor=3, kind="file", path="/x/state"),
            ),
            True,
            "not_supported",
            "cannot be read from outside; nor is a step in what else it writes (state); start it with",
        ),
        (
            (
                OpenFile(descriptor=1, kind="file", path="/x/out.log", role="stdout"),
                OpenFile(descriptor=2, kind="terminal", path="/dev/pts/3", role="stderr"),
            ),
            True,
            "not_yet",
            "(out.log); its stderr goes to a terminal",
        ),
        ((), False, "no_permission", "it belongs to bob"),
    ],
)
def test_a_step_that_cannot_be_read_says_why(files: tuple[OpenFile, ...], mine: bool, reason: str, words: str) -> None:
    node = Node(process(100, "python train.py", files=files, mine=mine, user="ann" if mine else "bob"))
    tracker = tracked(node)
    tracker.update(node.tick())
    missing = next(one_of for one_of in one(tracker).missing if one_of.field == "step")
    assert missing.reason == reason
    assert words in missing.detail


def test_a_run_that_nobody_can_read_is_not_starting_for_hours() -> None:
    node = Node(process(100, "python train.py", mine=False, user="bob"))
    tracker = tracked(node)
    tracker.update(node.tick())
    assert one(tracker).phase == "training"
    assert [missing.field for missing in one(tracker).missing] == ["step", "phase"]
    young = Node(process(99_000, "python train.py", mine=False, user="bob"))
    tracker = tracked(young)
    tracker.update(young.tick())
    assert (one(tracker).phase, [missing.field for missing in one(tracker).missing]) == ("starting", ["step"])


@pytest.mark.parametrize(
    ("name", "way"), [("bob-vit", "docker logs bob-vit"), ("x; rm -rf ~", "docker logs 0123456789ab")]
)
def test_a_container_of_another_user_names_the_command_that_shows_its_output(name: str, way: str) -> None:
    container = Container(runtime="docker", container_id="0123456789ab", name=name)
    node = Node(process(100, "python train.py", mine=False, user="bob", container=container))
    tracker = tracked(node)
    tracker.update(node.tick())
    assert f"`{way}`" in one(tracker).missing[0].detail


def test_what_only_the_driver_names_is_shown_without_members() -> None:
    node = Node()
    node.extra_pairings = (
        Pairing(gpu_uuid="GPU-0", driver_pid=2721979, how="other_namespace", detail="run with --pid=host"),
        Pairing(gpu_uuid="GPU-1", driver_pid=2721979, how="other_namespace"),
        Pairing(gpu_uuid="GPU-2", driver_pid=42, how="gone"),
    )
    tracker = tracked(node)
    for _ in range(3):
        tracker.update(node.tick())
    run = one(tracker)
    assert run.watched_since_s == WALL_S + 1001
    assert (run.name, run.kind, run.members, run.gpu_uuids) == (
        "pid 2721979 in another container",
        "other",
        (),
        ("GPU-0", "GPU-1"),
    )


def test_a_process_on_a_gpu_without_facts_is_shown_in_the_end() -> None:
    node = Node(process(100, "python train.py"))
    node.on_gpu = {100: ("GPU-0",)}
    tracker = RunTracker()
    for _ in range(3):
        tracker.update(node.tick())
    assert one(tracker).name == "pid 100"
    tracker.update(node.told())
    tracker.update(node.tick())
    assert (one(tracker).name, one(tracker).kind) == ("train.py", "training")


def test_container_and_job_are_told() -> None:
    container = Container(runtime="docker", container_id="0123456789ab", name="ann-vit", slurm_job_id="77")
    node = Node(process(100, "python train.py", container=container))
    tracker = tracked(node)
    tracker.update(node.tick())
    assert (one(tracker).container, one(tracker).job_id) == ("ann-vit", "77")


def _messages() -> list[Message]:
    node = torchrun()
    node.facts[300] = process(300, "vllm serve m", "serving")
    node.facts[301] = process(301, "python train.py --lr 1", user="bob", mine=False)
    node.facts[302] = process(302, "python train.py --lr 2", user="bob", mine=False)
    node.on_gpu[300] = ("GPU-5",)
    messages: list[Message] = [node.hello(), node.told()]
    messages.extend(node.tick(step(101, at, seen=node.boot_s), step(102, at, seen=node.boot_s)) for at in range(1, 12))
    messages.append(node.tick(ended=node.end(301)))
    messages.append(node.tick(ended=node.end(101, 102, tail=("Training completed.",))))
    return messages


@given(st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_same_messages_same_runs_in_whatever_order_processes_are_listed(random: object) -> None:
    def shuffled(message: Message) -> Message:
        from msgspec import structs

        if isinstance(message, Facts):
            return structs.replace(message, processes=_mixed(message.processes, random))
        if isinstance(message, Snapshot):
            return structs.replace(
                message,
                processes=_mixed(message.processes, random),
                pairings=_mixed(message.pairings, random),
                ended=_mixed(message.ended, random),
            )
        return message

    plain, mixed = RunTracker(), RunTracker()
    for message in _messages():
        plain.update(message)
        mixed.update(shuffled(message))
        assert mixed.runs() == plain.runs()


def _mixed(items: tuple[object, ...], random: object) -> tuple[object, ...]:
    listed = list(items)
    random.shuffle(listed)  # type: ignore[attr-defined]
    return tuple(listed)


def test_a_recording_of_the_messages_gives_the_same_runs() -> None:
    live, replayed = RunTracker(), RunTracker()
    decoder = MessageDecoder()
    for message in _messages():
        live.update(message)
        for decoded in decoder.feed(encode(message)):
            replayed.update(decoded)
        assert replayed.runs() == live.runs()
    assert any(run.ended is not None for run in live.runs())


def test_ids_are_short_and_unique() -> None:
    tracker = RunTracker()
    for message in _messages()[:5]:
        tracker.update(message)
    ids = [run.run_id for run in tracker.runs()]
    assert len(ids) == len(set(ids)) == 4
    assert all(len(run_id) == 10 for run_id in ids)
    assert who(1) != who(2)
