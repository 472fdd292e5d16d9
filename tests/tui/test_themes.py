from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from textual.color import Color

from tui.theme.loader import ThemeError, default_theme, load_themes, own_folder, parse_theme, read_theme
from tui.theme.palette import GROUNDS, MEANINGS, ROLES, Palette

FILES = sorted(Path(own_folder()).glob("*.toml"))
TEXT = ("ink", "label", "title", "key", "own", "free", "warn", "critical")
BARS = ("load-high", "load-low", "history", "memory-bar", "memory-high", "progress-bar", "loss-line", "pace-line")


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2.1."""

    def luminance(value: str) -> float:
        channels = [part / 255 for part in Color.parse(value).rgb]
        parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in channels]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_there_are_four_themes() -> None:
    assert [path.stem for path in FILES] == ["traintop-ansi", "traintop-contrast", "traintop-dark", "traintop-light"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_text_and_bars_stand_out(path: Path) -> None:
    theme = read_theme(str(path))
    assert theme.name == path.stem
    if theme.ansi:
        assert all(theme.variables[name].startswith("ansi_") for name in MEANINGS)
        return
    assert set(MEANINGS) <= set(theme.variables)
    grounds = [theme.background or "", *(theme.variables[name] for name in GROUNDS.values() if name in theme.variables)]
    for ground in grounds:
        for name in TEXT:
            assert contrast(theme.variables[name], ground) >= 4.5, (name, ground)
        for name in BARS:
            assert contrast(theme.variables[name], ground) >= 3, (name, ground)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_role_has_a_style(path: Path) -> None:
    theme = read_theme(str(path))
    palette = Palette({"background": theme.background or "", **theme.variables})
    for role in ROLES:
        for ground in GROUNDS:
            palette.style(role, ground)
    assert palette.style("text", "selected") != palette.style("text", "")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name = x\n", "line 1"),
        ('name = "x"', "`colors.primary` is missing"),
        ('nam = "x"', "`nam` is not a key"),
        ('name = "x"\ndark = 1\n[colors]\nprimary = "red"', "`dark` must be true or false"),
        ('name = "x"\n[colors]\nprimary = "redd"', "`colors.primary` is no colour"),
        ('name = "x"\n[colors]\nprimary = 3', "`colors.primary` must be a colour in quotes"),
        ('name = "x"\n[colors]\nprimary = "red"\n[meaning]\nmemroy = "red"', "`meaning.memroy` is not a key"),
        ('name = ""\n[colors]\nprimary = "red"', "`name` must be"),
        ('name = "x"\ncolors = 3', "`colors` must be a table"),
    ],
)
def test_a_broken_theme_is_told_by_key_or_line(text: str, words: str) -> None:
    with pytest.raises(ThemeError, match=re.escape(words)):
        parse_theme(text)


def test_broken_user_themes_are_reported_and_skipped(tmp_path: Path) -> None:
    (tmp_path / "good.toml").write_text('name = "mine"\n[colors]\nprimary = "#336699"\n', encoding="utf-8")
    (tmp_path / "bad.toml").write_text("name = x\n", encoding="utf-8")
    (tmp_path / "latin.toml").write_bytes(b'name = "\xe9"\n')
    (tmp_path / "huge.toml").write_bytes(b"#" * 70_000)
    (tmp_path / "folder.toml").mkdir()
    loaded = load_themes([str(tmp_path), os.path.join(str(tmp_path), "absent")])
    assert "mine" in {theme.name for theme in loaded.themes}
    assert len(loaded.themes) == 5
    assert len(loaded.problems) == 4
    assert any("bad.toml" in problem and "line 1" in problem for problem in loaded.problems)


def test_the_default_suits_the_terminal() -> None:
    assert default_theme(light=False, colors=1 << 24, no_color=False) == "traintop-dark"
    assert default_theme(light=True, colors=256, no_color=False) == "traintop-light"
    assert default_theme(light=True, colors=16, no_color=False) == "traintop-ansi"
    assert default_theme(light=False, colors=256, no_color=True) == "traintop-ansi"
