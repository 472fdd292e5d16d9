"""Which processes train, serve, hold a notebook, launch or help, judged from outside. Pure: it reads nothing itself.

A missed `python train.py` of the user is worse than a false row, and a false row (pip, an editor, a language server) is
still annoying. So a telling name suffices for a Python process, while a generic name needs two signals of other kinds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from monitor.processes.command import Command, read_command
from monitor.processes.programs import NEVER_MODULES, NEVER_PROGRAMS, launcher, notebook, server, training_program
from monitor.word_set import word_set

MIN_CPU_RATIO = 0.3
MIN_CPU_S = 5.0
"""A generic Python process with a training library must have worked: importing torch alone takes 2 to 3 s of CPU."""

_WORD = re.compile(r"[^a-z0-9]+")
_TRAINING_WORDS = word_set(
    "sft dpo ppo grpo orpo kto rlhf lora qlora distill distillation distil finetune finetuning finetuner "
    "pretrain pretraining "
    "train trainer training trainer2 learner"
)
_TRAINING_STEMS = ("train", "finetun", "pretrain")
_NOT_TRAIN = frozenset({"trained", "traintop", "trains", "trainset", "traindata"})
_ABOUT_TRAINING = word_set(
    "plot prepare preprocess preprocessing tokenize download convert inspect upload eval evaluate view "
    "visualize watch monitor "
    "check make build create generate split merge export show dump parse analyze analyse clean list log logs serve "
    "predict infer inference sample data dataset"
)
"""As the first word of a script's name these say that it works on what a training needs or left behind."""
_HF_EXAMPLE = re.compile(
    r"run_(?:clm|mlm|plm|fim|glue|xnli|ner|squad|qa|swag|summarization|translation|mim|mae|t5_mlm\w*|seq2seq\w*|"
    r"speech_recognition\w*|audio_classification|image_classification|semantic_segmentation\w*|object_detection\w*|"
    r"wav2vec2\w*|clip|sft|dpo|ppo|gspo|grpo|orpo|kto|reward_modeling)(?:_flax|_no_trainer|_tf)?"
)
_STRONG_OPTIONS = word_set(
    "epochs num-epochs n-epochs num-train-epochs max-epochs nepochs train-iters max-iters "
    "num-train-steps max-train-steps "
    "lr learning-rate base-lr max-lr per-device-train-batch-size train-batch-size gradient-accumulation-steps "
    "gradient-accumulation do-train train-file train-data train-data-path warmup-steps warmup-ratio "
    "weight-decay lr-scheduler "
    "lr-scheduler-type lr-schedule optim optimizer num-train-timesteps total-timesteps micro-batch-size "
    "global-batch-size "
    "lr-decay-iters resume-from-checkpoint"
)
_WEAK_OPTIONS = word_set(
    "batch-size bs output-dir out-dir save-dir checkpoint-dir ckpt-dir max-steps num-steps seq-len max-seq-length "
    "max-length block-size model-name-or-path model dataset data-dir data-path log-interval eval-interval save-steps "
    "save-interval logging-steps dropout momentum amp bf16 fp16 deepspeed fsdp grad-clip run-name"
)
_SUBCOMMANDS = frozenset({"train", "fit", "finetune", "pretrain", "sft", "dpo", "fine-tune", "fine_tune"})
_SERVICE_WORDS = word_set(
    "serve server serving app api webapp web wsgi asgi manage gradio streamlit infer inference predict "
    "generate chat bot demo "
    "eval evaluate benchmark bench worker dashboard"
)
_DAEMON_WORDS = word_set("operator controller server service agent exporter manager scheduler proxy ui ctl")
_WORKER_MARKS = (
    "multiprocessing.spawn",
    "multiprocessing.forkserver",
    "multiprocessing.resource_tracker",
    "multiprocessing.semaphore_tracker",
    "--multiprocessing-fork",
    "loky.backend",
    "torch/_inductor/compile_worker",
    "torch._inductor.compile_worker",
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """What is known of a process when it is judged."""

    argv: tuple[str, ...]
    executable: str = ""
    mine: bool = False
    rank: str = ""
    """RANK (with WORLD_SIZE) or LOCAL_RANK of its environment; own processes only."""
    world_size: str = ""
    libraries: tuple[str, ...] | None = None
    """Training libraries that it maps; `None` when nobody looked."""
    cpu_ratio: float | None = None
    cpu_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Choice:
    """What a process is taken for, and the evidence in a few words."""

    kind: str
    """training, serving, notebook, launcher, worker or other."""
    why: str = ""
    weak: bool = False
    """The evidence passes from parent to child (environment, libraries): beside a training parent it means a helper."""
    python: bool = False


OTHER = Choice("other")


def training_name(name: str) -> bool:
    """Whether a script, module or program of this name trains, by its words."""
    if _HF_EXAMPLE.fullmatch(name):
        return True
    words = [word for word in _WORD.split(name.lower()) if word]
    if not words or words[0] in _ABOUT_TRAINING:
        return False
    joined = "".join(words)
    if "finetun" in joined or "pretrain" in joined:
        return True
    return any(
        word in _TRAINING_WORDS or (word.startswith(_TRAINING_STEMS) and word not in _NOT_TRAIN) for word in words
    )


def _training_options(arguments: tuple[str, ...]) -> str:
    """The options that speak of training, where they are enough; else an empty string."""
    strong: list[str] = []
    weak: list[str] = []
    for word in arguments[:256]:
        if word.startswith("-"):
            key = word.lstrip("-").split("=", 1)[0]
        elif "=" in word:  # Hydra: trainer.max_epochs=10, +optimizer.lr=3e-4
            key = word.split("=", 1)[0].lstrip("+~").rsplit(".", 1)[-1]
        else:
            continue
        key = key.lower().replace("_", "-")
        if key in _STRONG_OPTIONS:
            strong.append(word.split("=", 1)[0])
        elif key in _WEAK_OPTIONS:
            weak.append(word.split("=", 1)[0])
    if strong or len(weak) >= 3:
        return ", ".join((strong + weak)[:3])
    return ""


def _training_file(command: Command) -> str:
    """A settings file among the arguments whose name speaks of training, for a script that does not speak of others."""
    if sounds_like_service(command) or _WORD.split(command.name)[0] in _ABOUT_TRAINING:
        return ""
    for word in command.arguments[:32]:
        name = word.rsplit("=", 1)[-1].rsplit("/", 1)[-1].lower()
        stem, dot, suffix = name.rpartition(".")
        if dot and suffix in ("yaml", "yml", "json", "toml") and training_name(stem):
            return name
    return ""


def _by_words(command: Command) -> str:
    """The words of a command that say it trains."""
    if command.module and any(training_name(part) for part in command.module.lower().split(".")[-2:]):
        return f"module {command.module}"
    daemon = not command.interpreted and not _DAEMON_WORDS.isdisjoint(_WORD.split(command.name))
    if not command.inline and not command.module and not daemon and training_name(command.name):
        return f"named {(command.script or command.program).rsplit('/', 1)[-1]}"
    if not command.interpreted:
        return ""
    if config := _training_file(command):
        return f"given {config}"
    positional = [word for word in command.arguments[:3] if not word.startswith("-")][:1]
    if positional and positional[0].lower() in _SUBCOMMANDS:
        return f"argument {positional[0]}"
    return _training_options(command.arguments)


def _by_behaviour(candidate: Candidate, command: Command) -> Choice | None:
    """Two signals for a generic name: it maps a training library, and it works."""
    if not candidate.libraries or candidate.cpu_ratio is None:
        return None
    if candidate.cpu_ratio < MIN_CPU_RATIO or candidate.cpu_s < MIN_CPU_S or sounds_like_service(command):
        return None
    why = f"maps {candidate.libraries[0]} and uses {candidate.cpu_ratio:.1f} CPUs"
    return Choice("training", why, weak=True, python=command.python)


def sounds_like_service(command: Command) -> bool:
    """Whether name or first argument speak of serving, predicting or measuring instead of training."""
    words = _WORD.split(command.name) + [word.lower() for word in command.arguments[:1]]
    return any(word in _SERVICE_WORDS for word in words)


def choose(candidate: Candidate) -> Choice:
    """What this process is taken for by itself; its family may change that (`monitor.processes.family`)."""
    if not candidate.argv:
        return OTHER
    command = read_command(candidate.argv, candidate.executable)
    if any(mark in word for word in candidate.argv[:12] for mark in _WORKER_MARKS):
        return Choice("worker", "started by multiprocessing", python=True)
    if why := notebook(command):
        return Choice("notebook", why, python=True)
    if why := server(command):
        return Choice("serving", why, python=command.python)
    if why := launcher(command):
        return Choice("launcher", why, python=command.python)
    tool = command.name in NEVER_PROGRAMS and not command.script.endswith(".py")  # hf is a tool, hf.py a user's script
    if tool or command.module.split(".", 1)[0] in NEVER_MODULES:
        return Choice("other", python=command.python)
    if command.program in NEVER_PROGRAMS:
        return OTHER
    if why := training_program(command):
        return Choice("training", why, python=command.python)
    if why := _by_words(command):
        return Choice("training", why, python=command.python)
    if candidate.rank and command.python:
        of = f" of {candidate.world_size}" if candidate.world_size else ""
        return Choice("training", f"rank {candidate.rank}{of}", weak=True, python=True)
    return _by_behaviour(candidate, command) or Choice("other", python=command.python)
