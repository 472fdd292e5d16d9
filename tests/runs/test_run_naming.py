from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from monitor.cells import cut
from monitor.runs.arguments import read_arguments
from monitor.runs.naming import MAX_CELLS, Nameable, name_runs, sweep_name
from monitor.types.facts import ProcessFacts
from monitor.types.run import RunKind
from tests.runs.builders import process, who


def named(
    *facts: ProcessFacts, kind: RunKind = "training", server: str | None = None, job: str | None = None
) -> list[str]:
    names = name_runs([Nameable(str(fact.process.pid), kind, fact, server, job) for fact in facts])
    return [names[str(fact.process.pid)] for fact in facts]


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("python train.py --run_name llama3-8b-sft --output_dir out/x", "llama3-8b-sft"),
        ("python train.py --run-name=abl-7", "abl-7"),
        ("python -m verl.trainer.main_ppo trainer.experiment_name=grpo_7b data.x=1", "grpo_7b"),
        ("python train.py experiment=vit/base_256 optim.lr=1e-4", "base_256"),
        ("python train.py --output_dir out/llama3-8b-sft", "llama3-8b-sft"),
        ("python train.py --output_dir /scratch/ann/runs/vit-l/2026-11-30/checkpoints", "vit-l"),
        ("python train.py --save-dir /home/ann/out", "train.py"),
        ("python train.py --config configs/vit_b16.yaml", "vit_b16"),
        ("python train.py config/train_gpt2.py", "train_gpt2"),
        ("python train.py --config configs/base/config.yaml", "train.py"),
        ("python train.py --model timm/vit_b16 --lr 1", "train.py vit_b16"),
        ("python train.py", "train.py"),
        ("torchrun", "torchrun"),
        ("python -m tools.train --name none --model resnet50", "tools.train resnet50"),
        ("python train.py --run_name ***", "train.py"),
    ],
)
def test_a_run_is_called_by_what_somebody_called_it(command: str, name: str) -> None:
    assert named(process(100, command)) == [name]


def test_environment_and_job_name_count_where_arguments_say_nothing() -> None:
    assert named(process(100, "python train.py", env={"WANDB_NAME": "brave-sun-7"})) == ["brave-sun-7"]
    assert named(process(100, "python train.py"), job="dpo-7b") == ["dpo-7b"]
    assert named(process(100, "python train.py"), job="interactive") == ["train.py"]


def test_siblings_are_called_by_what_differs_in_any_spelling() -> None:
    assert named(
        process(100, "python train.py --lr 3e-4 --seed 1 --port 1"),
        process(101, "python train.py --lr=1e-4 --seed 1 --port 2"),
        process(102, "python train.py --seed 2 --lr 1e-4 --wd"),
    ) == ["lr=3e-4 seed=1", "lr=1e-4 seed=1", "lr=1e-4 seed=2 wd"]


def test_siblings_with_one_given_name_get_their_differences_behind_it() -> None:
    assert named(
        process(100, "python train.py --run_name abl --lr 3e-4"),
        process(101, "python train.py --run_name abl --lr 1e-4"),
    ) == ["abl lr=3e-4", "abl lr=1e-4"]


def test_tasks_of_an_array_are_told_apart_by_their_number() -> None:
    tasks = [process(100 + task, "python train.py", env={"SLURM_ARRAY_TASK_ID": str(task)}) for task in (3, 4)]
    assert named(*tasks) == ["task=3", "task=4"]


def test_siblings_that_differ_only_in_their_folder_are_told_apart_by_it() -> None:
    def named_in(*folders: str | None) -> list[str]:
        facts = [structs.replace(process(100 + at, "python train.py"), cwd=folder) for at, folder in enumerate(folders)]
        return named(*facts)

    assert named_in("/home/ann/seed1", "/home/ann/seed2") == ["train.py in seed1", "train.py in seed2"]
    assert named_in("/home/ann/a/code", "/home/ann/b/code/") == ["train.py in a", "train.py in b"]
    assert named_in("/home/ann/a", "/home/ann/a", "/home/ann/b")[0] == "train.py (100)"
    assert named_in("/tmp/traintop-demo-ab12", "/tmp/traintop-demo-cd34")[0] == "train.py (100)"
    assert named_in("/home/ann/a", None) == ["train.py (100)", "train.py (101)"]


def test_siblings_that_differ_in_nothing_are_told_apart_by_pid() -> None:
    assert named(process(100, "python train.py"), process(101, "python train.py")) == [
        "train.py (100)",
        "train.py (101)",
    ]


def test_a_hidden_command_line_still_gives_program_and_user() -> None:
    hidden = ProcessFacts(process=who(9), name="python3", user="bob")
    assert named(hidden) == ["python3 of bob"]
    assert named(ProcessFacts(process=who(9), user="bob"), kind="other") == ["pid 9 of bob"]


def test_servers_and_notebooks_are_called_by_model_and_file() -> None:
    assert named(process(100, "vllm serve meta-llama/Llama-3-8B --port 8000"), kind="serving", server="vLLM") == [
        "vLLM Llama-3-8B"
    ]
    assert named(process(100, "llama-server -m /models/q4.gguf"), kind="serving", server="llama.cpp") == [
        "llama.cpp q4.gguf"
    ]
    assert named(process(100, "ollama serve"), kind="serving", server="ollama") == ["ollama"]
    notebook = process(100, "python -m ipykernel_launcher", env={"JPY_SESSION_NAME": "/home/ann/exp1.ipynb"})
    assert named(notebook, kind="notebook") == ["notebook exp1.ipynb"]


def test_names_are_cut_by_cells_not_by_characters() -> None:
    assert cut("訓練" * 30, 11) == "訓練訓練訓…"
    assert cut("e\u0301" * 5, 5) == "e\u0301" * 5
    assert sweep_name(process(1, "python train.py"), 4) == "sweep train.py …(4)"


_WORDS = st.lists(st.text(min_size=0, max_size=70), max_size=6)


@given(st.lists(_WORDS, max_size=6))
def test_names_are_never_empty_never_twice_never_too_wide(lines: list[list[str]]) -> None:
    facts = [
        ProcessFacts(process=who(100 + index), name="python", argv=tuple(words), mine=True)
        for index, words in enumerate([*lines, *lines])
    ]
    names = named(*facts)
    assert len(set(names)) == len(names)
    assert all(name.strip() and cut(name, MAX_CELLS) == name for name in names)
    assert named(*reversed(facts)) == names[::-1]


@given(_WORDS)
def test_any_arguments_are_read(words: list[str]) -> None:
    read = read_arguments(tuple(words))
    assert set(read.values) == set(read.spelled)


def test_arguments_in_all_spellings() -> None:
    read = read_arguments(
        ("--lr", "-1e-4", "--Batch-Size=8", "optim.beta=0.9", "--bf16", "--x", "1", "file.yaml", "--", "-o", "d")
    )
    assert dict(read.values) == {"lr": "-1e-4", "batch_size": "8", "optim.beta": "0.9", "bf16": "", "x": "1", "o": "d"}
    assert read.words == ("file.yaml",)
    assert read.first(("beta",)) == "0.9"
