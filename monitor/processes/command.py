"""What an argument vector runs: the program, and for an interpreter the script or module behind it."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PYTHON = re.compile(r"(?:python|pypy|pythonw)[0-9.]*[a-z]?(?:\.exe)?")
_OTHER_INTERPRETERS = frozenset({"julia", "Rscript", "R", "lua", "luajit", "th", "octave"})
_WRAPPERS = frozenset(
    {
        "pdb", "cProfile", "profile", "trace", "debugpy", "memory_profiler", "kernprof", "line_profiler", "scalene",
        "coverage", "viztracer", "ipython", "ipython3", "torch.utils.bottleneck", "ddtrace-run",
    }
)  # fmt: skip
"""Modules and scripts that run another script in the same process: its name is the one that counts."""
_WITH_VALUE = frozenset({"-W", "-X", "--check-hash-based-pycs"})


@dataclass(frozen=True, slots=True)
class Command:
    """An argument vector, read."""

    program: str
    """File name of argv[0], without a login shell's dash."""
    python: bool
    interpreted: bool
    """Python or another interpreter that trains models (julia, Rscript…)."""
    script: str
    """Path of the script; empty for a module, `-c`, or a program of its own."""
    module: str
    """Dotted name after `-m`."""
    inline: bool
    """`-c CODE` or code from stdin: there is no name to judge."""
    arguments: tuple[str, ...]
    """What follows the script, module or program."""

    @property
    def name(self) -> str:
        """The last word of the module, script or program: lower case, without folder and suffix."""
        if self.module:
            return self.module.rsplit(".", 1)[-1].lower()
        base = (self.script or self.program).rsplit("/", 1)[-1].lower()
        for suffix in (".py", ".pyc", ".jl", ".r", ".lua", ".exe"):
            if base.endswith(suffix):
                return base[: -len(suffix)]
        return base


def is_python(path: str) -> bool:
    """Whether this program is a Python interpreter, by its file name."""
    return bool(path) and _PYTHON.fullmatch(path.rsplit("/", 1)[-1]) is not None


def read_command(argv: tuple[str, ...], executable: str = "") -> Command:
    """Split an argument vector. `executable` (/proc/PID/exe) tells a Python that changed its argv[0]."""
    if not argv:
        return Command("", False, False, "", "", False, ())
    program = argv[0].split(" ", 1)[0].rsplit("/", 1)[-1].lstrip("-")
    python = is_python(argv[0]) or (is_python(executable) and not argv[0].endswith(":"))
    if not python and program not in _OTHER_INTERPRETERS:
        return Command(program, False, False, "", "", False, argv[1:])
    if len(argv) == 1 and not is_python(argv[0]):
        return Command(program, True, True, "", "", False, ())  # it gave itself a title: "ray::TrainWorker.run"
    position = 1
    while position < len(argv):
        word = argv[position]
        if word == "-m" and python:
            module = argv[position + 1] if position + 1 < len(argv) else ""
            return _unwrapped(Command(program, True, True, "", module, False, argv[position + 2 :]), module)
        if word.startswith("-m") and python and len(word) > 2:
            return Command(program, True, True, "", word[2:], False, argv[position + 1 :])
        if word == "-" or re.fullmatch(r"-[A-Za-z]*c", word) or word == "-e":
            return Command(program, python, True, "", "", True, argv[position + 1 :])
        if not word.startswith("-"):
            command = Command(program, python, True, word, "", False, argv[position + 1 :])
            return _unwrapped(command, word.rsplit("/", 1)[-1])
        position += 2 if word in _WITH_VALUE else 1
    return Command(program, python, True, "", "", True, ())


def _unwrapped(command: Command, name: str) -> Command:
    """The command that a debugger or profiler runs, if this is one and its script can be told."""
    if name not in _WRAPPERS:
        return command
    for position, word in enumerate(command.arguments[:64]):
        if word.endswith(".py"):
            arguments = command.arguments[position + 1 :]
            return Command(command.program, command.python, True, word, "", False, arguments)
    return command
