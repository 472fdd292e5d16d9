"""Stable ids: a run keeps its id while any of its processes lives, and every front end finds the same one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from monitor.runs.grouping import Group
from monitor.types.identity import ProcessIdentity


def run_id(boot_id: str, anchor: ProcessIdentity, kind: str = "run") -> str:
    """The id of a run that is known by this process since this boot."""
    return _short_hash(f"{boot_id}|{kind}|{anchor.pid}|{anchor.start_ticks}")


def sweep_id(boot_id: str, sibling_key: tuple[object, ...]) -> str:
    """The id that siblings of a sweep share."""
    return _short_hash(f"{boot_id}|sweep|{sibling_key!r}")


def _short_hash(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=5).hexdigest()


class RunIds:
    """Remembers which run each process belongs to."""

    def __init__(self) -> None:
        self._run_of: dict[ProcessIdentity, str] = {}

    def assign(self, groups: tuple[Group, ...], boot_id: str) -> Iterator[tuple[str, Group]]:
        """An id for each group: the one that its processes had, else a new one from its anchor. None is given twice."""
        given: set[str] = set()
        chosen: list[tuple[str, Group]] = []
        for one in groups:
            main = [member.process for member in one.members if member.role in ("trainer", "server")]
            known = [self._run_of[process] for process in (one.anchor, *main) if process in self._run_of]
            fresh = (run_id(boot_id, process) for process in (one.anchor, *main))
            found = next((candidate for candidate in (*known, *fresh) if candidate not in given), None)
            if found is None:
                found = _short_hash(f"{boot_id}|{one.anchor}|{len(given)}")
            given.add(found)
            chosen.append((found, one))
        for found, one in chosen:
            for process in (
                one.anchor,
                *(member.process for member in one.members if member.role in ("trainer", "server")),
            ):
                self._run_of[process] = found
        yield from chosen

    def keep(self, processes: set[ProcessIdentity]) -> None:
        """Forget all other processes."""
        for process in self._run_of.keys() - processes:
            del self._run_of[process]
