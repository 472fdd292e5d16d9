"""Names for runs: what tells each from its siblings. Pure; the order in which runs come does not matter."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from monitor.cells import cut
from monitor.processes.command import read_command
from monitor.runs.arguments import Arguments, read_arguments
from monitor.runs.ranks import without_rank
from monitor.types.facts import ProcessFacts
from monitor.types.run import RunKind

MAX_CELLS = 48
MAX_FOLDER = 12
"""A longer folder tells less than the pid: narrow tables cut off what differs."""
_MAX_DIFFERENCES = 3

_NAME_KEYS = (
    "run_name", "wandb_run_name", "wandb_name", "exp_name", "experiment_name", "run_id", "hydra.job.name", "name",
    "job_name", "experiment", "exp", "tag",
)  # fmt: skip
_OUTPUT_KEYS = (
    "output_dir", "out_dir", "outdir", "output", "work_dir", "workdir", "save_dir", "save_path", "save",
    "checkpoint_dir", "ckpt_dir", "logdir", "log_dir", "logging_dir", "default_root_dir", "results_dir", "dump_folder",
    "exp_dir", "hydra.run.dir", "default_local_dir", "out", "o",
)  # fmt: skip
_CONFIG_KEYS = ("config", "config_file", "config_name", "cfg", "config_path", "conf", "c", "recipe")
_MODEL_KEYS = (
    "model",
    "model_name_or_path",
    "model_name",
    "model_path",
    "model_id",
    "model_tag",
    "arch",
    "a",
    "m",
    "model_type",
    "hf_model",
    "hf_repo",
)
_VARIABLES = ("WANDB_NAME", "MLFLOW_RUN_NAME")
_GENERIC_WORDS = (
    "out output outputs result results run runs checkpoint checkpoints ckpt ckpts log logs exp exps experiment "
    "experiments model models save saves saved work_dirs work_dir data tmp train training test default config "
    "configs conf cfg base main latest last final home mnt scratch workspace wandb tensorboard tb lightning_logs "
    "none null true false"
)
_GENERIC = frozenset(_GENERIC_WORDS.split())
_GENERIC_JOBS = _GENERIC | {
    "", "bash", "sh", "zsh", "interactive", "wrap", "sbatch", "python", "python3", "jupyter", "srun", "salloc", "sys",
    "dashboard", "job",
}  # fmt: skip
_STAMP = re.compile(r"^[\d_.:T-]{4,}$")
_CONFIG_FILE = re.compile(r"\.(?:ya?ml|toml|jsonc?)$", re.IGNORECASE)
_NO_DIFFERENCE = frozenset(
    (
        *_OUTPUT_KEYS,
        "port",
        "master_port",
        "main_process_port",
        "rdzv_endpoint",
        "rdzv_id",
        "device",
        "gpu",
        "gpus",
        "gpu_id",
        "gpu_ids",
        "cuda",
        "local_rank",
    )
)
"""Arguments that differ among siblings without telling what is tried."""


class Nameable(NamedTuple):
    """What a name can be made of."""

    run_id: str
    kind: RunKind
    leader: ProcessFacts
    server: str | None = None
    job_name: str | None = None


def name_runs(runs: Sequence[Nameable], ended: Sequence[Nameable] = ()) -> dict[str, str]:
    """A name for each run, never empty, never twice, at most 48 cells wide.

    `ended` are siblings of before: they get no name here, but what told a run from them still names it.
    """
    ordered = sorted(runs, key=_age)
    everyone = [*ordered, *sorted(ended, key=_age)]
    arguments = {run.run_id: read_arguments(_told_apart_by(run.leader)) for run in everyone}
    wanted: dict[str, str] = {}
    for family in _families(everyone):
        told = _differences([arguments[run.run_id] for run in family])
        for run, difference in zip(family, told, strict=True):
            wanted[run.run_id] = _own_name(run, arguments[run.run_id], difference)
    return _made_unique(ordered, {run.run_id: wanted[run.run_id] for run in ordered}, arguments)


def sweep_name(leader: ProcessFacts, count: int) -> str:
    """What the siblings of a sweep are called together: "sweep train.py …(4)"."""
    tail = f" …({count})"
    return f"sweep {cut(_program(leader), MAX_CELLS - 6 - len(tail))}{tail}"


def _age(run: Nameable) -> tuple[int, int, str]:
    return run.leader.process.start_ticks, run.leader.process.pid, run.run_id


def _own_name(run: Nameable, arguments: Arguments, difference: str) -> str:
    if run.kind == "serving":
        model = _last_part(arguments.first(_MODEL_KEYS) or _served_model(run, arguments))
        return f"{run.server or _program(run.leader)} {model}".strip()
    if run.kind == "notebook":
        return f"notebook {_notebook(run.leader)}".strip()
    if run.kind == "other":
        return _program(run.leader) if run.leader.argv else _by_user(run.leader)
    sources: tuple[Callable[[], str], ...] = (
        lambda: _given(arguments.first(_NAME_KEYS)),
        lambda: next(
            (_given(one.value) for name in _VARIABLES for one in run.leader.environment if one.name == name), ""
        ),
        lambda: _meaningful(arguments.first(_OUTPUT_KEYS)),
        lambda: "" if (run.job_name or "").lower() in _GENERIC_JOBS else _given(run.job_name or ""),
        lambda: _config_name(arguments),
        lambda: difference,
        lambda: _with_model(run.leader, arguments),
    )
    return next((name for source in sources if (name := source())), "") or _by_user(run.leader)


def _families(runs: Sequence[Nameable]) -> list[list[Nameable]]:
    """Runs of one program of one user: those whose arguments are worth comparing."""
    families: dict[tuple[object, ...], list[Nameable]] = {}
    for run in runs:
        families.setdefault((run.kind, run.leader.user, _program(run.leader)), []).append(run)
    return list(families.values())


def _differences(family: list[Arguments], ignore: frozenset[str] = _NO_DIFFERENCE) -> list[str]:
    """For each member the arguments in which the family differs: "lr=3e-4 seed=1"."""
    if len(family) < 2:
        return [""] * len(family)
    keys = [key for one in family for key in one.values if key not in ignore]
    differing = [key for key in dict.fromkeys(keys) if len({one.values.get(key) for one in family}) > 1]
    return [
        " ".join(
            f"{one.spelled.get(key, key)}={_last_part(one.values[key])}" if one.values[key] else one.spelled[key]
            for key in differing[:_MAX_DIFFERENCES]
            if key in one.values
        )
        for one in family
    ]


def _made_unique(
    ordered: Sequence[Nameable], wanted: dict[str, str], arguments: dict[str, Arguments]
) -> dict[str, str]:
    names = {run_id: cut(name.strip() or "run", MAX_CELLS) for run_id, name in wanted.items()}
    same: dict[str, list[Nameable]] = {}
    for run in ordered:
        same.setdefault(names[run.run_id], []).append(run)
    for name, runs in same.items():
        if len(runs) == 1:
            continue
        told = _differences([arguments[run.run_id] for run in runs])
        if not any(told):
            told = _folders(runs)
        for run, difference in zip(runs, told, strict=True):
            if difference and difference not in name:
                names[run.run_id] = cut(f"{cut(name, MAX_CELLS - 12)} {difference}", MAX_CELLS)
    taken: set[str] = set()
    counts = Counter(names.values())
    for run in ordered:
        name = names[run.run_id]
        if name in taken or counts[name] > 1:
            pid = f" ({run.leader.process.pid})"
            name = cut(name, MAX_CELLS - len(pid)) + pid
        number = 2
        base = name
        while name in taken:  # two boots or containers with one pid
            name = f"{cut(base, MAX_CELLS - 4)} {number}"
            number += 1
        names[run.run_id] = name
        taken.add(name)
    return names


def _folders(runs: Sequence[Nameable]) -> list[str]:
    """Where each was started, as far as that tells them apart: "in seed2"."""
    paths = [(run.leader.cwd or "").strip("/").split("/") for run in runs]
    for back in range(1, min(len(path) for path in paths) + 1):
        parts = [path[-back] for path in paths]
        if len(set(parts)) == len(parts) and all(0 < len(part) <= MAX_FOLDER for part in parts):
            return [f"in {part}" for part in parts]
    return [""] * len(runs)


def _told_apart_by(leader: ProcessFacts) -> tuple[str, ...]:
    """The arguments, and the number of an array's task: often all that differs among them."""
    task = tuple(f"task={one.value}" for one in leader.environment if one.name == "SLURM_ARRAY_TASK_ID")
    return task + without_rank(read_command(leader.argv, leader.executable or "").arguments)


