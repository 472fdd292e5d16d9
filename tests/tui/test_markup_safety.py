"""Foreign text must never be read as markup: no widget that parses markup gets anything but a literal."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import tui

FOLDER = Path(tui.__file__).parent
FILES = sorted(FOLDER.rglob("*.py"))
PARSING = {
    "Static",
    "Label",
    "Button",
    "Checkbox",
    "Collapsible",
    "Markdown",
    "RichLog",
    "Tooltip",
    "OptionList",
    "Tree",
}
METHODS = {"update", "notify", "add_row", "add_option", "add_column", "from_markup", "write_line"}
ATTRIBUTES = {"border_title", "border_subtitle", "tooltip"}
RECEIVERS_WITHOUT_MARKUP = {"dict", "set", "hashlib"}


def offences(tree: ast.AST) -> list[int]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if (name in PARSING or name in METHODS) and node.args and not _harmless(node):
                found.append(node.lineno)
        elif isinstance(node, ast.Assign) and not isinstance(node.value, ast.Constant):
            found += [node.lineno for one in node.targets if isinstance(one, ast.Attribute) and one.attr in ATTRIBUTES]
    return found


def _harmless(node: ast.Call) -> bool:
    if any(
        word.arg == "markup" and isinstance(word.value, ast.Constant) and word.value.value is False
        for word in node.keywords
    ):
        return True
    first = node.args[0]
    if isinstance(first, ast.Constant):
        return True
    if isinstance(first, ast.Call) and getattr(first.func, "id", getattr(first.func, "attr", "")) in (
        "Text",
        "Content",
    ):
        return True
    # `update` is also the word of reducers and dictionaries, which show nothing.
    return isinstance(node.func, ast.Attribute) and node.func.attr == "update" and not _is_widget(node.func.value)


def _is_widget(receiver: ast.expr) -> bool:
    if isinstance(receiver, ast.Call):
        return getattr(receiver.func, "attr", "") in ("query_one", "query")
    name = receiver.attr if isinstance(receiver, ast.Attribute) else getattr(receiver, "id", "")
    return any(word in name.lower() for word in ("static", "label", "widget", "panel", "screen"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_no_variable_text_reaches_a_widget_that_parses_markup(path: Path) -> None:
    assert offences(ast.parse(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    ("source", "bad"),
    [
        ("Static(name)", True),
        ("Static('fixed')", False),
        ("Static(Text(name))", False),
        ("Label(f'{name}')", True),
        ("Static(name, markup=False)", False),
        ("self.notify(words)", True),
        ("self.query_one(Static).update(words)", True),
        ("panel.update(words)", True),
        ("self.tracker.update(message)", False),
        ("w.border_title = name", True),
        ("w.border_title = 'fixed'", False),
    ],
)
def test_the_check_itself(source: str, bad: bool) -> None:
    assert bool(offences(ast.parse(source))) is bad


def test_no_table_or_sparkline_of_textual_is_used() -> None:
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        assert "DataTable" not in text.replace("not `DataTable`", "")
        assert "Sparkline" not in text
