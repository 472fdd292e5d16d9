"""The settings file: every fault is one sentence with its place, and never more than a default."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tui.settings.location import settings_path
from tui.settings.schema import SETTINGS
from tui.settings.settings import Settings, load_settings, save_setting


def written(tmp_path: Path, text: str | bytes) -> str:
    path = tmp_path / "settings.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def test_a_missing_file_is_no_fault(tmp_path: Path) -> None:
    found = load_settings(str(tmp_path / "none.toml"))
    assert found.complaints == ()
    assert (found.interval_s, found.theme, found.mouse, found.ascii) == (1.0, None, True, None)


def test_values_are_read(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        'theme = "night"\ninterval = 2\nmouse = false\nascii = true\n',
    )
    found = load_settings(path)
    assert found.complaints == ()
    assert (found.theme, found.interval_s, found.mouse, found.ascii) == ("night", 2.0, False, True)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("\ninterval = 0\n", 2, "interval must be a number of seconds from 0.25 to 3600"),
        ("interval = nan\n", 1, "interval must be"),
        ("interval = true\n", 1, "interval must be"),
        ("theme = 3\n", 1, "theme must be a name"),
        ('theme = "\x7f"\n', None, "TOML"),
        ("# a comment\n\nmouse = 1\n", 3, "mouse must be true or false"),
        ("intervall = 2\n", 1, "did you mean 'interval'"),
        ("[gpu]\nfan = 1\n", 1, "there is no setting 'gpu'"),
        ("theme = [1]\n", 1, "theme must be a name"),
        ("theme = \n", None, "line 1"),
        ("a = 1\na = 2\n", None, "TOML"),
    ],
)
def test_a_fault_names_file_and_line_and_the_default_is_used(
    tmp_path: Path, text: str, line: int | None, words: str
) -> None:
    path = written(tmp_path, text)
    found = load_settings(path)
    assert len(found.complaints) == 1
    assert path in found.complaints[0]
    assert words in found.complaints[0]
    if line is not None:
        assert f"line {line}:" in found.complaints[0]
    assert found.values == Settings().values


def test_the_good_rest_is_still_used(tmp_path: Path) -> None:
    found = load_settings(written(tmp_path, "interval = -1\nmouse = false\n"))
    assert found.mouse is False
    assert found.interval_s == 1.0


@pytest.mark.parametrize("content", [b"\xff\xfe", b"x" * 70_000])
def test_what_is_no_text_of_ours(tmp_path: Path, content: bytes) -> None:
    found = load_settings(written(tmp_path, content))
    assert len(found.complaints) == 1


def test_a_pipe_in_its_place_does_not_hang(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    os.mkfifo(path)
    assert "regular file" in load_settings(str(path)).complaints[0]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50, deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_are_a_reason_to_fail(tmp_path: Path, content: bytes) -> None:
    assert isinstance(load_settings(written(tmp_path, content)), Settings)


def test_saving_keeps_comments_and_other_keys(tmp_path: Path) -> None:
    path = written(tmp_path, '# mine\ntheme = "day"  # nice\nmouse = false\n')
    assert save_setting(path, "theme", "night") == ""
    text = Path(path).read_text()
    assert text == '# mine\ntheme = "night"\nmouse = false\n'
    assert save_setting(path, "ascii", True) == ""
    assert load_settings(path).ascii is True
    assert [entry.name for entry in tmp_path.iterdir()] == ["settings.toml"]


def test_saving_makes_the_folder(tmp_path: Path) -> None:
    path = str(tmp_path / "new" / "settings.toml")
    assert save_setting(path, "interval", 2.5) == ""
    assert load_settings(path).interval_s == 2.5


def test_a_broken_file_is_left_alone(tmp_path: Path) -> None:
    path = written(tmp_path, "theme = \n")
    assert "left as it is" in save_setting(path, "theme", "night")
    assert Path(path).read_text() == "theme = \n"


def test_a_value_over_several_lines_is_not_torn(tmp_path: Path) -> None:
    text = 'theme = """\nnight"""\n'
    path = written(tmp_path, text)
    assert "left as it is" in save_setting(path, "theme", "day")
    assert Path(path).read_text() == text


def test_every_default_is_acceptable() -> None:
    for setting in SETTINGS:
        if setting.default is not None:
            assert setting.accept(setting.default) == setting.default


@pytest.mark.parametrize(
    ("env", "path"),
    [
        ({"XDG_CONFIG_HOME": "/c"}, "/c/traintop/settings.toml"),
        ({"XDG_CONFIG_HOME": "relative", "HOME": "/h"}, "/h/.config/traintop/settings.toml"),
        ({"HOME": "/h"}, "/h/.config/traintop/settings.toml"),
        ({}, ""),
    ],
)
def test_where_it_lies(env: dict[str, str], path: str) -> None:
    assert settings_path(env) == path


@pytest.mark.parametrize(("name", "good", "bad"), [("window", "30 min", "7 min"), ("sort", "time left", "size")])
def test_a_choice_is_one_of_those_the_screen_has(tmp_path: Path, name: str, good: str, bad: str) -> None:
    found = load_settings(written(tmp_path, f'{name} = "{good}"\n'))
    assert found.complaints == ()
    assert found.values[name] == good
    found = load_settings(written(tmp_path, f'{name} = "{bad}"\n'))
    assert found.values[name] is None
    assert f'line 1: {name} must be one of "' in found.complaints[0]