def _program(leader: ProcessFacts) -> str:
    """The script, module or binary; for code from the command line the interpreter."""
    command = read_command(leader.argv, leader.executable or "")
    if command.module:
        return command.module
    return (command.script or command.program).rstrip("/").rsplit("/", 1)[-1] or leader.name


def _by_user(leader: ProcessFacts) -> str:
    program = _program(leader) or f"pid {leader.process.pid}"
    return program if leader.mine or not leader.user else f"{program} of {leader.user}"


def _with_model(leader: ProcessFacts, arguments: Arguments) -> str:
    program = _program(leader)
    model = _last_part(arguments.first(_MODEL_KEYS))
    if model and program:
        return f"{program} {model}"
    return program if leader.argv else ""


def _config_name(arguments: Arguments) -> str:
    named = arguments.first(_CONFIG_KEYS)
    files = [
        named,
        *(word for word in arguments.words if _CONFIG_FILE.search(word) or "config" in word.rpartition("/")[0]),
    ]
    for file in files:
        if not file or file.startswith("***"):
            continue
        parts = [
            part for part in _CONFIG_FILE.sub("", file).removesuffix(".py").split("/") if part not in ("", ".", "..")
        ]
        telling = [part for part in parts[-2:] if part.lower() not in _GENERIC]
        if telling:
            return telling[-1]
    return ""


