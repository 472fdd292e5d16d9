from __future__ import annotations

from monitor.processes.family import MAX_DESCENDANTS, Relative, members
from monitor.processes.selection import OTHER, Choice

PYTHON = Choice("other", python=True)
TRAINS = Choice("training", "named train.py", python=True)
WORKER = Choice("worker", "started by multiprocessing", python=True)
LAUNCHES = Choice("launcher", "launcher torchrun", python=True)
SERVES = Choice("serving", "vLLM", python=True)
RANK = Choice("training", "rank 0 of 2", weak=True, python=True)
TRAIN_ARGV = ("python", "train.py")


def kinds(relatives: dict[int, Relative]) -> dict[int, str]:
    return {pid: choice.kind for pid, choice in members(relatives).items()}


def test_forks_and_spawned_children_are_workers_of_the_training() -> None:
    assert kinds(
        {
            1: Relative(0, OTHER, ("init",)),
            5: Relative(1, OTHER, ("bash",)),
            10: Relative(5, TRAINS, TRAIN_ARGV),
            11: Relative(10, TRAINS, TRAIN_ARGV),
            12: Relative(10, WORKER, ("python", "-c", "spawn")),
            13: Relative(11, TRAINS, TRAIN_ARGV),
            14: Relative(10, OTHER, ("git", "status")),
            20: Relative(5, OTHER, ("vim", "train.py")),
        }
    ) == {10: "training", 11: "worker", 12: "worker", 13: "worker", 14: "other"}


def test_launchers_are_members_and_shells_between_are_not() -> None:
    assert kinds(
        {
            1: Relative(0, OTHER),
            2: Relative(1, LAUNCHES, ("mpirun",)),
            3: Relative(2, OTHER, ("bash", "-c", "x")),
            4: Relative(3, LAUNCHES, ("torchrun",)),
            5: Relative(4, TRAINS, TRAIN_ARGV, ranks=("0", "0")),
            6: Relative(4, TRAINS, TRAIN_ARGV, ranks=("1", "1")),
            9: Relative(1, LAUNCHES, ("torchrun",)),
        }
    ) == {2: "launcher", 4: "launcher", 5: "training", 6: "training"}


def test_ranks_that_rank_0_started_are_trainings_too() -> None:
    """Lightning starts the other ranks from rank 0 with its own command line and another LOCAL_RANK."""
    assert kinds(
        {
            5: Relative(1, TRAINS, TRAIN_ARGV),
            6: Relative(5, TRAINS, TRAIN_ARGV, ranks=("", "1")),
            7: Relative(6, TRAINS, TRAIN_ARGV, ranks=("", "1")),
        }
    ) == {5: "training", 6: "training", 7: "worker"}


def test_a_helper_that_inherited_the_ranks_is_a_worker() -> None:
    assert kinds(
        {
            5: Relative(1, RANK, ("python", "main.py"), ranks=("0", "0")),
            6: Relative(5, RANK, ("python", "helper.py"), ranks=("0", "0")),
        }
    ) == {5: "training", 6: "worker"}


def test_what_the_driver_names_is_watched() -> None:
    found = members(
        {
            5: Relative(1, PYTHON, ("python", "main.py"), on_gpu=True),
            6: Relative(1, OTHER, ("Xorg",), on_gpu=True),
            7: Relative(1, PYTHON, ("python", "app.py"), on_gpu=True, service=True),
            8: Relative(1, PYTHON, ("python", "main.py")),
            9: Relative(6, OTHER, ("xterm",)),
        }
    )
    assert {pid: choice.kind for pid, choice in found.items()} == {5: "training", 6: "other", 7: "other"}
    assert found[5].why == "Python process on a GPU"


def test_spawned_processes_on_a_gpu_are_what_their_parent_is() -> None:
    assert kinds(
        {
            5: Relative(1, TRAINS, TRAIN_ARGV),
            6: Relative(5, WORKER, ("python", "-c", "spawn"), on_gpu=True),
            7: Relative(1, SERVES, ("vllm",)),
            8: Relative(7, WORKER, ("python", "-c", "spawn"), on_gpu=True),
        }
    ) == {5: "training", 6: "training", 7: "serving", 8: "serving"}


def test_a_training_command_that_started_a_training_is_its_launcher() -> None:
    command = Choice("training", "command llamafactory-cli train", python=True)
    assert kinds({5: Relative(1, command, ("llamafactory-cli", "train")), 6: Relative(5, TRAINS, TRAIN_ARGV)}) == {
        5: "launcher",
        6: "training",
    }


def test_loops_and_long_chains_end() -> None:
    kinds({5: Relative(6, TRAINS, TRAIN_ARGV), 6: Relative(5, TRAINS, TRAIN_ARGV)})  # a table read while pids changed
    assert kinds({5: Relative(5, TRAINS, TRAIN_ARGV)}) == {5: "training"}
    chain = {pid: Relative(pid - 1, TRAINS, TRAIN_ARGV) for pid in range(1, 3000)}
    assert len(kinds(chain)) > 1


def test_descendants_are_bounded() -> None:
    crowd = {pid: Relative(5, OTHER) for pid in range(10, 2000)}
    assert len(kinds({5: Relative(1, TRAINS, TRAIN_ARGV), **crowd})) == MAX_DESCENDANTS + 1
