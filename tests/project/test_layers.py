"""What may be imported by whom, seen from a fresh interpreter and from the sources."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
CODE = [path for folder in ("traintop", "monitor", "advisor", "tui") for path in (CHECKOUT / folder).rglob("*.py")]
NOTHING_IN_PARTICULAR = {"utils", "util", "helpers", "helper", "misc", "common", "manager"}


def modules_after(statement: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after `statement`."""
    program = f"import sys; sys.path.insert(0, {str(CHECKOUT)!r})\n{statement}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import tui.view", {"textual", "rich", "torch", "pynvml"}),
        ("import advisor.assess", {"textual", "rich", "torch", "pynvml", "psutil"}),
        ("import monitor.agent.main", {"textual", "rich", "torch", "asyncio"}),
        ("import tui.start", {"textual", "click", "torch", "asyncio"}),
    ],
)
def test_heavy_modules_stay_away(statement: str, absent: set[str]) -> None:
    assert not modules_after(statement) & absent


@pytest.mark.parametrize("path", CODE, ids=lambda path: str(path.relative_to(CHECKOUT)))
def test_sources_keep_the_rules(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    relative = path.relative_to(CHECKOUT)
    assert path.stem not in NOTHING_IN_PARTICULAR
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 500, "more than one thing in one file?"
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert (node.end_lineno or 0) - node.lineno < 60, f"{node.name} does more than one thing?"
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        for name in names:
            top = name.split(".")[0]
            assert top != "textual" or relative.parts[0] == "tui"
            assert top != "pynvml" or relative.parts[:2] == ("monitor", "nvml")
