"""A real process whose name, arguments, folder and log hold terminal codes and markup, watched by the real command."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands.test_real_command import MAIN
from tests.terminal.pty_session import PtySession

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="/proc is needed")]

EVIL = "\x1b]0;EVIL\x07\x1b]52;c;RVZJTA==\x1b\\\x1b]8;;http://EVIL\x1b\\\x1bPEVIL\x1b\\\x1b[2J\x9d0;EVIL\x9c\u202e[/foo][@click=app.quit]x"
PROGRAM = f"""
import sys, time
EVIL = {EVIL!r}
with open("/proc/self/comm", "wb") as comm:
    comm.write(b"\\x1b]0;EVIL\\x07[/x]")
for step in range(1, 100000):
    print(f"step {{step}}/100000 loss 1.5 {{EVIL}}", flush=True)
    time.sleep(0.05)
"""
OWN_SEQUENCE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|[=>()78][0B]?|\]22;[a-z]+(?:\x07|\x1b\\))")
"""What a screen is drawn with; of operating-system commands only the shape of the mouse pointer, which Textual sets."""


@pytest.fixture
def hostile(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    folder = tmp_path / "run[red]\x1b]0;EVIL\x07"
    folder.mkdir()
    (folder / "train_evil.py").write_text(PROGRAM, encoding="utf-8")
    with (folder / "out\x1b[2J.log").open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-X", "utf8", "train_evil.py", "--run_name", f"evil{EVIL}", f"--data={EVIL}"],
            cwd=folder,
            stdout=out,
            stderr=out,
            stdin=subprocess.DEVNULL,
        )
    yield process
    process.kill()
    process.wait()


def foreign_sequences(written: bytes) -> list[bytes]:
    """Escapes that are not those a screen is drawn with, and C1 or bidirectional controls."""
    rest = OWN_SEQUENCE.sub(b"", written)
    found = [rest[at : at + 12] for at in (match.start() for match in re.finditer(rb"\x1b", rest))]
    text = written.decode("utf-8", "replace")
    return found + [one.encode() for one in re.findall("[\x80-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", text)]


def test_nothing_of_it_reaches_the_terminal(hostile: subprocess.Popen[bytes], tmp_path: Path) -> None:
    with PtySession([sys.executable, MAIN], {"HOME": str(tmp_path)}, columns=120, rows=34) as one:
        assert one.read_until_shown("? help", 10), one.picture()
        assert one.read_until_shown("/100,000", 10), one.picture()
        for tab in b"12345":
            one.type(bytes((tab,)))
            one.read(0.4)
        assert one.read_until_shown("step ", 5), one.picture()
        assert one.read_until_shown("[/foo][@click=app.quit]x", 5), "shown as it is, not as markup"
        one.type(b"?")
        one.read(0.3)
        one.type(b"\x1b")
        one.read(0.3)
        assert hostile.poll() is None
        one.type(b"q")
        assert one.wait(5) == 0
    assert foreign_sequences(one.written) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["once"],
        ["once", "--json"],
        ["doctor"],
        ["attach", "PID", "--seconds", "1"],
        ["attach", "PID", "--seconds", "1", "--json"],
    ],
)
def test_nor_a_pipe(arguments: list[str], hostile: subprocess.Popen[bytes], tmp_path: Path) -> None:
    until_s = time.monotonic() + 5
    while not list(tmp_path.glob("run*/out*")) or not next(tmp_path.glob("run*/out*")).stat().st_size:
        assert time.monotonic() < until_s
        time.sleep(0.02)
    words = [str(hostile.pid) if word == "PID" else word for word in arguments]
    done = subprocess.run(
        [sys.executable, MAIN, *words],
        env={"HOME": str(tmp_path), "LC_ALL": "C.UTF-8"},
        capture_output=True,
        check=False,
    )
    assert done.stdout
    assert foreign_sequences(done.stdout + done.stderr) == []
    assert b"Traceback" not in done.stderr


def test_the_check_itself() -> None:
    assert foreign_sequences(b"\x1b[31mred\x1b[0m\x1b[?1049h") == []
    assert len(foreign_sequences(f"a{EVIL}".encode())) >= 5
