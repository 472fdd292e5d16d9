"""Reads what lies beside processes, each at most every ten seconds; what did not change stays the very same object."""

from __future__ import annotations

import os
from collections.abc import Mapping

from monitor.clean import clean
from monitor.clock import Clock
from monitor.documents.checkpoints import seen_checkpoints
from monitor.documents.config_file import ENDINGS, read_config
from monitor.documents.given import argv_settings, environment_settings
from monitor.documents.slurm import Slurm
from monitor.types.documents import Document, ProcessDocuments, Setting
from monitor.types.facts import ProcessFacts
from monitor.types.identity import ProcessIdentity

AGAIN_S = 10.0
MAX_FILES = 64
FOLDER_FLAGS = frozenset(
    (
        "output_dir",
        "out_dir",
        "save_dir",
        "save",
        "default_root_dir",
        "work_dir",
        "checkpoint_dir",
        "save_folder",
        "dump_folder",
        "hydra.run.dir",
        "trainer.default_local_dir",
        "logging_dir",
        "job.dump_folder",
    )
)
IN_FOLDER = (
    ("args.yaml", "arguments"),
    ("hparams.yaml", "arguments"),
    (".hydra/config.yaml", "hydra"),
    ("config.json", "model"),
)


class DocumentReader:
    """Own processes that train; keeps its state by process identity. `read` never raises."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._slurm = Slurm(clock)
        self._known: dict[ProcessIdentity, tuple[float, ProcessDocuments]] = {}
        self._files: dict[str, tuple[tuple[int, int, int], Document]] = {}

    def read(
        self, facts: tuple[ProcessFacts, ...], learnt: Mapping[ProcessIdentity, tuple[Setting, ...]]
    ) -> tuple[ProcessDocuments, ...]:
        """What is known of each process; `learnt` is what the ways in told of its settings, and wins."""
        now_s = self._clock.boot_s()
        kept: dict[ProcessIdentity, tuple[float, ProcessDocuments]] = {}
        for fact in facts:
            if not fact.mine or fact.kind != "training":
                continue
            known = self._known.get(fact.process)
            if known is None or now_s - known[0] >= AGAIN_S:
                fresh = self._look(fact, learnt.get(fact.process, ()))
                known = (now_s, known[1] if known is not None and known[1] == fresh else fresh)
            kept[fact.process] = known
        self._known = kept
        if len(self._files) > 16 * MAX_FILES:
            self._files = {}
        return tuple(value for _, value in kept.values())

    def _look(self, fact: ProcessFacts, learnt: tuple[Setting, ...]) -> ProcessDocuments:
        given = argv_settings(fact.argv)
        folders = _folders(fact, given)
        documents = tuple(
            document for path, role in _paths(fact, folders) if (document := self._document(path, role, fact.uid))
        )
        started_s = fact.started_s
        open_paths = frozenset(file.path for file in fact.open_files)
        seen = () if started_s is None else seen_checkpoints(folders, self._clock.wall_s(), started_s, open_paths)
        job = self._slurm.job(fact)
        return ProcessDocuments(
            process=fact.process,
            documents=documents,
            settings=learnt + given + environment_settings(fact),
            checkpoints=seen,
            output_folders=tuple(clean(folder, 1024) for folder in folders),
            job_limit_s=job.ends_s if job else None,
        )

    def _document(self, path: str, role: str, uid: int | None) -> Document | None:
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            return None
        stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
        known = self._files.get(path)
        if known is None or known[0] != stamp:
            known = (stamp, read_config(path, role, uid))
            self._files[path] = known
        return known[1]


def _under(fact: ProcessFacts, path: str) -> str | None:
    """An absolute path; relative ones need the working directory."""
    if os.path.isabs(path):
        return os.path.normpath(path)
    return os.path.normpath(os.path.join(fact.cwd, path)) if fact.cwd else None


def _folders(fact: ProcessFacts, given: tuple[Setting, ...]) -> tuple[str, ...]:
    named = [s.value for s in given if s.name.replace("-", "_") in FOLDER_FLAGS and isinstance(s.value, str)]
    return tuple(dict.fromkeys(path for name in named[:16] if (path := _under(fact, name)) is not None))


def _paths(fact: ProcessFacts, folders: tuple[str, ...]) -> list[tuple[str, str]]:
    found: dict[str, str] = {}
    script = next((word for word in fact.argv[1:] if word.endswith(".py")), "")
    for word in fact.argv[1:512]:
        path = word.partition("=")[2] if "=" in word else word
        absolute = _under(fact, path) if path.endswith(ENDINGS) and word != script else None
        if absolute:
            found[absolute] = "deepspeed" if "deepspeed" in word else "config"
    for file in fact.open_files:
        if file.kind == "file" and file.path.endswith(ENDINGS[:4]):
            found.setdefault(file.path, "config")
    for folder in folders:
        for name, role in IN_FOLDER:
            found.setdefault(os.path.join(folder, name), role)
    return list(found.items())[:MAX_FILES]
