"""Programs known by name: those that never train, inference servers, notebooks, launchers, training commands."""

from __future__ import annotations

from monitor.processes.command import Command
from monitor.word_set import word_set

NEVER_PROGRAMS = word_set(
    # shells, editors, pagers and other tools that may have train.py among their arguments
    "bash sh dash zsh fish ksh csh tcsh tmux screen sudo su ssh sshd scp rsync vim nvim vi nano emacs "
    "less more most cat "
    "tail head grep rg ag awk sed find watch top htop btop nvtop nvitop gpustat nvidia-smi "
    "nvidia-persistenced make cmake "
    "ninja git docker podman containerd containerd-shim kubectl systemd dbus-daemon cron tee timeout time strace gdb "
    "perf py-spy node npm code code-server cursor-server claude aws gsutil gcloud az s3cmd rclone dvc "
    # Python tools, by script name
    "pip pip3 pipx uv uvx poetry pdm hatch conda mamba micromamba pytest py.test tox nox mypy dmypy ruff "
    "black isort flake8 "
    "pylint pyright pyright-langserver pylsp jedi-language-server ruff-lsp basedpyright-langserver debugpy jupyter "
    "jupyter-lab jupyter-notebook jupyterhub jupyterhub-singleuser jupyter-server jupyter-labhub "
    "jupyter_server ipcluster "
    "tensorboard tensorboard.main wandb wandb-core wandb_service mlflow aim streamlit gunicorn uvicorn hypercorn flask "
    "celery supervisord ansible ansible-playbook airflow luigi huggingface-cli hf gdown kaggle pre-commit sphinx-build "
    "mkdocs cython coverage twine traintop glances ipython-server raylet gcs_server ray"
)
NEVER_MODULES = word_set(
    "pip pytest mypy ruff black isort flake8 pylint pylsp jedi debugpy jupyter jupyterlab jupyter_server "
    "jupyter_client "
    "notebook nbconvert tensorboard wandb mlflow http venv ensurepip build unittest pdb cProfile pydoc json traintop "
    "uvicorn gunicorn flask streamlit celery coverage tox nox pre_commit sphinx mkdocs virtualenv timeit compileall "
    "gpustat nvitop hypothesis"
)

_SERVER_MODULES = (
    ("vllm", "vLLM"),
    ("sglang", "SGLang"),
    ("tritonserver", "Triton"),
    ("llama_cpp.server", "llama.cpp"),
    ("lmdeploy.serve", "LMDeploy"),
    ("fastchat.serve", "FastChat"),
    ("text_generation_server", "TGI"),
    ("tensorrt_llm.commands.serve", "TensorRT-LLM"),
    ("aphrodite", "Aphrodite"),
)
_SERVER_PROGRAMS = {
    "vllm": "vLLM",
    "sglang": "SGLang",
    "text-generation-launcher": "TGI",
    "text-generation-server": "TGI",
    "text-generation-router": "TGI",
    "text-embeddings-router": "TEI",
    "ollama": "ollama",
    "ollama_llama_server": "ollama",
    "llama-server": "llama.cpp",
    "llama-box": "llama.cpp",
    "llama-swap": "llama.cpp",
    "koboldcpp": "llama.cpp",
    "tritonserver": "Triton",
    "triton_python_backend_stub": "Triton",
    "trtllm-serve": "TensorRT-LLM",
    "lmdeploy": "LMDeploy",
    "aphrodite": "Aphrodite",
    "mlc_llm": "MLC",
    "xinference": "Xinference",
    "xinference-local": "Xinference",
    "tabbyapi": "TabbyAPI",
    "infinity_emb": "Infinity",
}
_TITLES = (
    ("vllm::", "vLLM"),
    ("sglang::", "SGLang"),
    ("ray::serve", "Ray Serve"),
    ("ray::raywraprvllm", "vLLM"),
)
"""Names that servers give their processes by setproctitle, in lower case."""

