from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from monitor.types.messages import Bye
from monitor.types.requests import Release, Tail, Watch
from monitor.types.run import RunMember
from tests.tui import parts, scenes
from tests.tui.apps import app_of, panel_text, show, source_of
from tui.app.app import TraintopApp
from tui.app.feed import ViewReady
from tui.screens.confirm import ConfirmScreen
from tui.screens.copy import CopyScreen
from tui.screens.help import HelpScreen
from tui.view import ViewBuilder


async def test_the_own_run_is_selected_at_the_start_and_the_detail_is_its() -> None:
    app = app_of()
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot, "eight")
        assert app.overview.looking.run == "run-4711"
        assert "▸A" in panel_text(app, "runs")
        assert "A llama3-8b-sft" in panel_text(app, "tabs")
        assert "12,400 of 40,000" in panel_text(app, "detail")


async def test_nothing_is_painted_before_the_first_snapshot() -> None:
    app = app_of()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        assert panel_text(app, "header") == ""
        app.overview.begin()
        assert "waiting for the first answer" in panel_text(app, "header")


async def test_keys_move_between_panels_and_lines() -> None:
    app = app_of()
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot, "eight")
        await pilot.press("down")
        assert app.overview.looking.run == "group:sweep"
        await pilot.press("enter")
        assert "sweep lr=3e-5" in panel_text(app, "runs")
        await pilot.press("down", "down", "down", "down", "down")
        assert app.overview.looking.run == "run-5104"
        await pilot.press("enter")
        assert app.overview.looking.run == "group:sweep"
        await pilot.press("home")
        assert app.overview.looking.run == "run-4711"
        await pilot.press("tab")
        assert app.overview.looking.area == "gpus"
        await pilot.press("end")
        assert "GPU 7" in panel_text(app, "tabs")
        assert "free   at least since" in panel_text(app, "detail")
        await pilot.press("k")
        assert "GPU 6" in panel_text(app, "tabs")


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("1", "Looked at today"),
        ("2", "highest sampled"),
        ("3", "Ways to its step"),
        ("4", "trainer 0"),
        ("5", "Asking"),
    ],
)
async def test_the_tabs(key: str, words: str) -> None:
    app = app_of()
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot, "eight")
        await pilot.press(key)
        assert words in panel_text(app, "detail")
        await pilot.press("right", "left")
        assert words in panel_text(app, "detail")


async def test_the_agent_is_asked_only_for_what_is_shown() -> None:
    app = app_of()
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot, "eight")
        sent = source_of(app).sent
        assert sent == [Watch(view="overview")]
        await show(pilot, "eight")
        assert len(sent) == 1, "asked once, not each tick"
        await pilot.press("5")
        process = parts.process(4711)
        assert sent[1:] == [Watch(view="log"), Tail(process=process, max_bytes=32768)]
        await pilot.press("shift+tab")
        uuid = parts.gpu(0).uuid
        assert sent[3:] == [Watch(view="gpu", gpu_uuids=(uuid,)), Tail(process=process, max_bytes=0)]
        await pilot.press("1")
        assert sent[-1] == Watch(view="overview")


async def test_the_filter_is_typed_live_and_escape_takes_it_away() -> None:
    app = app_of()
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot, "shared")
        await pilot.press("slash", *"unet")
        await pilot.pause()
        assert "unet-seg" in panel_text(app, "runs")
        assert "bert" not in panel_text(app, "runs")
        await pilot.press("enter")
        assert app.overview.looking.text_filter == "unet"
        await pilot.press("slash", "escape")
        await pilot.pause()
        assert "bert" in panel_text(app, "runs")
        await pilot.press("m")
        assert "unet" not in panel_text(app, "runs")
        await pilot.press("escape", "u")
        assert app.overview.looking.user == "ada"
        await pilot.press("u")
        assert "vllm" in panel_text(app, "runs")
        assert "bert" not in panel_text(app, "runs")


async def test_keys_typed_into_the_filter_do_nothing_else() -> None:
    app = app_of()
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot, "eight")
        await pilot.press("slash", "q", "t", "1")
        assert app.is_running
        assert app.overview.looking.text_filter == "qt1"
        assert app.theme == "traintop-dark"


async def test_the_cursor_stays_on_its_run_when_lines_come_and_go() -> None:
    app = app_of()
    view = scenes.view_of("shared")
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot, view)
        await pilot.press("down", "down")
        assert app.overview.looking.run == "run-921"
        await show(pilot, replace(view, runs=(parts.run("newcomer", (77,), mine=True), *view.runs)))
        assert app.overview.looking.run == "run-921"
        await show(pilot, replace(view, runs=tuple(run for run in view.runs if run.run_id != "run-901")))
        assert app.overview.looking.run == "run-921"
        await show(pilot, replace(view, runs=tuple(run for run in view.runs if run.run_id != "run-921")))
        assert app.overview.looking.run == "run-901"
        assert panel_text(app, "runs").count("\n") == 5


