"""What the documents name is there, and what is there is named."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tui.commands.root import COMMANDS
from tui.outputs.schemas import OUTPUTS
from tui.settings.schema import MAX_INTERVAL_S, MIN_INTERVAL_S, SETTINGS
from tui.theme.loader import BASE, parse_theme
from tui.theme.palette import MEANINGS
from tui.widgets.looking import SORTS, WINDOWS

CHECKOUT = Path(__file__).resolve().parents[2]
DOCUMENTS = [*CHECKOUT.glob("*.md"), *(CHECKOUT / "docs").rglob("*.md")]
FOLDERS = ("traintop", "tui", "advisor", "monitor", "themes", "tests", "benchmarks", "docs")


def text_of(name: str) -> str:
    return (CHECKOUT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(CHECKOUT)))
def test_links_and_paths_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:)([^)#\s]+)", text)
    named = re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./]*)`", text)
    missing = [link for link in links if not (path.parent / link).exists()]
    missing += [name for name in named if not (CHECKOUT / name).exists()]
    assert missing == []


def imported_parts(folder: Path) -> set[str]:
    """The other folders of the monitor that the modules of one import."""
    found: set[str] = set()
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").count(".") > 1:
                top, part = (node.module or "").split(".")[:2]
                found |= {part} if top == "monitor" else set()
    return found - {folder.name}


def test_the_table_of_folders_says_what_imports_what() -> None:
    rows = re.findall(r"^\| `monitor/(\w+)` \|.*\| (.+) \|$", text_of("docs/architecture.md"), re.MULTILINE)
    told = {name: set(re.findall(r"`(\w+)`", allowed)) for name, allowed in rows}
    folders = [path.parent for path in (CHECKOUT / "monitor").glob("*/__init__.py")]
    assert told.keys() == {folder.name for folder in folders}
    for folder in folders:
        below = [path for path in folder.rglob("*") if path.is_dir() and path.name != "__pycache__"]
        used = {part for one in (folder, *below) for part in imported_parts(one)} - {folder.name}
        assert used == told[folder.name], folder.name


def test_the_readme_names_every_command_and_no_other() -> None:
    rows = re.findall(r"^\| `traintop (\w+)", text_of("README.md"), re.MULTILINE)
    assert {*rows, "agent"} == {name for name, _, _ in COMMANDS}


def test_every_setting_is_told_with_its_values() -> None:
    text = text_of("docs/settings.md")
    table = text.partition("## Settings")[2].partition("## Themes")[0]
    assert re.findall(r"^\| `(\w+)`", table, re.MULTILINE) == [one.name for one in SETTINGS]
    words = (*SORTS, *(window.words for window in WINDOWS))
    assert [word for word in words if f'`"{word}"`' not in table] == []
    assert f"{MIN_INTERVAL_S:g} to {MAX_INTERVAL_S:g}" in table


def test_the_form_of_a_theme_is_told_in_full_and_its_example_is_one() -> None:
    text = text_of("docs/settings.md").partition("## Themes")[2]
    listed = text.partition("- `[colors]`")[2].partition("\n\n")[0]
    assert set(re.findall(r"`([a-z-]+)`", listed)) == {*BASE, *MEANINGS}
    example = text.partition("```toml\n")[2].partition("```")[0]
    assert parse_theme(example).name == "mine"


def test_each_output_has_its_published_schema_and_no_other() -> None:
    assert {path.stem for path in (CHECKOUT / "docs" / "schemas").glob("*.json")} == {name for name, _, _ in OUTPUTS}
