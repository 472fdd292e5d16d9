from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest

from monitor.stream.agent_process import AgentProcess
from monitor.stream.child import agent_command, isolation, main_path
from monitor.stream.codec import ForeignStreamError
from monitor.stream.command_source import CommandSource
from monitor.stream.pipe_source import MAX_COMPLAINTS
from monitor.stream.source import MessageSource
from monitor.types.messages import Bye, Fault, Hello, Message, Snapshot
from monitor.types.requests import Release, Watch

PROGRAM = os.path.join(os.path.dirname(__file__), "programs", "fake_agent.py")
M = TypeVar("M", bound=Message)


class Viewer:
    """A front end that takes what a source says; `opened` sources are closed at the end."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.reasons: list[str] = []
        self.opened: list[MessageSource] = []

    def agent(self, behaviour: str) -> AgentProcess:
        source = AgentProcess(command=[sys.executable, "-I", PROGRAM, behaviour])
        self._start(source)
        return source

    def command(self, line: str) -> CommandSource:
        source = CommandSource(line)
        self._start(source)
        return source

    def fake(self, behaviour: str) -> CommandSource:
        return self.command(shlex.join([sys.executable, "-I", PROGRAM, behaviour]))

    def of(self, kind: type[M]) -> list[M]:
        return [message for message in list(self.messages) if isinstance(message, kind)]

    def until(self, condition: Callable[[], object]) -> None:
        deadline_s = time.monotonic() + 10
        while not condition():
            assert time.monotonic() < deadline_s, f"{self.messages} {self.reasons}"
            time.sleep(0.003)

    def ended(self) -> str:
        self.until(lambda: self.reasons)
        return self.reasons[0]

    def _start(self, source: MessageSource) -> None:
        self.opened.append(source)
        source.start(self.messages.append, self.reasons.append)


def has_ended(pid: int) -> bool:
    """A child of ours is dead, whether or not somebody has taken note of its status."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None
    except ChildProcessError:
        return True


@pytest.fixture
def viewer() -> Iterator[Viewer]:
    made = Viewer()
    yield made
    for source in made.opened:
        source.close()
    assert len(made.reasons) <= 1, "the end is told once"


def test_messages_come_requests_go_and_a_stop_is_heard(viewer: Viewer) -> None:
    source = viewer.agent("polite")
    viewer.until(lambda: viewer.of(Hello))
    source.send(Watch(view="gpu"))
    viewer.until(lambda: viewer.of(Fault))
    begun_s = time.monotonic()
    source.close()
    assert time.monotonic() - begun_s < 0.5
    assert viewer.reasons == [], "closing is no end that needs to be told"
    source.send(Release())
    source.close()


def test_a_child_started_early_keeps_what_it_says_until_it_is_read() -> None:
    viewer = Viewer()
    source = AgentProcess(command=[sys.executable, "-I", PROGRAM, "dies"])
    source.spawn()
    assert source.pid is not None
    os.waitid(os.P_PID, source.pid, os.WEXITED | os.WNOWAIT)  # it is over before anybody reads
    source.start(viewer.messages.append, viewer.reasons.append)
    assert viewer.ended() == "The agent was ended by signal 9."
    assert [type(message) for message in viewer.messages] == [Hello, Snapshot]
    assert source.exit_status == 1
    source.close()


def test_a_child_that_nobody_wanted_in_the_end_is_ended_at_once() -> None:
    source = AgentProcess(command=[sys.executable, "-I", PROGRAM, "deaf"])
    source.spawn()
    assert source.pid is not None
    begun_s = time.monotonic()
    source.close()
    assert time.monotonic() - begun_s < 0.5
    with pytest.raises(ProcessLookupError):
        os.kill(source.pid, 0)


def test_a_child_that_hangs_does_not_hold_the_front_end(viewer: Viewer) -> None:
    source = viewer.agent("deaf")
    viewer.until(lambda: viewer.of(Hello))
    begun_s = time.monotonic()
    for _ in range(5000):
        source.send(Watch(view="gpu", gpu_uuids=("GPU-a",) * 20))  # far more than its input pipe holds
    assert time.monotonic() - begun_s < 2
    begun_s = time.monotonic()
    source.close()
    assert time.monotonic() - begun_s < 0.9


