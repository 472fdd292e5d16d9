"""What processes are beside their parents and children: forks are workers, ancestors may be launchers. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from monitor.processes.selection import Choice

CHOSEN = ("training", "serving", "notebook")
MAX_DESCENDANTS = 256
"""Watched beside one chosen process; a run with more workers shows the first ones."""
_MAX_DEPTH = 64


@dataclass(frozen=True, slots=True)
class Relative:
    """One process as its family judges it."""

    parent_pid: int
    choice: Choice
    """What it is taken for by itself."""
    argv: tuple[str, ...] = ()
    on_gpu: bool = False
    """The driver names it."""
    ranks: tuple[str, str] = ("", "")
    """RANK and LOCAL_RANK of its environment; empty where unset or unknown."""
    service: bool = False
    """Its words speak of serving or predicting."""


class Family:
    """Judges every process of one look at the machine once."""

    def __init__(self, relatives: Mapping[int, Relative]) -> None:
        self._relatives = relatives
        self._judged: dict[int, Choice] = {}

    def members(self) -> dict[int, Choice]:
        """The processes to watch: what trains, serves or holds a notebook or a GPU, its launchers, its descendants."""
        chosen: dict[int, Choice] = {}
        for pid, relative in self._relatives.items():
            choice = self._judge(pid, 0)
            if choice.kind in CHOSEN or relative.on_gpu:
                chosen[pid] = choice
        members = dict(chosen)
        for pid in chosen:
            for ancestor in self._ancestors(pid):
                found = self._judge(ancestor, 0)
                if found.kind == "launcher":
                    members[ancestor] = found
                elif found.kind == "training" and found.why.startswith("command ") and chosen[pid].kind == "training":
                    members[ancestor] = Choice("launcher", found.why, python=found.python)
        self._add_descendants(chosen, members)
        return members

    def _judge(self, pid: int, depth: int) -> Choice:
        done = self._judged.get(pid)
        if done is not None:
            return done
        relative = self._relatives[pid]
        parent = self._relatives.get(relative.parent_pid)
        if parent is None or depth > _MAX_DEPTH or relative.parent_pid == pid:
            judged = self._alone(relative)
        else:
            judged = self._beside(relative, parent, self._judge(relative.parent_pid, depth + 1))
        self._judged[pid] = judged
        return judged

    def _alone(self, relative: Relative) -> Choice:
        choice = relative.choice
        if relative.on_gpu and choice.kind in ("other", "worker") and choice.python and not relative.service:
            return Choice("training", "Python process on a GPU", python=True)
        return choice

    def _beside(self, relative: Relative, parent: Relative, parent_choice: Choice) -> Choice:
        choice = relative.choice
        family = parent_choice.kind in (*CHOSEN, "worker")
        if not relative.on_gpu:
            same_ranks = relative.ranks == parent.ranks
            if family and same_ranks and relative.argv and relative.argv == parent.argv:
                return Choice("worker", f"fork of {relative.parent_pid}", python=choice.python)
            if family and same_ranks and choice.kind == "training" and choice.weak:
                return Choice("worker", f"child of {relative.parent_pid}", python=choice.python)
            return choice
        if parent_choice.kind == "serving" and choice.kind not in ("training", "notebook"):
            return Choice("serving", f"{parent_choice.why}, process of {relative.parent_pid}", python=choice.python)
        return self._alone(relative)

    def _ancestors(self, pid: int) -> list[int]:
        found: list[int] = []
        seen = {pid}
        while len(found) < _MAX_DEPTH:
            pid = self._relatives[pid].parent_pid
            if pid in seen or pid not in self._relatives:
                break
            seen.add(pid)
            found.append(pid)
        return found

    def _add_descendants(self, chosen: Mapping[int, Choice], members: dict[int, Choice]) -> None:
        children: dict[int, list[int]] = {}
        for pid, relative in self._relatives.items():
            children.setdefault(relative.parent_pid, []).append(pid)
        for root, choice in chosen.items():
            if choice.kind not in CHOSEN:
                continue  # a display server or a supervisor on a GPU: its children are no part of a run
            left = MAX_DESCENDANTS
            waiting = list(children.get(root, ()))
            while waiting and left > 0:
                pid = waiting.pop(0)
                if pid in members:
                    continue
                found = self._judge(pid, 0)
                if found.kind != "worker":
                    found = Choice("other", f"descendant of {root}", python=found.python)
                members[pid] = found
                left -= 1
                waiting.extend(children.get(pid, ()))


def members(relatives: Mapping[int, Relative]) -> dict[int, Choice]:
    """The processes to watch, by pid, with what each is taken for."""
    return Family(relatives).members()
