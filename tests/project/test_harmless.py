"""No source can load foreign code, start a shell, open a port, or signal a process that is not its own child."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from monitor.word_set import word_set

CHECKOUT = Path(__file__).resolve().parents[2]
FILES = [path for folder in ("traintop", "monitor", "advisor", "tui") for path in (CHECKOUT / folder).rglob("*.py")]

CODE_LOADERS = word_set("pickle _pickle dill cloudpickle marshal shelve joblib yaml torch runpy code codeop imp")
"""Modules that run what they read, or that would be imported for nothing else here."""
LISTENERS = frozenset({"socketserver", "http.server", "xmlrpc", "wsgiref"})
CALLS = frozenset(
    {
        "eval",
        "exec",
        "compile",
        "__import__",
        "os.system",
        "os.popen",
        "subprocess.getoutput",
        "subprocess.getstatusoutput",
    }
)
SIGNALS = frozenset({"kill", "killpg", "pidfd_send_signal", "send_signal", "terminate"})
SIGNALLED = {
    "tui/app/signals.py": {"pidfd_send_signal"},  # after a question, through a pidfd
    "tui/commands/attach.py": {"kill"},  # signal 0: whether there is such a process
    "monitor/simulation/demo_run.py": {"kill"},  # these three: their own children
    "monitor/stream/agent_process.py": {"kill"},
    "monitor/stream/child.py": {"kill"},
    "monitor/stream/pipe_source.py": {"kill"},
}

YAML_READERS = {"monitor/documents/config_file.py"}
"""Where yaml may be imported, for what reads nodes and makes no objects of what it reads."""
YAML_NODES = frozenset({"SafeLoader", "YAMLError", "Node", "MappingNode", "SequenceNode", "ScalarNode"})


def offences(source: str, where: str = "") -> list[str]:
    """What a source does that none may."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names]
            if names == ["yaml"] and isinstance(node, ast.Import) and where in YAML_READERS:
                continue
            found += [name for name in names if name.split(".")[0] in CODE_LOADERS or name in LISTENERS]
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "yaml" and node.attr not in YAML_NODES:
            found.append(f"yaml.{node.attr}")
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            last = name.rsplit(".", 1)[-1]
            if name in CALLS or any(word.arg == "shell" for word in node.keywords):
                found.append(name)
            if last in ("bind", "listen") and "socket" in source:
                found.append(name)
            if last in SIGNALS and last not in SIGNALLED.get(where, ()):
                found.append(name)
            if name == "os.kill" and ast.unparse(node.args[1]) != "0":
                found.append(name)
        elif isinstance(node, ast.Constant) and node.value in SIGNALS and node.value not in SIGNALLED.get(where, ()):
            found.append(str(node.value))
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(CHECKOUT)))
def test_no_source_does_what_none_may(path: Path) -> None:
    assert offences(path.read_text(encoding="utf-8"), path.relative_to(CHECKOUT).as_posix()) == []


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from pickle import loads",
        "import torch.serialization",
        "from http.server import HTTPServer",
        "eval(text)",
        "subprocess.run(line, shell=True)",
        "os.system(line)",
        "os.kill(pid, signal.SIGTERM)",
        "os.killpg(group, 9)",
        "process.terminate()",
        "getattr(signal, 'pidfd_send_signal')(descriptor, 15)",
        "import socket\nserver.bind(('', 80))",
    ],
)
def test_the_check_itself(source: str) -> None:
    assert offences(source)


def test_every_exception_is_still_needed() -> None:
    for where, allowed in SIGNALLED.items():
        used = (CHECKOUT / where).read_text(encoding="utf-8")
        assert all(name in used for name in allowed), where
    assert offences("os.kill(pid, 9)", "tui/commands/attach.py") == ["os.kill"], "only signal 0"
