"""What `traintop run` sets for the command it becomes, and why a probe may not be loaded."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from monitor.probe.folder import MARK, make_folder

_PYTHON = re.compile(r"(?:python|pypy)[0-9.]{0,6}t?$")
_DEAF = "IES"
"""Python's flags that leave PYTHONPATH (`-I`, `-E`) or `sitecustomize` (`-I`, `-S`) out."""
_LAST = "cm"
"""Flags after which the words are the program's."""
_TAKES = "WX"
"""Flags with a value."""
MAX_WORDS = 64


def inject_folder() -> str:
    """The folder that goes on PYTHONPATH."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "inject")


def environment_with_probe(environment: Mapping[str, str]) -> dict[str, str]:
    """The same environment with the probe first on PYTHONPATH, theirs kept, and the mark that says so."""
    theirs = environment.get("PYTHONPATH", "")
    ours = inject_folder()
    paths = theirs if theirs.split(os.pathsep)[0] == ours else f"{ours}{os.pathsep}{theirs}" if theirs else ours
    return {**environment, "PYTHONPATH": paths, MARK: make_folder(environment) or "on"}


def deaf_flag(argv: Sequence[str]) -> str | None:
    """The flag, as `-I`, that keeps the first Python of a command line from loading the probe, if there is one."""
    words = list(argv[:MAX_WORDS])
    while words and not _PYTHON.match(os.path.basename(words[0])):
        words.pop(0)
    words = words[1:]
    while words:
        word = words.pop(0)
        if not word.startswith("-") or word.startswith("--") or word == "-":
            return None
        for i, letter in enumerate(word[1:], 1):
            if letter in _DEAF:
                return f"-{letter}"
            if letter in _LAST:
                return None
            if letter in _TAKES:
                if i == len(word) - 1 and words:
                    words.pop(0)
                break
    return None