def test_one_replacement_is_put_beside_a_child_that_hangs(viewer: Viewer) -> None:
    source = viewer.agent("deaf")
    viewer.until(lambda: len(viewer.of(Hello)) == 1)
    first = source.pid
    assert source.replace() is True
    viewer.until(lambda: len(viewer.of(Hello)) == 2)
    assert source.pid != first
    assert source.replace() is False, "the first still hangs: two are enough"
    assert first is not None
    os.kill(first, signal.SIGKILL)
    deadline_s = time.monotonic() + 5
    while not source.replace():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)
    viewer.until(lambda: len(viewer.of(Hello)) == 3)
    assert viewer.reasons == [], "the end of one that was given up is nobody's concern"


def test_a_crash_is_one_sentence_without_a_traceback(viewer: Viewer) -> None:
    source = viewer.agent("crashes")
    assert viewer.ended() == "The agent ended with status 1: ModuleNotFoundError: No module named 'msgspec'"
    assert source.exit_status == 1
    assert not any("Traceback" in fault.sentence for fault in viewer.of(Fault)[-1:])


def test_hostile_complaints_are_cleaned_and_bounded(viewer: Viewer) -> None:
    viewer.agent("mumbles")
    assert viewer.ended() == ""
    faults = viewer.of(Fault)
    assert 2 <= len(faults) <= MAX_COMPLAINTS
    for fault in faults:
        assert len(fault.sentence) < 400
        assert fault.sentence.isprintable()
        assert fault.key == "agent-stderr"
        assert fault.boot_s in (0.0, 1000.0, 1001.0)


def test_an_agent_that_leaves_by_itself_says_why(viewer: Viewer) -> None:
    source = viewer.agent("leaves")
    assert viewer.ended() == "The agent has ended: interrupted."
    assert source.exit_status == 0


def test_unknown_and_broken_lines_are_skipped(viewer: Viewer) -> None:
    viewer.agent("unknown")
    viewer.until(lambda: viewer.of(Snapshot))
    assert [type(message) for message in viewer.messages[:2]] == [Hello, Snapshot]


def test_a_child_without_a_word_and_one_that_cannot_start(viewer: Viewer) -> None:
    source = viewer.agent("silent")
    assert viewer.ended() == "The agent ended without a message."
    assert source.exit_status == 2
    missing = AgentProcess(command=["/no/such/python"])
    reasons: list[str] = []
    missing.start(viewer.messages.append, reasons.append)
    assert reasons == ["The agent cannot be started: No such file or directory."]
    missing.close()


def test_the_child_has_a_session_of_its_own(viewer: Viewer) -> None:
    source = viewer.agent("session")
    viewer.until(lambda: viewer.of(Fault))
    assert viewer.of(Fault)[0].sentence == str(source.pid)


@pytest.mark.parametrize(("behaviour", "word"), [("newer", "protocol 2")])
def test_another_protocol_ends_with_status_2_and_the_child_is_not_kept(
    viewer: Viewer, behaviour: str, word: str
) -> None:
    source = viewer.fake(behaviour)
    assert word in viewer.ended()
    assert source.exit_status == 2


def test_a_command_may_greet_before_the_stream_begins(viewer: Viewer) -> None:
    source = viewer.fake("greets")
    viewer.until(lambda: viewer.of(Hello))
    source.send(Watch(view="gpu"))
    viewer.until(lambda: viewer.of(Fault))
    assert viewer.reasons == [], "the greeting ended nothing"


def test_an_agent_that_says_something_foreign_is_refused(viewer: Viewer) -> None:
    source = viewer.agent("foreign")
    assert viewer.ended().startswith("The agent: This is not a traintop stream")
    assert source.exit_status == 2


def test_a_command_that_fails_says_what_it_wrote(viewer: Viewer) -> None:
    source = viewer.command("sh -c 'echo ssh: connect to host node07 port 22: refused >&2; exit 255'")
    assert viewer.ended() == ("The command sh ended with status 255: ssh: connect to host node07 port 22: refused")
    assert source.exit_status == 1


def test_a_command_line_is_no_shell_line(viewer: Viewer, tmp_path: os.PathLike[str]) -> None:
    trap = os.path.join(tmp_path, "trap")
    viewer.command(f"echo $(touch {trap}); touch {trap}")
    assert "ended without a message" in viewer.ended()
    assert not os.path.exists(trap)
    reasons: list[str] = []
    missing = CommandSource("/no/such/command agent")
    missing.start(viewer.messages.append, reasons.append)
    assert reasons == ["The command /no/such/command cannot be started: No such file or directory."]
    for line in ("", "   ", "ssh 'node07"):
        with pytest.raises(ForeignStreamError, match="--from"):
            CommandSource(line)


