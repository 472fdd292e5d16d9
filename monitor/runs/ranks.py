"""Which rank of what a process is, from its environment and its arguments."""

from __future__ import annotations

import re
from typing import NamedTuple

from monitor.types.facts import ProcessFacts

_RANKS = (
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("HOROVOD_RANK", "HOROVOD_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)
"""Number and size by launcher; a lone Slurm task has PROCID 0 of 1, which says nothing."""
_LOCAL_RANK = re.compile(r"^--?(?:local[_-]rank|node[_-]rank|rank)(?:=(\d+))?$")


class Rank(NamedTuple):
    """A process's number in its run, and what all ranks of that run agree on."""

    number: int | None
    meetings: tuple[tuple[object, ...], ...]
    """Keys that are equal among the ranks of one run on this node."""


def rank_of(fact: ProcessFacts) -> Rank:
    """The rank of a process. Number and keys are unknown where neither environment nor arguments tell."""
    values = {variable.name: variable.value for variable in fact.environment}
    number, keys = _from_arguments(fact)
    for name, size in _RANKS:
        if values.get(name, "").isdigit() and values.get(size, "").isdigit() and int(values[size]) > 1:
            number = int(values[name][:9])
            keys = [*keys, *_meetings(fact, values, name, values[size])]
            break
    return Rank(number, tuple(keys))


def without_rank(argv: tuple[str, ...]) -> tuple[str, ...]:
    """A command line without the rank that launchers put into it."""
    kept: list[str] = []
    skip = False
    for word in argv:
        if skip:
            skip = False
            if word.isdigit():
                continue
        match = _LOCAL_RANK.match(word)
        if match is None:
            kept.append(word)
        else:
            skip = match.group(1) is None
    return tuple(kept)


def _from_arguments(fact: ProcessFacts) -> tuple[int | None, list[tuple[object, ...]]]:
    for index, word in enumerate(fact.argv):
        match = _LOCAL_RANK.match(word)
        if match is None:
            continue
        after = fact.argv[index + 1] if index + 1 < len(fact.argv) else ""
        text = match.group(1) or after
        if text.isdigit():
            return int(text[:9]), [("arguments", fact.parent, without_rank(fact.argv))]
    return None, []


def _meetings(fact: ProcessFacts, values: dict[str, str], name: str, size: str) -> list[tuple[object, ...]]:
    container = None if fact.container is None else fact.container.container_id
    keys: list[tuple[object, ...]] = []
    if name == "RANK" and values.get("MASTER_PORT"):
        place = values.get("MASTER_ADDR"), values["MASTER_PORT"], values.get("TORCHELASTIC_RUN_ID")
        keys.append(("meeting", container, fact.user, size, *place))
    if values.get("SLURM_STEP_ID"):  # tasks of one step with the same command line; other lines are a sweep
        step = values.get("SLURM_JOB_ID"), values["SLURM_STEP_ID"]
        keys.append(("slurm", fact.user, size, *step, without_rank(fact.argv)))
    if name not in ("RANK", "SLURM_PROCID"):
        keys.append(("mpi", container, fact.user, size, fact.parent, without_rank(fact.argv)))
    return keys
