from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from monitor.runs.grouping import Group, Known, group
from monitor.types.facts import ProcessFacts
from tests.runs.builders import process, who


def grouped(*facts: ProcessFacts, on_gpu: tuple[int, ...] = (), stepping: tuple[int, ...] = ()) -> tuple[Group, ...]:
    return group(Known(fact, fact.process.pid in on_gpu, fact.process.pid in stepping) for fact in facts)


def roles(one: Group) -> dict[int, str]:
    return {member.process.pid: member.role for member in one.members}


def ranks(count: int, first: int = 101, parent: int = 100, port: str = "29500") -> list[ProcessFacts]:
    return [
        process(
            first + index,
            f"python -u train.py --local-rank={index} --lr 1e-4",
            parent=parent,
            env={
                "RANK": str(index),
                "LOCAL_RANK": str(index),
                "WORLD_SIZE": str(count),
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": port,
            },
        )
        for index in range(count)
    ]


def test_torchrun_its_ranks_and_their_workers_are_one_run() -> None:
    launcher = process(100, "python -m torch.distributed.run --nproc_per_node=2 train.py", "launcher")
    two = ranks(2)
    workers = [
        process(110 + index, "python -u train.py --local-rank=0 --lr 1e-4", "worker", parent=101) for index in range(3)
    ]
    service = process(120, "/opt/env/bin/wandb-core --port-filename x", "other", parent=102, name="wandb-core")
    (run,) = grouped(launcher, *two, *workers, service, on_gpu=(101, 102))
    assert roles(run) == {
        100: "launcher",
        101: "trainer",
        102: "trainer",
        110: "worker",
        111: "worker",
        112: "worker",
        120: "helper",
    }
    assert [member.rank for member in run.members if member.role == "trainer"] == [0, 1]
    assert (run.kind, run.anchor, run.leader.process) == ("training", who(100), who(101))


def test_launchers_below_launchers_make_one_run() -> None:
    outer = process(90, "python /opt/env/bin/accelerate launch --num_processes 2 train.py", "launcher")
    inner = process(100, "python -m torch.distributed.run train.py", "launcher", parent=90)
    (run,) = grouped(outer, inner, *ranks(2))
    assert run.anchor == who(90)
    assert len(run.members) == 4


def test_ranks_without_a_visible_launcher_meet_by_what_they_agree_on() -> None:
    runs = grouped(*ranks(4, first=101, parent=7), *ranks(2, first=201, parent=8, port="29501"))
    assert [len(run.members) for run in runs] == [4, 2]


def test_two_runs_that_look_alike_but_count_the_same_ranks_stay_apart() -> None:
    runs = grouped(*ranks(2, first=101, parent=7), *ranks(2, first=201, parent=8))
    assert all(len(run.members) in (1, 2) for run in runs)
    assert not any({101, 201} <= roles(run).keys() for run in runs)


def test_slurm_tasks_of_one_step_are_one_run_and_those_with_other_arguments_a_sweep() -> None:
    env = {"SLURM_JOB_ID": "77", "SLURM_STEP_ID": "0", "SLURM_NTASKS": "2"}
    same = [process(100 + task, "python train.py", env={**env, "SLURM_PROCID": str(task)}) for task in (0, 1)]
    assert len(grouped(*same)) == 1
    other = [
        process(100 + task, f"python train.py --seed {task}", env={**env, "SLURM_PROCID": str(task)}) for task in (0, 1)
    ]
    assert len(grouped(*other)) == 2


def test_runs_started_from_one_shell_stay_separate_and_are_siblings() -> None:
    runs = grouped(*(process(100 + index, f"python train.py --lr {index}e-4") for index in range(4)))
    assert len(runs) == 4
    assert len({run.sibling_key for run in runs}) == 1
    elsewhere = grouped(process(100, "python train.py"), process(101, "python other.py"))
    assert elsewhere[0].sibling_key != elsewhere[1].sibling_key


def test_spawned_ranks_join_their_parent_and_identical_lines_from_a_shell_do_not_join() -> None:
    parent = process(100, "python train.py --gpus 2")
    spawned = [
        process(101 + one, "python -c from multiprocessing.spawn import spawn_main; --multiprocessing-fork", parent=100)
        for one in (0, 1)
    ]
    (run,) = grouped(parent, *spawned, on_gpu=(101, 102))
    assert roles(run) == {100: "trainer", 101: "trainer", 102: "trainer"}
    assert len(grouped(process(100, "python train.py"), process(101, "python train.py"))) == 2