def test_closing_while_messages_come_lets_none_come_after() -> None:
    viewer = Viewer()
    source = viewer.agent("polite")
    stop = threading.Event()

    def chatter() -> None:
        while not stop.is_set():
            source.send(Watch(view="gpu"))

    talker = threading.Thread(target=chatter, daemon=True)
    talker.start()
    viewer.until(lambda: len(viewer.of(Fault)) > 20)
    source.close()
    count = len(viewer.messages)
    stop.set()
    talker.join()
    time.sleep(0.05)
    assert len(viewer.messages) == count
    assert viewer.of(Bye) == []


def test_the_agent_is_run_by_its_path_and_isolated() -> None:
    command = agent_command(("--interval", "2"))
    assert command[0] == sys.executable
    assert command[-3:] == ["agent", "--interval", "2"]
    assert os.path.isfile(main_path())
    assert main_path() in command


def test_dependencies_from_the_users_own_site_or_from_pythonpath_are_still_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import msgspec

    folder = os.path.dirname(os.path.dirname(msgspec.__file__))
    site = type(sys)("site")
    site.ENABLE_USER_SITE, site.USER_SITE = True, folder  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "site", site)
    assert isolation() == ("-E",)
    site.USER_SITE = "/home/me/.local/lib"  # type: ignore[attr-defined]
    assert isolation() == ("-I",)
    monkeypatch.setenv("PYTHONPATH", f"/elsewhere:{folder}")
    assert isolation() == ()


def test_starting_the_agent_loads_nothing_slow() -> None:
    """The child is started before anything else is imported: these modules must not drag the rest in."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    code = (
        f"import sys; sys.path.insert(0, {root!r})\n"
        "import monitor.stream.agent_process\n"
        "slow = {'msgspec', 'psutil', 'asyncio', 'textual', 'click', 'json', 'typing_extensions'}\n"
        "print(sorted(slow & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout.strip() == "[]"


def test_an_agent_that_is_killed_is_replaced_once_and_told_what_is_looked_at(
    viewer: Viewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("monitor.stream.agent_process.WORTH_REPLACING_S", 0.0)
    source = viewer.agent("polite")
    viewer.until(lambda: viewer.of(Hello))
    source.send(Watch(view="gpu"))
    viewer.until(lambda: len(viewer.of(Fault)) == 1)
    first = source.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    viewer.until(lambda: len(viewer.of(Fault)) == 3)
    told = next(fault for fault in viewer.of(Fault) if fault.key == "agent-replaced")
    assert told.sentence.startswith("The agent was ended by signal 9. Another one has taken its place")
    assert [fault.key for fault in viewer.of(Fault)].count("echo") == 2, "the replacement was told what is shown"
    second = source.pid
    assert second not in (None, first)
    os.kill(second or 0, signal.SIGKILL)
    assert viewer.ended() == "The agent was ended by signal 9."
    assert source.exit_status == 1


def test_an_agent_that_ends_at_once_is_not_tried_again(viewer: Viewer) -> None:
    viewer.agent("dies")
    assert viewer.ended() == "The agent was ended by signal 9."
    assert len(viewer.of(Hello)) == 1


def test_an_agent_that_falls_silent_is_replaced(viewer: Viewer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("monitor.stream.agent_process.WORTH_REPLACING_S", 0.0)
    monkeypatch.setattr("monitor.stream.agent_process.SILENT_S", 0.05)
    monkeypatch.setattr("monitor.stream.pipe_source.SILENCE_LOOK_S", 0.1)
    source = AgentProcess(command=[sys.executable, "-I", PROGRAM, "quick"])
    viewer.opened.append(source)
    source.start(viewer.messages.append, viewer.reasons.append)
    viewer.until(lambda: viewer.of(Hello))
    first = source.pid
    assert first is not None
    os.kill(first, signal.SIGSTOP)
    viewer.until(lambda: len(viewer.of(Hello)) == 2 and viewer.of(Fault))
    assert viewer.of(Fault)[0].sentence.startswith("The agent said nothing for")
    source.close()
    viewer.until(lambda: has_ended(first))
