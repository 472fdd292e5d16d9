from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.processes.command import is_python, read_command
from monitor.processes.selection import Candidate, choose, training_name

PY = "/opt/conda/bin/python3.11"


def kind(line: str) -> str:
    return choose(Candidate(argv=tuple(shlex.split(line)), mine=True)).kind


@pytest.mark.parametrize(
    "line",
    [
        "python train.py",
        "python3 -u train.py --lr 1e-4",
        f"{PY} /home/me/nanoGPT/train.py config/x.py",
        "python -m mypackage.train",
        "python -m src.training.main --config x",
        "python -X dev -W ignore finetune_lora.py",
        "python run_clm.py --model gpt2",
        "python run_glue_no_trainer.py",
        "python main.py --epochs 3",
        "python main.py --num_train_epochs=3",
        "python main.py fit --config c.yaml",
        "python cli.py train",
        "python main.py trainer.max_epochs=10 model=x",
        "python main.py --batch-size 32 --output_dir out --dataset c4",
        "python pretrain_gpt.py",
        "python sft_llama.py",
        f"{PY} /opt/conda/bin/litgpt finetune_lora x",
        f"{PY} /opt/conda/bin/llamafactory-cli train x.yaml",
        f"{PY} /opt/conda/bin/tune run lora_finetune_single_device --config x",
        "./train_gpt2cu -i data",
        "julia train.jl",
        "python imagenet_train_ddp.py",
        "python -I /opt/traintop/monitor/simulation/trainer.py --output_dir out",
        "python /home/me/my-training.py",
        "python3 train_monitor.py",
        "python trainer_v2.py",
        "pypy3 train.py",
        "python hf.py --epochs 3",
        "python -m cProfile -o x.prof train.py",
        "python -m pdb train.py",
        f"{PY} /x/debugpy --connect 127.0.0.1:5 --configure-qt none /home/me/train.py --lr 1",
        f"{PY} /opt/conda/bin/ipython train.py",
        "python main.py --config configs/finetune_llama.yaml",
        "python run.py +experiment=x config=train.json",
    ],
)
def test_trains(line: str) -> None:
    choice = choose(Candidate(argv=tuple(shlex.split(line))))
    assert choice.kind == "training"
    assert choice.why


@pytest.mark.parametrize(
    "line",
    [
        "pip install train",
        f"{PY} -m pip install -r train/requirements.txt",
        f"{PY} /usr/bin/pip install xgboost",
        "pytest tests/test_train.py",
        f"{PY} -m pytest test_train.py --lr 3",
        f"{PY} /opt/bin/pytest train.py",
        f"{PY} /opt/conda/bin/jupyter-lab --port 8888",
        f"{PY} -m jupyterlab train.ipynb",
        "vim train.py",
        "nano train.py",
        "less train.log",
        "tail -f train.log",
        "emacs finetune.py",
        f"{PY} -m mypy train.py",
        f"{PY} /x/pyright-langserver --stdio",
        f"{PY} -m pylsp",
        "ruff check train.py",
        f"{PY} /x/tensorboard --logdir train",
        f"{PY} -m tensorboard.main --logdir runs/train",
        "wandb-core --port-filename x",
        f"{PY} -m wandb.sync x",
        f"{PY} -m uvicorn app:app",
        f"{PY} /x/gunicorn app:app",
        f"{PY} manage.py runserver",
        f"{PY} app.py",
        "nvidia-smi dmon",
        f"{PY} /x/nvitop",
        f"{PY} -I -m traintop agent",
        f"{PY} /x/traintop",
        "bash train.sh",
        "sh -c 'python train.py'",
        "tmux new -s train",
        "sudo python train.py",
        "ssh node python train.py",
        "git commit -m train",
        "docker run x python train.py",
        f"{PY} plot_training.py",
        f"{PY} prepare_train_data.py",
        f"{PY} tokenize_train.py",
        f"{PY} constrain.py",
        f"{PY} main.py",
        f"{PY} -c 'import train'",
        f"{PY}",
        f"{PY} -",
        f"{PY} -m http.server",
        "code train.py",
        "node train.js",
        "make train",
        "/usr/local/bin/training-operator --port 8080",
        f"{PY} eval.py --config train.yaml",
        f"{PY} -m debugpy.adapter --for-server 5",
        f"{PY} -m pdb",
    ],
)
def test_does_not_train(line: str) -> None:
    assert kind(line) != "training"


