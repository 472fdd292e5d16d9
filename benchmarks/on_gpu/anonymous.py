"""Invented names for those of this machine, and nothing of other people's processes: what may leave the machine."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from monitor.types.facts import Container, ProcessFacts
from monitor.types.identity import ProcessIdentity
from monitor.types.messages import Facts, Fault, Hello, Message, Snapshot, Text

HOST = "gpu-node"
USER = "user"
HOME = "/home/user"
CHECKOUT = f"{HOME}/traintop"
INTERPRETER = f"{HOME}/venv"
RUNS = f"{HOME}/runs"
BOOT_ID = "00000000-0000-4000-8000-000000000000"

_UUID = re.compile(r"\b(GPU|MIG)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_SHORTEST_PATH = 4
"""A shorter path ("/", "/a") would be found in places that do not mean it."""
_KEPT_VARIABLES = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")


class Names:
    """Replaces paths, names and UUIDs in every text; the same one always becomes the same."""

    def __init__(self, paths: Iterable[tuple[str, str]] = (), words: Iterable[tuple[str, str]] = ()) -> None:
        """`paths` are replaced wherever they begin a path, the longest first; `words` only as whole words."""
        self._uuids: dict[str, str] = {}
        self._words = {word: name for word, name in words if word}
        self._paths: dict[str, str] = {}
        self.add_paths(paths)
        alternatives = "|".join(re.escape(word) for word in sorted(self._words, key=len, reverse=True))
        self._word = re.compile(rf"(?<![A-Za-z0-9_])(?:{alternatives})(?![A-Za-z0-9_])") if alternatives else None

    def add_paths(self, paths: Iterable[tuple[str, str]]) -> None:
        """Know more paths; the first name that a path got stays."""
        for path, name in paths:
            for spelling in (path, os.path.realpath(path)):
                if len(spelling) >= _SHORTEST_PATH:
                    self._paths.setdefault(spelling.rstrip("/"), name)
        alternatives = "|".join(re.escape(path) for path in sorted(self._paths, key=len, reverse=True))
        self._path = re.compile(rf"(?:{alternatives})(?![A-Za-z0-9_])") if alternatives else None

    def text(self, text: str) -> str:
        """The text with invented names."""
        if self._path is not None:
            text = self._path.sub(lambda found: self._paths[found.group()], text)
        if self._word is not None:
            text = self._word.sub(lambda found: self._words[found.group()], text)
        return _UUID.sub(self._uuid, text)

    def value(self, value: Any) -> Any:  # noqa: ANN401  whatever JSON may hold
        """The same for every text of a JSON value; keys are our own words."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {key: self.value(part) for key, part in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(part) for part in value]
        return value

    def _uuid(self, found: re.Match[str]) -> str:
        number = len(self._uuids)
        return self._uuids.setdefault(found.group(), f"{found[1]}-00000000-0000-4000-8000-{number:012x}")


def names_of_this_machine(checkout: str, runs: str) -> Names:
    """Host, user, home, the checkout, the interpreter and the folder of the runs."""
    host = os.uname().nodename
    words = [(host, HOST), (host.partition(".")[0], HOST)]
    home = os.path.expanduser("~")
    user = _user()
    if user != "root":  # everybody's, and a plain word
        words.append((user, USER))
    paths = [(runs, RUNS), (checkout, CHECKOUT), (sys.prefix, INTERPRETER), (home, HOME)]
    return Names(paths, words)


class StreamFilter:
    """Lets through what the recording may hold: GPUs, the machine and the processes that `is_root` names, renamed."""

    def __init__(self, names: Names, is_root: Callable[[int], bool]) -> None:
        self._names = names
        self._is_root = is_root
        self._ours: set[ProcessIdentity] = set()
        self._roots: dict[int, ProcessIdentity] = {}

    def filtered(self, message: Message) -> Message | None:
        """The message as it may be kept; `None` when nothing of it may."""
        kept = self._kept(message)
        if kept is None:
            return None
        return msgspec.convert(self._names.value(msgspec.to_builtins(kept)), type=Message)  # type: ignore[no-any-return]

    def _is_ours(self, process: ProcessIdentity | None) -> bool:
        if process is None:
            return False
        if self._is_root(process.pid):  # whoever gets this pid later is another process
            return self._roots.setdefault(process.pid, process) == process
        return process in self._ours

    def _kept(self, message: Message) -> Message | None:
        if isinstance(message, Hello):
            return msgspec.structs.replace(message, host=HOST, user=USER, boot_id=BOOT_ID)
        if isinstance(message, Facts):
            facts = tuple(_own_facts(fact) for fact in message.processes if self._note(fact))
            return msgspec.structs.replace(message, processes=facts) if facts else None
        if isinstance(message, Snapshot):
            return self._snapshot(message)
        if isinstance(message, Text):
            return message if self._is_ours(message.process) else None
        if isinstance(message, Fault):
            return message if message.source == "driver" or self._is_ours(message.process) else None
        return message

    def _note(self, fact: ProcessFacts) -> bool:
        ours = self._is_ours(fact.process) or self._is_ours(fact.parent)
        if ours:
            self._ours.add(fact.process)
        return ours

    def _snapshot(self, tick: Snapshot) -> Snapshot:
        host = tick.host
        if host is not None:
            disks = tuple(disk for disk in host.disks if disk.path == "/dev/shm")  # noqa: S108  a name, not a file
            host = msgspec.structs.replace(host, disks=disks)
        return msgspec.structs.replace(
            tick,
            host=host,
            processes=tuple(sample for sample in tick.processes if self._is_ours(sample.process)),
            pairings=tuple(pairing for pairing in tick.pairings if self._is_ours(pairing.process)),
            steps=tuple(event for event in tick.steps if self._is_ours(event.process)),
            ended=tuple(end for end in tick.ended if self._is_ours(end.process)),
        )


def _own_facts(fact: ProcessFacts) -> ProcessFacts:
    container = fact.container
    return msgspec.structs.replace(
        fact,
        user=USER,
        container=None if container is None else Container(runtime=container.runtime),
        environment=tuple(variable for variable in fact.environment if variable.name in _KEPT_VARIABLES),
    )


def _user() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return ""