_LAUNCHER_PROGRAMS = word_set(
    "torchrun torchrun.exe deepspeed mpirun mpiexec mpiexec.hydra orterun orted prterun prted "
    "hydra_pmi_proxy srun horovodrun composer "
    "torchx colossalai pdsh bpslaunch torch_distributed_run"
)
_LAUNCHER_MODULES = word_set(
    "torch.distributed.run torch.distributed.launch torch.distributed.elastic.rendezvous deepspeed.launcher.runner "
    "deepspeed.launcher.launch accelerate.commands.launch accelerate.commands.accelerate_cli accelerate "
    "horovod.runner composer.cli paddle.distributed.launch"
)
_TRAINING_PROGRAMS: dict[str, tuple[str, ...]] = {
    "llamafactory-cli": ("train",),
    "lmf": ("train",),
    "axolotl": ("train",),
    "swift": ("sft", "pt", "rlhf"),
    "megatron": ("sft", "pt", "rlhf"),
    "tune": ("run",),
    "litgpt": ("finetune", "pretrain", "finetune_full", "finetune_lora", "finetune_adapter", "finetune_adapter_v2"),
    "trl": ("sft", "dpo", "grpo", "kto", "reward", "rloo"),
    "xtuner": ("train",),
    "yolo": ("train", "detect", "segment", "classify", "pose", "obb"),
    "autotrain": (),
    "lightning": ("run",),
    "fairseq-train": (),
    "fairseq-hydra-train": (),
    "onmt_train": (),
    "spacy": ("train", "pretrain"),
    "rasa": ("train",),
    "ns-train": (),
    "nemo": ("llm",),
}
"""Commands that train, with the first arguments that say so (none: always)."""


def _titled(command: Command) -> str:
    return next((server for title, server in _TITLES if command.program.lower().startswith(title)), "")


def server(command: Command) -> str:
    """Which inference server this is, in a few words; empty when it is none."""
    if title := _titled(command):
        return title
    for module, name in _SERVER_MODULES:
        if command.module == module or command.module.startswith(f"{module}."):
            return "" if "bench" in command.module else name
    name = command.name if (command.script or not command.interpreted) else ""
    if name in ("vllm", "sglang") and not (command.arguments and command.arguments[0] in ("serve", "api_server")):
        return ""
    if name == "server" and not command.interpreted and any(word.endswith(".gguf") for word in command.arguments):
        return "llama.cpp"
    if name == "serve" and command.python and command.arguments[:1] == ("run",):
        return "Ray Serve"
    return _SERVER_PROGRAMS.get(name, "")


def notebook(command: Command) -> str:
    """Whether this is the kernel of a notebook, in a few words."""
    if command.module in ("ipykernel_launcher", "ipykernel", "ipykernel.kernelapp", "colab_kernel_launcher"):
        return "Jupyter kernel"
    return "Jupyter kernel" if command.name == "ipykernel_launcher" and command.python else ""


def launcher(command: Command) -> str:
    """Whether this starts the ranks of a run, in a few words."""
    if command.module in _LAUNCHER_MODULES:
        return f"launcher {command.module}"
    if command.module or command.inline:
        return ""
    if command.name in _LAUNCHER_PROGRAMS:
        return f"launcher {command.name}"
    if command.name in ("accelerate", "accelerate-launch") and (
        command.name.endswith("launch") or command.arguments[:1] == ("launch",)
    ):
        return "launcher accelerate"
    if command.name in ("uv", "poetry", "pdm", "conda", "mamba", "pixi") and "run" in command.arguments[:3]:
        return f"launcher {command.name} run"
    if command.script.endswith("debugpy/launcher"):
        return "launcher debugpy"
    return ""


def training_program(command: Command) -> str:
    """Whether this is a command that trains, in a few words."""
    name = command.name if not command.inline else ""
    if name.startswith("ray::"):
        return command.program if any(word in name for word in ("train", "learner", "rollout")) else ""
    arguments = _TRAINING_PROGRAMS.get(name)
    if arguments is None:
        return ""
    first = command.arguments[0] if command.arguments else ""
    if arguments and first not in arguments:
        return ""
    if name == "yolo" and first != "train" and "train" not in command.arguments[:3]:
        return ""
    return f"command {name} {first}".rstrip()