@pytest.mark.parametrize(
    ("line", "server"),
    [
        (f"{PY} -m vllm.entrypoints.openai.api_server --model x", "vLLM"),
        (f"{PY} /opt/conda/bin/vllm serve meta-llama/x", "vLLM"),
        ("VLLM::EngineCore", "vLLM"),
        (f"{PY} -m sglang.launch_server --model-path x", "SGLang"),
        ("sglang::scheduler_TP0", "SGLang"),
        ("text-generation-launcher --model-id x", "TGI"),
        ("/usr/bin/ollama serve", "ollama"),
        ("/usr/lib/ollama/ollama runner --model x", "ollama"),
        ("./llama-server -m x.gguf", "llama.cpp"),
        ("./server -m x.gguf", "llama.cpp"),
        ("tritonserver --model-repository=/models", "Triton"),
        ("ray::ServeReplica:llm:VLLMDeployment", "Ray Serve"),
    ],
)
def test_serves(line: str, server: str) -> None:
    choice = choose(Candidate(argv=tuple(shlex.split(line))))
    assert (choice.kind, choice.why) == ("serving", server)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("torchrun --nproc_per_node 8 train.py", "launcher"),
        (f"{PY} /opt/conda/bin/torchrun train.py", "launcher"),
        (f"{PY} -m torch.distributed.run train.py", "launcher"),
        (f"{PY} /opt/conda/bin/accelerate launch train.py", "launcher"),
        (f"{PY} /opt/conda/bin/deepspeed --num_gpus 8 train.py", "launcher"),
        (f"{PY} -u -m deepspeed.launcher.launch train.py", "launcher"),
        ("mpirun -np 8 python train.py", "launcher"),
        ("srun python train.py", "launcher"),
        ("uv run train.py", "launcher"),
        (f"{PY} /opt/conda/bin/conda run -n x python train.py", "launcher"),
        (f"{PY} /x/debugpy/launcher 5 -- train.py", "launcher"),
        (f"{PY} -m ipykernel_launcher -f /x/kernel.json", "notebook"),
        (f"{PY} -m ipykernel -f /x/kernel.json", "notebook"),
        (f"{PY} -c 'from multiprocessing.spawn import spawn_main; spawn_main()' --multiprocessing-fork", "worker"),
        (f"{PY} -c 'from multiprocessing.resource_tracker import main;main(4)'", "worker"),
        ("ray::RayTrainWorker._RayTrainWorker__execute", "training"),
        ("ray::IDLE", "other"),
        (f"{PY} /opt/conda/bin/vllm bench throughput", "other"),
    ],
)
def test_other_kinds(line: str, expected: str) -> None:
    assert kind(line) == expected


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("ray::RayTrainWorker.execute()", "training"),
        ("train_gpt: epoch 3", "training"),
        ("ray::ServeReplica:llm", "serving"),
        ("VLLM::Worker_TP0", "serving"),
        ("wandb-service(2-123-s-45)", "other"),
    ],
)
def test_processes_that_gave_themselves_a_title(title: str, expected: str) -> None:
    assert choose(Candidate(argv=(title,), executable="/usr/bin/python3.11", mine=True)).kind == expected


def test_a_rank_of_a_generic_script_trains() -> None:
    choice = choose(Candidate(argv=("python", "main.py"), mine=True, rank="2", world_size="4"))
    assert (choice.kind, choice.why) == ("training", "rank 2 of 4")
    assert choose(Candidate(argv=("wandb-core",), mine=True, rank="2", world_size="4")).kind == "other"


@pytest.mark.parametrize(
    ("libraries", "cpu_ratio", "cpu_s", "script", "expected"),
    [
        (("libtorch",), 1.5, 20.0, "main.py", "training"),
        (("libtorch",), 0.0, 20.0, "main.py", "other"),
        (("libtorch",), 1.5, 2.0, "main.py", "other"),
        (("libtorch",), None, 20.0, "main.py", "other"),
        ((), 1.5, 20.0, "main.py", "other"),
        (None, 1.5, 20.0, "main.py", "other"),
        (("libtorch",), 1.5, 20.0, "serve.py", "other"),
        (("libtorch",), 1.5, 20.0, "gradio_app.py", "other"),
    ],
)
def test_a_generic_name_needs_two_signals(
    libraries: tuple[str, ...] | None, cpu_ratio: float | None, cpu_s: float, script: str, expected: str
) -> None:
    candidate = Candidate(argv=("python", script), mine=True, libraries=libraries, cpu_ratio=cpu_ratio, cpu_s=cpu_s)
    assert choose(candidate).kind == expected


def test_commands_are_read() -> None:
    command = read_command(("-python3.12", "-u", "-X", "dev", "-m", "a.b.Train", "--x"))
    assert (command.python, command.module, command.name, command.arguments) == (
        False,
        "",
        "python3.12",
        ("-u", "-X", "dev", "-m", "a.b.Train", "--x"),
    )
    command = read_command(("/usr/bin/python3", "-u", "-X", "dev", "-m", "a.b.Train", "--x"))
    assert (command.python, command.module, command.name, command.arguments) == (True, "a.b.Train", "train", ("--x",))
    assert read_command(("my-python", "x/Train.py"), "/usr/bin/python3.10").script == "x/Train.py"
    assert is_python("/a/python3.13t")
    assert not is_python("/a/pythonista")


@given(st.lists(st.text(max_size=30), max_size=10), st.text(max_size=20))
def test_no_command_line_raises(argv: list[str], executable: str) -> None:
    candidate = Candidate(argv=tuple(argv), executable=executable, libraries=("libtorch",), cpu_ratio=1.0, cpu_s=9.0)
    assert choose(candidate).kind in ("training", "serving", "notebook", "launcher", "worker", "other")


@pytest.mark.parametrize(
    "name", ["train", "pretraining", "fine-tune", "finetune2", "train2", "trainer", "my_train_loop", "grpo"]
)
def test_training_names(name: str) -> None:
    assert training_name(name)


@pytest.mark.parametrize("name", ["restrain", "strainer", "trained", "plot_train", "main", "", "___", "terrain_map"])
def test_other_names(name: str) -> None:
    assert not training_name(name)
