"""Themes from TOML files: ours and the user's. A broken one is reported with its place and skipped."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass

from textual.color import Color, ColorParseError
from textual.theme import BUILTIN_THEMES, Theme

from tui.theme.palette import MEANINGS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DARK = "traintop-dark"
LIGHT = "traintop-light"
ANSI = "traintop-ansi"
MAX_FILE_BYTES = 64 * 1024
MAX_FILES = 64
BASE = ("primary", "secondary", "accent", "foreground", "background", "surface", "panel", "success", "warning", "error")


class ThemeError(ValueError):
    """A theme file cannot be used. The text names the key or the line."""


@dataclass(frozen=True)
class LoadedThemes:
    """All themes that could be read, and a sentence for each file that could not."""

    themes: tuple[Theme, ...]
    problems: tuple[str, ...] = ()


def own_folder() -> str:
    """Where the themes that come with traintop are, in a checkout and in an installation alike."""
    here = os.path.dirname(os.path.abspath(__file__))
    return os.path.join(os.path.dirname(os.path.dirname(here)), "themes")


def load_themes(user_folders: Iterable[str] = ()) -> LoadedThemes:
    """Our themes, then the user's; of two with one name the later one counts."""
    themes: dict[str, Theme] = {}
    problems: list[str] = []
    for folder in (own_folder(), *user_folders):
        for path in _files(folder):
            try:
                theme = read_theme(path)
            except ThemeError as error:  # noqa: PERF203 - one bad file must not hide the good ones
                problems.append(f"Theme {path} is skipped: {error}")
            else:
                themes[theme.name] = theme
    return LoadedThemes(tuple(themes.values()), tuple(problems))


def _files(folder: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names if name.endswith(".toml")][:MAX_FILES]


def read_theme(path: str) -> Theme:
    """One theme file.

    Raises:
        ThemeError: it cannot be read, is no TOML, or a key is wrong.
    """
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ThemeError(error.strerror or "it cannot be read") from error
    if len(data) > MAX_FILE_BYTES:
        raise ThemeError("it is larger than 64 KiB.")
    try:
        return parse_theme(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ThemeError("it is not UTF-8.") from error


def parse_theme(text: str) -> Theme:
    """A theme from TOML text.

    Raises:
        ThemeError: the text is no TOML, or a key is wrong; the message names it.
    """
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ThemeError(f"{error}.") from error
    known = {"name", "dark", "ansi", "colors", "meaning"}
    _only(tree, known, "")
    name = tree.get("name")
    if not isinstance(name, str) or not name.strip() or len(name) > 64 or not name.isprintable():
        raise ThemeError("`name` must be a short text.")
    dark, ansi = tree.get("dark", True), tree.get("ansi", False)
    if not isinstance(dark, bool):
        raise ThemeError("`dark` must be true or false.")
    if not isinstance(ansi, bool):
        raise ThemeError("`ansi` must be true or false.")
    colors = _colors(tree.get("colors", {}), "colors", BASE)
    if "primary" not in colors:
        raise ThemeError("`colors.primary` is missing.")
    variables = _colors(tree.get("meaning", {}), "meaning", MEANINGS)
    if ansi:  # Textual's own style sheet needs more variables than ours for these
        variables = {**BUILTIN_THEMES["ansi-dark" if dark else "ansi-light"].variables, **variables}
    return Theme(name=name, dark=dark, ansi=ansi, variables=variables, **colors)  # type: ignore[arg-type]


def _only(table: dict[str, object], known: Iterable[str], where: str) -> None:
    for key in table:
        if key not in known:
            raise ThemeError(f"`{where}{key}` is not a key of a theme.")


def _colors(table: object, where: str, known: tuple[str, ...]) -> dict[str, str]:
    if not isinstance(table, dict):
        raise ThemeError(f"`{where}` must be a table.")
    _only(table, known, f"{where}.")
    found: dict[str, str] = {}
    for key, value in table.items():
        if not isinstance(value, str):
            raise ThemeError(f"`{where}.{key}` must be a colour in quotes.")
        try:
            Color.parse(value)
        except ColorParseError as error:
            raise ThemeError(f"`{where}.{key}` is no colour: {value[:40]!r}.") from error
        found[key] = value
    return found


def default_theme(*, light: bool, colors: int, no_color: bool) -> str:
    """The theme that suits a terminal when nobody has chosen one."""
    if no_color or colors < 256:
        return ANSI
    return LIGHT if light else DARK
