"""Whose a file is. Never another process's: where nothing tells, it is nobody's."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from monitor.steps.found_files import FoundFile
from monitor.steps.output_folders import absolute_path, output_folders
from monitor.types.facts import ProcessFacts
from monitor.types.identity import ProcessIdentity

EARLY_S = 5.0
_BROAD = frozenset(("/", "/home", "/root", "/tmp", "/var/tmp", "/mnt", "/data", "/scratch", "/dev/shm"))  # noqa: S108
SOLE_RATIO = 0.75
"""How sure a file is that only lies in the working directory."""


@dataclass(frozen=True)
class Evidence:
    """Why a file is taken for a process's own."""

    why: str
    sure_ratio: float
    """What the confidence of its counters is multiplied with."""


@dataclass(frozen=True)
class Rival:
    """Another training whose file it could be."""

    cwd: str | None
    folders: tuple[str, ...]
    """That it was told to write to, each with a slash at its end."""
    open_paths: frozenset[str]


def leads(facts: Sequence[ProcessFacts]) -> frozenset[ProcessIdentity]:
    """Of the ranks of one launch, the first: it is the one that writes for all."""
    first: dict[object, ProcessFacts] = {}
    for fact in sorted(facts, key=lambda f: (_rank(f), f.process.pid)):
        first.setdefault(_launch(fact), fact)
    return frozenset(fact.process for fact in first.values())


def rivals_of(fact: ProcessFacts, facts: Iterable[ProcessFacts]) -> tuple[Rival, ...]:
    """The other trainings of this node: all but the other ranks of the same one."""
    return tuple(
        Rival(
            cwd=None if other.cwd is None else absolute_path(other, "."),
            folders=tuple(folder.path.rstrip("/") + "/" for folder in output_folders(other)),
            open_paths=frozenset(file.path for file in other.open_files),
        )
        for other in facts
        if other.kind in ("training", "notebook") and _launch(other) != _launch(fact)
    )


def evidence_of(found: FoundFile, fact: ProcessFacts, rivals: Sequence[Rival], named_by: str) -> Evidence | None:
    """Why a file that was found is the process's own, or nothing. `named_by` says who named the folder, if anybody."""
    inside = found.path.removeprefix(f"/proc/{fact.process.pid}/root")
    if any(file.path == inside for file in fact.open_files):
        return Evidence("open", 1.0)
    if found.begun_s is not None and found.begun_s < (fact.started_s or 0.0) - EARLY_S:
        return None  # an event file of an earlier run in the same folder
    if found.pid is not None:
        named = found.pid in (fact.process.pid, *fact.namespace_pids, *fact.children)
        return Evidence("pid in its name", 1.0) if named else None
    if any(inside in rival.open_paths or inside.startswith(rival.folders) for rival in rivals):
        return None
    if named_by:
        return Evidence(named_by, 1.0)
    if fact.cwd is None or not _is_near(inside, fact.cwd, found.is_store):
        return None
    for rival in rivals:
        # It runs in the same folder, or in one above the file: the file could as well be its own.
        if rival.cwd is not None and (rival.cwd == fact.cwd or inside.startswith(rival.cwd.rstrip("/") + "/")):
            return None
    return Evidence("working directory", SOLE_RATIO)


def _is_near(path: str, cwd: str, is_store: bool) -> bool:
    """Whether what only lies somewhere under the working directory can be this process's.

    Logs are of all kinds of programs: only those in the folder itself and W&B's copy of the output. Under a folder
    that everything of a user lies in, nothing but what lies in it directly.
    """
    if os.path.dirname(path) == cwd.rstrip("/") or (cwd == "/" and path.count("/") == 1):
        return True
    is_broad = cwd in _BROAD or os.path.dirname(cwd) in ("/home", "/Users")
    return not is_broad and (is_store or path.endswith("/files/output.log"))


def _launch(fact: ProcessFacts) -> object:
    """Ranks of one launch have one parent and one command."""
    ranked = any(variable.name == "RANK" for variable in fact.environment)
    return (fact.parent, fact.argv) if ranked and fact.parent is not None else fact.process


def _rank(fact: ProcessFacts) -> int:
    for variable in fact.environment:
        if variable.name == "RANK" and variable.value.isdecimal() and len(variable.value) < 8:
            return int(variable.value)
    return 0