def test_a_script_that_starts_trainings_is_their_sweep_not_their_run() -> None:
    driver = process(100, "python sweep_training.py")
    runs = grouped(driver, *(process(101 + one, f"python train.py --lr {one}", parent=100) for one in range(2)))
    assert [roles(run) for run in runs] == [{101: "trainer"}, {102: "trainer"}]
    assert runs[0].sibling_key == runs[1].sibling_key
    (single,) = grouped(driver, process(101, "python train.py", parent=100))
    assert roles(single) == {100: "launcher", 101: "trainer"}
    assert single.anchor == who(101)


def test_a_script_that_starts_ranks_itself_is_their_launcher() -> None:
    (run,) = grouped(process(100, "python my_train_launcher.py"), *ranks(4))
    assert roles(run) == {100: "launcher", 101: "trainer", 102: "trainer", 103: "trainer", 104: "trainer"}


def test_servers_are_served_never_trained() -> None:
    server = process(100, "python -m vllm.entrypoints.openai.api_server --model meta/Llama-3-8B", "serving")
    engine = process(101, "VLLM::EngineCore", "serving", parent=100)
    worker = process(102, "VLLM::Worker_TP0", "serving", parent=101)
    (run,) = grouped(server, engine, worker, on_gpu=(102,))
    assert (run.kind, run.server, len(run.members)) == ("serving", "vLLM", 3)


def test_an_engine_inside_a_training_run_helps_it() -> None:
    trainer = process(100, "python grpo_train.py")
    engine = process(101, "VLLM::EngineCore", "serving", parent=100)
    (run,) = grouped(trainer, engine, on_gpu=(100, 101))
    assert (run.kind, roles(run)[101]) == ("training", "helper")


def test_a_notebook_kernel_is_a_run_of_its_own() -> None:
    kernel = process(100, "python -m ipykernel_launcher -f /run/kernel-1.json", "notebook")
    (run,) = grouped(kernel, on_gpu=(100,))
    assert run.kind == "notebook"


def test_a_gpu_process_of_unknown_kind_is_never_left_out_and_others_are() -> None:
    (run,) = grouped(process(100, "./simulate --fast", "other"), process(200, "vim train.py", "other"), on_gpu=(100,))
    assert (run.kind, roles(run)) == ("other", {100: "trainer"})


def test_a_process_that_counts_steps_trains_whatever_it_is_called() -> None:
    (run,) = grouped(process(100, "./my_binary", "other"), stepping=(100,))
    assert run.kind == "training"


def test_ray_workers_of_one_raylet_are_one_run() -> None:
    workers = [process(100 + one, "ray::WorkerDict.train", parent=60) for one in range(4)]
    assert [len(run.members) for run in grouped(*workers, on_gpu=(100, 101))] == [4]


_SOME = [
    process(100, "python -m torch.distributed.run train.py", "launcher"),
    *ranks(3),
    process(110, "python -u train.py --local-rank=0 --lr 1e-4", "worker", parent=101),
    process(200, "python sweep.py"),
    process(201, "python train.py --lr 1", parent=200),
    process(202, "python train.py --lr 2", parent=200),
    process(300, "ollama serve", "serving"),
    process(301, "ollama runner --model x", "other", parent=300),
    process(400, "python -m ipykernel_launcher", "notebook"),
    process(500, "Xorg", "other", parent=1),
]


@given(st.permutations(_SOME))
def test_the_order_of_processes_does_not_matter(shuffled: list[ProcessFacts]) -> None:
    assert grouped(*shuffled, on_gpu=(101, 301, 500)) == grouped(*_SOME, on_gpu=(101, 301, 500))


@example([(1, 2, "serving", ""), (2, 1, "training", "python train.py")], {1})  # helpers of each other
@given(
    st.lists(
        st.tuples(
            st.integers(1, 12),
            st.integers(0, 12),
            st.sampled_from(("training", "serving", "notebook", "launcher", "worker", "other", "nonsense")),
            st.sampled_from(("", "python train.py", "torchrun x", "VLLM::Worker", "python -c multiprocessing.spawn")),
        ),
        max_size=12,
        unique_by=lambda one: one[0],
    ),
    st.sets(st.integers(1, 12)),
)
def test_any_family_even_in_circles_gives_each_gpu_process_exactly_one_run(
    family: list[tuple[int, int, str, str]], on_gpu: set[int]
) -> None:
    facts = [process(pid, command, kind, parent=parent) for pid, parent, kind, command in family]
    runs = grouped(*facts, on_gpu=tuple(on_gpu))
    members = [member.process.pid for run in runs for member in run.members]
    assert len(members) == len(set(members))
    assert {pid for pid, *_ in family if pid in on_gpu} <= set(members)
