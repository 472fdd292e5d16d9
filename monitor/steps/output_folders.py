"""Where a process writes: the folders that its command line, environment and configuration name, and paths into them.

Paths are as the process sees them: relative to its working directory, inside its own mounts.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass

from monitor.documents.config_file import ENDINGS, read_config
from monitor.documents.given import argv_settings
from monitor.types.documents import Setting
from monitor.types.facts import ProcessFacts

MAX_FOLDERS = 16
MAX_CONFIGS = 4
MAX_LINKS = 16
FLAGS = frozenset(
    (
        "output_dir", "out_dir", "output", "outdir", "work_dir", "workdir", "logdir", "log_dir", "logging_dir", "save",
        "save_dir", "save_folder", "default_root_dir", "tensorboard_dir", "tensorboard_logdir", "tb_log_dir",
        "results_dir", "dump_folder", "base_output_directory", "run_dir", "exp_dir", "checkpoint_dir", "logs_dir",
        "tensorboard_log", "train_dir", "experiment_dir", "default_local_dir", "model_dir", "project", "storage_path",
        "exp_manager.exp_dir", "hydra.run.dir", "trainer.default_local_dir", "job.dump_folder", "training.output_dir",
    )
)  # fmt: skip
"""Of flags and of keys in configurations; their last part counts too (`trainer.output_dir`)."""
VARIABLES = (
    "TENSORBOARD_LOGGING_DIR", "TENSORBOARD_DIR", "WANDB_DIR", "MLFLOW_TRACKING_URI", "LLAMABOARD_WORKDIR",
    "VERL_FILE_LOGGER_ROOT", "VERL_FILE_LOGGER_PATH",
)  # fmt: skip
_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY | getattr(os, "O_NOFOLLOW", 0)


@dataclass(frozen=True)
class OutputFolder:
    """One folder that a process was told to write to."""

    path: str
    """Absolute, as the process sees it."""
    why: str
    """Who named it, for a person: "--output_dir"."""


def output_folders(fact: ProcessFacts, more: Iterable[Setting] = ()) -> tuple[OutputFolder, ...]:
    """The folders that are named by flags, variables, and the configurations on the command line, in this order.

    `more` are settings learnt elsewhere. Never raises.
    """
    found: dict[str, OutputFolder] = {}
    given = argv_settings(fact.argv)
    for setting in (*given, *more, *_configured(fact)):
        name = setting.name.lower().replace("-", "_")
        if (name in FLAGS or name.rsplit(".", 1)[-1] in FLAGS) and isinstance(setting.value, str):
            _put(found, fact, setting.value, setting.source)
    for variable in fact.environment:
        if variable.name in VARIABLES:
            _put(found, fact, variable.value.removeprefix("file://"), variable.name)
    return tuple(found.values())[:MAX_FOLDERS]


def _put(found: dict[str, OutputFolder], fact: ProcessFacts, path: str, why: str) -> None:
    absolute = absolute_path(fact, path)
    if absolute is not None and absolute != "/" and "***" not in path and "…" not in path:
        found.setdefault(absolute, OutputFolder(absolute, why))


def absolute_path(fact: ProcessFacts, path: str) -> str | None:
    """A path of a process as an absolute one; `None` without a working directory, or for what is no path."""
    if not path or len(path) > 1024 or "\0" in path or "://" in path or path.startswith("~"):
        return None
    if os.path.isabs(path):
        return os.path.normpath(path)
    return os.path.normpath(os.path.join(fact.cwd, path)) if fact.cwd else None


def _configured(fact: ProcessFacts) -> list[Setting]:
    """The settings of configuration files that stand on the command line."""
    found: list[Setting] = []
    words = [word.partition("=")[2] or word for word in fact.argv[2:256]]
    for word in [word for word in words if word.endswith(ENDINGS)][:MAX_CONFIGS]:
        absolute = absolute_path(fact, word)
        seen = None if absolute is None else seen_path(fact, absolute)
        if seen is not None:
            found.extend(read_config(seen, "config", fact.uid).settings)
    return found


def root_of(fact: ProcessFacts) -> str:
    """What stands before the process's paths for us: nothing where it sees the same file system.

    Raises:
        OSError: it cannot be told.
    """
    root = f"/proc/{fact.process.pid}/root"
    if os.readlink(f"/proc/{fact.process.pid}/ns/mnt") == os.readlink("/proc/self/ns/mnt"):
        there, here = os.stat(root), os.stat("/")
        if (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino):
            return ""
    return root


def seen_path(fact: ProcessFacts, path: str) -> str | None:
    """A path of the process as we can open it. Links are resolved inside its own root, never out of it.

    `None` where there is no such path or it may not be looked at.
    """
    try:
        root = root_of(fact)
        if not root:
            return os.path.realpath(path, strict=True)
        parts = [part for part in path.split("/") if part and part != "."]
        real: list[str] = []
        links = 0
        while parts:
            part = parts.pop(0)
            if part == "..":
                real = real[:-1]
                continue
            here = "/".join((root, *real, part))
            if stat.S_ISLNK(os.lstat(here).st_mode):
                links += 1
                if links > MAX_LINKS:
                    return None
                target = os.readlink(here)
                real = [] if target.startswith("/") else real
                parts = [p for p in target.split("/") if p and p != "."] + parts
                continue
            real.append(part)
        return "/".join((root, *real))
    except (OSError, ValueError):
        return None


def open_found(path: str, uid: int | None) -> int:
    """Open a file that was found and not named by the user: a regular one, no link, of the process's user or ours.

    Raises:
        OSError: it cannot be opened, or is no such file.
    """
    if not stat.S_ISREG(os.lstat(path).st_mode):
        raise FileNotFoundError("not a regular file")
    descriptor = os.open(path, _OPEN)
    try:
        status = os.fstat(descriptor)
        own = os.geteuid()
        if not stat.S_ISREG(status.st_mode):
            raise FileNotFoundError("not a regular file")
        if status.st_uid != uid and (own == 0 or status.st_uid != own):
            raise PermissionError("the file belongs to another user")
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