def chosen_process(app: TraintopApp) -> str:
    line = next(line for line in panel_text(app, "detail").splitlines() if "▸" in line)
    return line.split()[2]


async def test_the_selected_process_stays_the_same_when_others_come() -> None:
    app = app_of()
    view = scenes.view_of("eight")
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot, view)
        await pilot.press("4", "tab", "down", "down", "down")
        assert chosen_process(app) == "4714"
        first, *rest = view.runs
        members = (RunMember(process=parts.process(99), role="trainer", rank=-1), *first.members)
        await show(pilot, replace(view, runs=(msgspec.structs.replace(first, members=members), *rest)))
        assert chosen_process(app) == "4714"
        await show(pilot, replace(view, runs=(msgspec.structs.replace(first, members=first.members[:2]), *rest)))
        assert chosen_process(app) == "4711"


async def test_an_own_run_that_starts_later_is_selected_until_somebody_moves() -> None:
    app = app_of()
    view = scenes.view_of("eight")
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot, replace(view, runs=view.runs[1:]))
        assert app.overview.looking.run == "group:sweep"
        await show(pilot, view)
        assert app.overview.looking.run == "run-4711"


async def test_histories_widen_by_themselves_until_a_window_is_chosen() -> None:
    app = app_of()
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot, scenes.view_of("eight", 10))
        assert "−15 s" in panel_text(app, "gpus")
        await show(pilot, scenes.view_of("eight", 45))
        assert "−1 min" in panel_text(app, "gpus")
        await show(pilot, "eight")
        assert "−2 min" in panel_text(app, "gpus")
        await pilot.press("w")
        assert "−30 min" in panel_text(app, "gpus")
        await show(pilot, "eight")
        assert "−30 min" in panel_text(app, "gpus")


async def test_pause_holds_the_picture_and_goes_on_with_the_newest() -> None:
    app = app_of()
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot, scenes.view_of("eight", 30))
        await pilot.press("p")
        assert "paused" in panel_text(app, "header")
        before = panel_text(app, "gpus")
        await show(pilot, "eight")
        assert panel_text(app, "gpus") == before
        await pilot.press("p")
        assert panel_text(app, "gpus") != before
        assert "paused" not in panel_text(app, "header")


async def test_help_shows_every_key_on_one_small_screen() -> None:
    app = app_of(allow_signals=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await show(pilot, "eight")
        await pilot.press("question_mark")
        assert isinstance(app.screen, HelpScreen)
        await pilot.press("escape")
        assert not isinstance(app.screen, HelpScreen)


async def test_copying_sends_it_and_shows_it_plain() -> None:
    app = app_of()
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot, "hostile")
        await pilot.press("y")
        assert isinstance(app.screen, CopyScreen)
        assert app.clipboard == app.screen.plain_text
        assert "python [/foo] x" in app.clipboard
        await pilot.press("escape")
        assert not isinstance(app.screen, CopyScreen)


async def test_signals_are_off_unless_allowed() -> None:
    app = app_of()
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot, "eight")
        await pilot.press("4", "x", "x")
        assert not isinstance(app.screen, ConfirmScreen)
        assert app.overview.looking.area == "runs"


async def test_a_signal_that_cannot_be_is_refused_in_words() -> None:
    app = app_of(allow_signals=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot, "eight")
        await pilot.press("x")
        assert app.overview.looking.area == "detail"
        await pilot.press("x")
        assert "not from this machine" in panel_text(app, "footer")
        assert not isinstance(app.screen, ConfirmScreen)


async def test_a_click_selects_and_the_wheel_moves() -> None:
    app = app_of()
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot, "eight")
        await pilot.click("#runs", offset=(10, 2))
        assert app.overview.looking.run == "group:sweep"
        await pilot.click("#gpus", offset=(10, 7))
        assert "GPU 6" in panel_text(app, "tabs")
        await pilot.click("#runs", offset=(10, 1))
        column = panel_text(app, "tabs").index("3 Steps")
        await pilot.click("#tabs", offset=(column + 2, 0))
        assert app.overview.looking.tab == 2


