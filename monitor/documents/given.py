"""Settings that a process was given on its command line and in its allow-listed environment."""

from __future__ import annotations

import re

from monitor.clean import clean
from monitor.redact import HIDDEN, is_secret_name, redact
from monitor.types.documents import Setting
from monitor.types.facts import ProcessFacts

MAX_SETTINGS = 256
MAX_VALUE = 300
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,18}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})(?:[eE][+-]?[0-9]{1,3})?\Z")
_ASSIGNED = re.compile(r"[+~]{0,2}([A-Za-z_][\w.\-/@]{0,127})=(.*)\Z", re.DOTALL)
_WORDS = {"true": True, "false": False, "none": None, "null": None}


def value_of(text: str) -> str | float | bool | None:
    """A word as a number, a truth value or `None` where it is spelled as one; else safe text without secrets."""
    stripped = text.strip()
    if _NUMBER.match(stripped):
        return float(stripped)
    lowered = stripped.lower()
    if lowered in _WORDS:
        return _WORDS[lowered]
    return clean(redact(clean(stripped, MAX_VALUE)), MAX_VALUE)


def named(name: str, value: str | float | bool | None) -> str | float | bool | None:
    """The value, hidden where its name says that it is a secret."""
    if isinstance(value, str) and value and is_secret_name(name.rsplit(".", 1)[-1]):
        return HIDDEN
    return value


def argv_settings(argv: tuple[str, ...]) -> tuple[Setting, ...]:
    """What follows the program: `--a 1`, `--a=1`, `--flag`, `--no-flag`, `a.b=1`, `-e 3`. The last of several wins."""
    words = program_words(argv)
    found: dict[str, Setting] = {}
    index = 0
    while index < len(words) and len(found) < MAX_SETTINGS:
        word = words[index]
        index += 1
        assigned = _ASSIGNED.match(word)
        if word.startswith("-") and not _NUMBER.match(word):
            name, mark, text = word.lstrip("-").partition("=")
            if not name:
                continue
            spelled = clean(word.partition("=")[0], 128)
            if not mark:
                if index < len(words) and _is_value(words[index]):
                    text = words[index]
                    index += 1
                else:
                    _put(found, name, True, spelled)
                    continue
            _put(found, name, value_of(text), spelled)
        elif assigned:
            _put(found, assigned.group(1), value_of(assigned.group(2)), clean(assigned.group(1), 128) + "=")
    return tuple(found.values())


def program_words(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The words after the script or module; after the program itself where neither is named."""
    for index, word in enumerate(argv[1:64], 1):
        if word.endswith(".py"):
            return argv[index + 1 :]
        if word == "-m":
            return argv[index + 2 :]
        if not word.startswith("-"):
            return argv[index + (0 if _ASSIGNED.match(word) else 1) :] if index == 1 else argv[1:]
    return argv[1:]


def environment_settings(facts: ProcessFacts) -> tuple[Setting, ...]:
    """The variables of the allow-list that the facts already hold."""
    return tuple(
        Setting(name=v.name, value=named(v.name, value_of(v.value)), source=f"environment {v.name}")
        for v in facts.environment[:MAX_SETTINGS]
    )


def _put(found: dict[str, Setting], name: str, value: str | float | bool | None, source: str) -> None:
    safe = clean(name, 128)
    found.pop(safe, None)
    found[safe] = Setting(name=safe, value=named(safe, value), source=source)


def _is_value(word: str) -> bool:
    if word.startswith("-"):
        return bool(_NUMBER.match(word))
    return not (_ASSIGNED.match(word) and not word.startswith("/"))