def _served_model(run: Nameable, arguments: Arguments) -> str:
    words = [word for word in arguments.words if word not in ("serve", "runner", "run", "api_server", "chat")]
    return words[0] if words and run.server in ("vLLM", "SGLang", "LMDeploy", "Aphrodite") else ""


def _notebook(leader: ProcessFacts) -> str:
    session = next((one.value for one in leader.environment if one.name == "JPY_SESSION_NAME"), "")
    name = _last_part(session)
    if name.endswith(".ipynb"):
        return name
    folder = _last_part(leader.cwd or "")
    return folder if folder else ("" if leader.mine or not leader.user else f"of {leader.user}")


def _meaningful(path: str) -> str:
    """The last part of a path that says something; a time stamp says little and only joins such a part."""
    parts = [part for part in path.split("/") if part not in ("", ".", "..", "~") and not part.startswith("$")]
    for index in range(len(parts) - 1, -1, -1):
        part = parts[index]
        if part.lower() not in _GENERIC and not _STAMP.match(part) and "***" not in part and not _is_home(parts, index):
            return part
    return ""


def _is_home(parts: list[str], index: int) -> bool:
    return index == 1 and parts[0] in ("home", "Users")


def _given(value: str) -> str:
    """A name that somebody gave, unless it is a switch or was blacked out."""
    value = value.strip()
    return (
        "" if value.lower() in ("", "none", "null", "true", "false", "default") or "***" in value else _last_part(value)
    )


def _last_part(value: str) -> str:
    return value.rstrip("/").rsplit("/", 1)[-1]