async def test_themes_change_without_losing_the_picture() -> None:
    app = app_of()
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot, "eight")
        before = panel_text(app, "gpus")
        seen = set()
        for _ in range(4):
            await pilot.press("t")
            seen.add(app.theme)
        assert seen == {"traintop-ansi", "traintop-contrast", "traintop-dark", "traintop-light"}
        app.theme = "nord"  # knows nothing of our meanings
        await pilot.pause()
        assert panel_text(app, "gpus") == before


async def test_an_unknown_theme_is_said_and_replaced() -> None:
    app = app_of(theme="nope")
    async with app.run_test(size=(160, 40)) as pilot:
        await show(pilot, "eight")
        assert "There is no theme 'nope'" in panel_text(app, "footer")
        assert app.theme == "traintop-dark"


async def test_our_themes_are_known_by_their_short_names() -> None:
    app = app_of(theme="light")
    async with app.run_test(size=(120, 40)):
        assert app.theme == "traintop-light"
        assert not any("theme" in notice for notice in app.notices)


async def test_q_quits_at_once_and_lets_go_of_the_source() -> None:
    app = app_of()
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot, "eight")
        await pilot.press("q")
    assert source_of(app).closed
    assert not app.is_running


@pytest.mark.parametrize("key", ["1", "question_mark", "slash", "y", "ctrl+p"])
async def test_interrupt_leaves_from_anywhere(key: str) -> None:
    app = app_of()
    async with app.run_test(size=(80, 24)) as pilot:
        await show(pilot, "one")
        await pilot.press(key, "ctrl+c")
    assert app.return_code == 0
    assert source_of(app).closed


async def test_resizing_keeps_everything_in_place() -> None:
    app = app_of()
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot, "eight")
        for size in ((80, 24), (60, 15), (200, 60), (30, 8), (120, 40)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
        assert "8 × H100" in panel_text(app, "header")
        assert panel_text(app, "gpus").count("\n") == 8


async def test_the_end_of_the_stream_is_said_and_the_last_picture_kept() -> None:
    app = app_of()
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot, "eight")
        source_of(app).on_end("the agent has ended")
        await pilot.pause()
        assert "stream ended: the agent has ended" in panel_text(app, "header")
        assert "llama3-8b-sft" in panel_text(app, "runs")


async def test_messages_of_the_stream_reach_the_screen() -> None:
    app = app_of()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        for message in scenes.scene("eight").messages()[:6]:
            source_of(app).on_message(message)
        await pilot.pause()
        assert "node07" in panel_text(app, "header")
        assert panel_text(app, "gpus").count("\n") == 8
        source_of(app).on_message(Bye(taken_s=0, boot_s=0))
        await pilot.pause()
        assert app.is_running


async def test_the_gpus_can_be_let_go_from_the_palette_only() -> None:
    app = app_of()
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot, "eight")
        titles = [command.title for command in app.get_system_commands(app.screen)]
        assert "Let go of the GPUs, so that the driver can be reloaded" in titles
        app.overview.do("release")
        assert Release(released=True) in source_of(app).sent


async def test_hostile_names_stay_literal_on_every_tab() -> None:
    app = app_of()
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot, "hostile")
        for key in ("1", "2", "3", "4", "5", "down", "down", "down", "shift+tab"):
            await pilot.press(key)
        assert "[bold] H100[/] [/x]" in panel_text(app, "header")
        assert "run [@click=app." in panel_text(app, "runs")


async def test_without_utf8_nothing_but_ascii_is_sent() -> None:
    app = app_of(ascii_only=True)
    written: list[str] = []
    async with app.run_test(size=(120, 40)) as pilot:
        app.written = written.append
        for name in scenes.SCENES:
            await show(pilot, name)
        for key in ("question_mark", "escape", "y", "escape", "slash", "escape", "ctrl+p", "down", "escape", "2", "3"):
            await pilot.press(key)
            await pilot.pause()
    assert len("".join(written)) > 10_000
    assert "".join(written).isascii()


async def test_a_message_that_cannot_be_taken_in_is_said_and_the_picture_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_builder: ViewBuilder, _message: object) -> None:
        raise KeyError("[/x]\x1b]0;t")

    app = app_of()
    monkeypatch.setattr(ViewBuilder, "update", broken)
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot, "eight")
        source_of(app).on_message(Bye(taken_s=0, boot_s=0))
        await pilot.pause()
        assert "A Bye could not be taken in: KeyError" in panel_text(app, "footer")
        assert "\x1b" not in panel_text(app, "footer")
        assert "llama3-8b-sft" in panel_text(app, "runs")


def test_only_the_newest_view_waits_to_be_painted() -> None:
    assert ViewReady(scenes.view_of("one")).can_replace(ViewReady(scenes.view_of("eight")))
