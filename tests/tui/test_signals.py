from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import msgspec
import pytest

from monitor.types.identity import ProcessIdentity
from monitor.types.process import Pairing
from monitor.types.run import RunMember
from tests.tui import parts, scenes
from tests.tui.apps import app_of, panel_text, show
from tui.app.signals import SignalTarget, ThisHost, refusal, send, start_ticks, target_of, this_host
from tui.screens.confirm import ConfirmScreen, paint_question
from tui.theme.palette import Palette
from tui.view import View

HERE = ThisHost(uid=1000, boot_id="b0", pid_namespace="pid:[1]")
needs_pidfd = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="this system has no pidfd")


def target(pid: int, ticks: int) -> SignalTarget:
    return SignalTarget(ProcessIdentity(pid=pid, start_ticks=ticks), "ada", "python train.py", "7 h 00 min", "trainer")


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    yield process
    process.kill()
    process.wait()


def member(view: View) -> RunMember:
    return view.runs[0].members[0]


def why_not(view: View, kind: str = "live", *, allowed: bool = True, host: ThisHost = HERE) -> str:
    return refusal(view, member(view), kind, allowed=allowed, host=host)


def with_facts(**changes: object) -> View:
    view = scenes.view_of("eight")
    identity = member(view).process
    facts = msgspec.structs.replace(view.facts[identity], **changes)
    return replace(view, facts={**view.facts, identity: facts})


def test_an_own_process_of_this_machine_may_be_asked_for() -> None:
    assert why_not(scenes.view_of("eight")) == ""


def test_everything_else_is_refused_in_words() -> None:
    view = scenes.view_of("eight")
    assert view.hello is not None
    assert view.snapshot is not None
    identity = member(view).process
    assert "--allow-signals" in why_not(view, allowed=False)
    assert "watched live" in why_not(view, "replay")
    assert "watched live" in why_not(view, "remote")
    assert "demo" in why_not(replace(view, hello=msgspec.structs.replace(view.hello, simulated=True)))
    assert "not from this machine" in why_not(view, host=replace(HERE, boot_id="b1"))
    assert "not from this machine" in why_not(view, host=replace(HERE, pid_namespace="pid:[2]"))
    assert "not from this machine" in why_not(view, host=replace(HERE, pid_namespace=""))
    assert "belongs to ada" in why_not(view, host=replace(HERE, uid=0)), "root gets no wider power"
    assert "not known whose" in why_not(replace(view, facts={}))
    assert "in a container" in why_not(with_facts(namespace_pids=(4711, 7)))
    guess = Pairing(gpu_uuid="g", driver_pid=9, process=identity, how="inferred")
    snapshot = msgspec.structs.replace(view.snapshot, pairings=(guess,))
    assert "inferred" in why_not(replace(view, snapshot=snapshot))


@needs_pidfd
def test_a_signal_reaches_the_process_that_was_shown(child: subprocess.Popen[bytes]) -> None:
    ticks = start_ticks(child.pid)
    assert ticks is not None
    assert send(target(child.pid, ticks), signal.SIGTERM) == f"SIGTERM was sent to process {child.pid}."
    assert child.wait(10) == -signal.SIGTERM


@needs_pidfd
def test_a_reused_pid_is_never_hit(child: subprocess.Popen[bytes]) -> None:
    ticks = start_ticks(child.pid)
    assert ticks is not None
    assert "another one by now" in send(target(child.pid, ticks - 1), signal.SIGKILL)
    assert "somebody else" in send(target(child.pid, ticks), signal.SIGKILL, own_uid=os.getuid() + 1)
    assert child.poll() is None


@needs_pidfd
def test_a_process_that_is_gone_is_said(child: subprocess.Popen[bytes]) -> None:
    ticks = start_ticks(child.pid) or 0
    child.kill()
    child.wait()
    assert "has ended already" in send(target(child.pid, ticks), signal.SIGTERM)
    assert start_ticks(child.pid) != ticks


@needs_pidfd
def test_the_process_is_pinned_before_it_is_checked(child: subprocess.Popen[bytes]) -> None:
    ticks = start_ticks(child.pid) or 0
    sent: list[int] = []

    def sender(_descriptor: int, number: int) -> None:
        sent.append(number)
        raise ProcessLookupError

    assert "has ended already" in send(target(child.pid, ticks), signal.SIGINT, sender=sender)
    assert sent == [signal.SIGINT]


def test_without_pidfd_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    assert "no signal is sent" in send(target(os.getpid(), 0), signal.SIGKILL)


def test_this_host_is_read() -> None:
    here = this_host()
    assert here.uid == os.getuid()
    assert here.pid_namespace.startswith("pid:[")


def test_the_question_shows_user_command_and_age_and_asks_twice_for_kill() -> None:
    view = scenes.view_of("eight")
    text = "\n".join(line.text for line in paint_question(target_of(view, member(view)), None, 76))
    for piece in ("4711", "ada", "7 h 00 min", "python train.py --model llama3-8b", "SIGINT", "SIGTERM", "SIGKILL"):
        assert piece in text
    chosen = "\n".join(line.text for line in paint_question(target_of(view, member(view)), signal.SIGKILL, 76))
    assert "nothing is saved" in chosen
    assert "send it" in chosen


async def test_a_signal_is_sent_only_after_the_second_step() -> None:
    sent: list[signal.Signals] = []

    def fake(_target: SignalTarget, number: signal.Signals) -> str:
        sent.append(number)
        return "done [/x]"

    app = app_of()
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot, "eight")
        answers: list[str | None] = []
        screen = ConfirmScreen(target(1, 1), Palette(app.get_css_variables()), fake)
        app.push_screen(screen, answers.append)
        await pilot.pause()
        await pilot.press("y")
        assert sent == []
        await pilot.press("K")
        assert sent == []
        await pilot.press("y")
        assert sent == [signal.SIGKILL]
        assert answers == ["done [/x]"]
        app.push_screen(ConfirmScreen(target(1, 1), Palette(app.get_css_variables()), fake), answers.append)
        await pilot.pause()
        await pilot.press("t", "escape")
        assert sent == [signal.SIGKILL]
        assert answers[-1] == ""


@needs_pidfd
async def test_the_whole_way_from_the_key_to_the_process(child: subprocess.Popen[bytes]) -> None:
    here = this_host()
    if not here.boot_id:
        pytest.skip("this system tells no boot id")
    ticks = start_ticks(child.pid) or 0
    process = ProcessIdentity(pid=child.pid, start_ticks=ticks)
    view = scenes.view_of("no_driver")
    assert view.hello is not None
    hello = msgspec.structs.replace(view.hello, boot_id=here.boot_id, pid_namespace=here.pid_namespace)
    facts = msgspec.structs.replace(
        parts.facts_of(child.pid, "ada", ("sleep",), mine=True), process=process, uid=here.uid
    )
    run = msgspec.structs.replace(view.runs[0], members=(RunMember(process=process, role="trainer"),))
    app = app_of(allow_signals=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot, replace(view, hello=hello, facts={process: facts}, runs=(run,)))
        await pilot.press("4", "x")
        assert isinstance(app.screen, ConfirmScreen)
        await pilot.press("t", "y")
        assert f"SIGTERM was sent to process {child.pid}" in panel_text(app, "footer")
    assert child.wait(10) == -signal.SIGTERM
