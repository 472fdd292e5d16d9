"""What the command line is taken to mean, cheaply at first and then in full."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from tui.commands import early as early_module
from tui.commands import run as run_module
from tui.commands.choice import Choice
from tui.commands.demo import DEFAULT_PROFILE
from tui.commands.early import guessed_wish
from tui.commands.options import Duration, GpuList, Interval, Seconds, Size
from tui.commands.root import COMMANDS, traintop
from tui.commands.run import as_subcommand
from tui.commands.wish import AgentWish, told
from tui.start import EXIT_NOTHING, start
from tui.terminal.crash_note import write_crash_note


@pytest.fixture(autouse=True)
def _no_settings_of_the_developer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.mark.parametrize(
    ("argv", "wish"),
    [
        ([], AgentWish()),
        (["once", "--json"], AgentWish()),
        (["free", "-n", "2"], AgentWish()),
        (["attach", "123"], AgentWish(pid=123)),
        (["attach", "--seconds", "3", "123"], AgentWish(pid=123)),
        (["attach", "x"], None),
        (["attach"], None),
        (["--interval", "2"], AgentWish(2.0)),
        (["--interval=0.5", "--theme", "once"], AgentWish(0.5)),
        (["--demo"], AgentWish(1.0, (), DEFAULT_PROFILE, 0)),
        (["--demo", "one"], AgentWish(1.0, (), "one", 0)),
        (["once", "--demo=lost", "--seed", "7"], AgentWish(1.0, (), "lost", 7)),
        (["--interval", "nan"], None),
        (["--interval", "x"], None),
        (["--help"], None),
        (["once", "--help"], None),
        (["--version"], None),
        (["--replay", "file"], None),
        (["--from=ssh x"], None),
        (["log", "once"], None),
        (["record", "file"], None),
        (["agent"], None),
        (["plan"], None),
    ],
)
def test_the_cheap_look(argv: list[str], wish: AgentWish | None) -> None:
    assert guessed_wish(argv) == wish


def test_the_cheap_look_takes_the_interval_that_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "traintop").mkdir()
    (tmp_path / "traintop" / "settings.toml").write_text("interval = 5\n")
    assert guessed_wish([]) == AgentWish(5.0)
    assert guessed_wish(["once"]) == AgentWish(1.0)


@pytest.mark.parametrize(
    "wish", [AgentWish(), AgentWish(0.25, ("0", "3")), AgentWish(2.0, (), "lost", 7), AgentWish(pid=7)]
)
def test_a_wish_is_told_as_it_was(wish: AgentWish) -> None:
    assert told(wish.arguments()) == (wish, os.getpid())


@pytest.mark.parametrize(
    "words", [(), ("--interval", "1"), ("--front-end", "x", "--interval", "1"), ("--front-end", "1"), ("--help",)]
)
def test_other_words_go_through_the_full_command_line(words: tuple[str, ...]) -> None:
    assert told(words) is None


@given(st.lists(st.one_of(st.text(max_size=8), st.sampled_from(["--demo", "--interval", "--seed", "once", "-n", "="]))))
def test_no_command_line_is_a_reason_to_fail(argv: list[str]) -> None:
    wish = guessed_wish(argv)
    assert wish is None or told(wish.arguments()) is not None
    assert told(tuple(argv)) is None or argv[0] == "--front-end"


class _FakeAgent:
    def __init__(self) -> None:
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


def test_an_agent_that_fits_is_taken_and_another_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    def spawned(_wish: object) -> Any:
        made.append(_FakeAgent())
        return made[-1]

    monkeypatch.setattr(early_module, "spawned", spawned)
    early: Any = early_module.EarlyAgent()
    early.look(["once"])
    assert early.take(AgentWish()) is made[0]
    early.end()
    assert made[0].closed == 0
    early.look(["once"])
    assert early.take(AgentWish(2.0)) is made[2]
    assert made[1].closed == 1
    early.look(["once"])
    early.end()
    assert made[3].closed == 1


@pytest.mark.parametrize("value", ["0.1", "0", "-1", "1e9", "nan", "inf", "soon"])
def test_an_interval_out_of_bounds_names_the_bounds(value: str) -> None:
    with pytest.raises(click.BadParameter, match=r"0\.25 to 3600"):
        Interval().convert(value, None, None)


@pytest.mark.parametrize(
    ("text", "size"),
    [("40G", 40 << 30), ("40", 40 << 30), ("800M", 800 << 20), ("1.5GiB", 3 << 29), ("2tb", 2 << 40), ("7 k", 7 << 10)],
)
def test_sizes(text: str, size: int) -> None:
    assert Size().convert(text, None, None) == size


@pytest.mark.parametrize("kind", [Size(), Duration(), Seconds(), GpuList()])
@pytest.mark.parametrize("text", ["", "-1", "x", "1" * 40, "nan", "0x1", "1e999", "𝟛x"])
def test_nonsense_is_refused_with_a_sentence(kind: click.ParamType[Any], text: str) -> None:
    with pytest.raises(click.BadParameter):
        kind.convert(text, None, None)


@pytest.mark.parametrize(("text", "seconds"), [("90", 90.0), ("30m", 1800.0), ("24h", 86_400.0), ("7d", 604_800.0)])
def test_durations(text: str, seconds: float) -> None:
    assert Duration().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["0,1", "mine", "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", "3"])
def test_gpu_lists(text: str) -> None:
    assert GpuList().convert(text, None, None) == tuple(text.split(","))


def test_origins_exclude_each_other() -> None:
    with pytest.raises(click.UsageError, match="--demo and --replay exclude each other"):
        Choice(demo="eight", replay="file")
    assert Choice(from_command="ssh x").kind == "remote"


def test_once_as_a_flag_is_the_command() -> None:
    assert as_subcommand(["--once", "--json"]) == ("once", "--json")
    assert as_subcommand(["--demo"]) == ("--demo",)
    assert as_subcommand(["run", "--", "x", "--once"]) == ("run", "--", "x", "--once"), "what follows is the command's"


@pytest.mark.parametrize("name", [name for name, _, _ in COMMANDS])
def test_every_command_has_help_and_the_log_option(name: str) -> None:
    found = CliRunner().invoke(traintop, [name, "--help"], obj=early_module.EarlyAgent())
    assert found.exit_code == 0
    if name not in ("agent", "run"):  # neither has figures of its own: whoever reads the agent logs
        assert "--log FILE" in found.output


def test_help_lists_only_what_exists() -> None:
    found = CliRunner().invoke(traintop, ["--help"])
    assert found.exit_code == 0
    assert "Exit status: 0 fine" in found.output
    for later in ("plan", "oom", "advise", "wait"):
        assert f"\n  {later}" not in found.output


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["onec"], "Did you mean once?"),
        (["--intervall", "2"], "--interval"),
        (["once", "--jsn"], "--json"),
        (["--interval", "0"], "from 0.25 to 3600"),
        (["--demo", "nine"], "there is no demo profile 'nine'"),
        (["once", "--json", "--csv"], "exclude each other"),
        (["--theme", "x", "once"], "--theme belongs after the command"),
        (["attach", "abc"], "'abc' is not a whole number"),
        (["free", "--min-free", "lots"], "write for example 40G"),
        (["log"], "Missing argument"),
        (["--from", "", "--once"], "there is no command"),
        (["once", "--replay", "/nowhere/at/all"], "/nowhere/at/all: cannot be opened"),
    ],
)
def test_a_mistake_is_one_sentence_and_status_2(
    argv: list[str], words: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(early_module.EarlyAgent, "look", lambda _self, _argv: None)
    assert start(argv) == EXIT_NOTHING
    out, err = capfd.readouterr()
    assert words in err
    assert err.count("\n") == 1
    assert out.count("\n") == ("--json" in argv)


def test_a_fault_of_ours_is_a_sentence_and_a_note_without_values(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(*_: object) -> int:
        secret = "hunter2"
        raise RuntimeError(f"cannot\x1b[2J {len(secret)}")

    monkeypatch.setattr(run_module, "run", fail)
    assert start(["log", "--json", "x"]) == EXIT_NOTHING
    out, err = capfd.readouterr()
    assert err.startswith("traintop: traintop met a fault of its own (RuntimeError in test_parsing.py:")
    assert '"error":"traintop met a fault' in out
    notes = list((tmp_path / "state" / "traintop").glob("crash-*.txt"))
    assert len(notes) == 1
    text = notes[0].read_text()
    assert "hunter2" not in text
    assert "\x1b" not in text
    assert "in fail" in text
    assert notes[0].stat().st_mode & 0o777 == 0o600


def test_few_notes_are_kept(tmp_path: Path) -> None:
    env = {"XDG_STATE_HOME": str(tmp_path)}
    for _ in range(8):
        assert "a note for the maintainers is in" in write_crash_note(ValueError("x"), "once", env)
    assert len(os.listdir(tmp_path / "traintop")) == 5
    assert "could not write a note" in write_crash_note(ValueError("x"), "once", {})


def test_the_default_profile_is_the_simulations_own() -> None:
    from monitor.simulation import profiles

    assert profiles.DEFAULT_PROFILE == DEFAULT_PROFILE
    assert DEFAULT_PROFILE in profiles.PROFILES
