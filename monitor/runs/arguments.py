"""A program's arguments as names and values, however spelled: --lr 3e-4, --lr=3e-4, optim.lr=3e-4, -o out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

MAX_WORDS = 512
_NUMBER = re.compile(r"^-[\d.]")
_SETTING = re.compile(r"^[+~]{0,2}([A-Za-z_][\w.\-/@]*)=(.*)$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a program was given."""

    values: Mapping[str, str] = field(default_factory=dict)
    """By name in lower case with underscores; a switch has an empty value. The last of several wins."""
    spelled: Mapping[str, str] = field(default_factory=dict)
    """How a name was written, without dashes and without the path before its last dot."""
    words: tuple[str, ...] = ()
    """What belongs to no name."""

    def first(self, keys: tuple[str, ...]) -> str:
        """The value of the first of these names that has one; a dotted name also counts by its last part."""
        for key in keys:
            value = self.values.get(key)
            if value:
                return value
            if "." in key:
                continue
            for name, dotted in self.values.items():
                if dotted and name.endswith(f".{key}"):
                    return dotted
        return ""


def read_arguments(words: tuple[str, ...]) -> Arguments:
    """Read the words that follow a program's name."""
    values: dict[str, str] = {}
    spelled: dict[str, str] = {}
    free: list[str] = []

    def note(name: str, value: str) -> None:
        key = name.lower().replace("-", "_")
        values[key] = value
        spelled[key] = name.rsplit(".", 1)[-1]

    bounded = words[:MAX_WORDS]
    index = 0
    while index < len(bounded):
        word = bounded[index]
        index += 1
        if word.startswith("-") and len(word) > 1 and not _NUMBER.match(word):
            name, mark, value = word.lstrip("-").partition("=")
            if not name:
                continue
            if not mark and index < len(bounded) and _is_value(bounded[index]):
                value = bounded[index]
                index += 1
            note(name, value)
        elif setting := _SETTING.match(word):
            note(setting.group(1), setting.group(2))
        else:
            free.append(word)
    return Arguments(values, spelled, tuple(free))


def _is_value(word: str) -> bool:
    return not word.startswith("-") or _NUMBER.match(word) is not None
