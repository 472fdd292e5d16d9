"""The installed command as a process: what is on stdout, on stderr, in the exit status, and what is left behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.terminal.pty_session import ROOT
from tui.outputs import schemas

MAIN = str(ROOT / "traintop" / "__main__.py")
TRAINER = str(ROOT / "monitor" / "simulation" / "trainer.py")
ESCAPES = b"\x1b"


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """An environment with an empty home."""
    return {**os.environ, "HOME": str(tmp_path), "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": "", "TERM": "xterm"}


def run(
    *arguments: str, env: dict[str, str], cwd: Path | None = None, seconds: float = 20
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, MAIN, *arguments],
        env=env,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=seconds,
        check=False,
    )


def one_object(command: str, output: bytes) -> dict[str, Any]:
    assert output.count(b"\n") == 1, output
    found: dict[str, Any] = json.loads(output)
    jsonschema.validate(found, schemas.schema(command))
    return found


def agents_of(pid: int) -> list[str]:
    """Living agents whose front end is this process."""
    found: list[str] = []
    for entry in os.listdir("/proc"):
        try:
            words = Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0") if entry.isdigit() else []
        except OSError:
            continue
        if b"--front-end" in words and words[words.index(b"--front-end") + 1] == str(pid).encode():
            found.append(entry)
    return found


@pytest.fixture
def training(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A real small training that writes its progress to files."""
    with (tmp_path / "train.log").open("wb") as out, (tmp_path / "train.err").open("wb") as err:
        command = [sys.executable, TRAINER, "--output_dir", "out", "--max_steps", "100000", "--step_ms", "20"]
        process = subprocess.Popen(
            [*command, "--run_name", "small-run"], cwd=tmp_path, stdout=out, stderr=err, stdin=subprocess.DEVNULL
        )
    until_s = time.monotonic() + 10
    while (tmp_path / "train.err").stat().st_size < 200 and time.monotonic() < until_s:
        time.sleep(0.05)
    yield process
    process.kill()
    process.wait()


@pytest.mark.parametrize(
    "argv",
    [[], ["once", "--json"], ["free"], ["doctor", "--json"], ["log", "/nowhere"], ["attach", "999999999"], ["--help"]],
)
def test_headless_commands_import_no_textual(argv: list[str], home: dict[str, str]) -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\nfrom tui.start import start\n"
        f"start({argv!r})\nprint('MODULES', *sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], env=home, capture_output=True, timeout=20, check=False)
    modules = set(done.stderr.split(b"MODULES", 1)[1].split())
    assert not modules & {b"textual", b"rich", b"torch", b"pynvml", b"psutil", b"asyncio"}


def test_once_json_is_one_valid_object(home: dict[str, str]) -> None:
    done = run("once", "--json", env=home)
    found = one_object("once", done.stdout)
    assert found["error"] is None
    assert done.stderr == b""
    if found["driver_state"] == "absent":
        assert done.returncode == 0
        assert found["gpus"] == []
        assert found["driver_detail"]


@pytest.mark.parametrize(
    ("argv", "command", "status"),
    [
        (["once", "--json", "--replay", "/nowhere"], "once", 2),
        (["once", "--json", "--interval", "nan"], "once", 2),
        (["attach", "999999999", "--json"], "attach", 2),
        (["log", "/nowhere", "--json"], "log", 2),
        (["free", "--json", "--from", "false"], "free", 2),
        (["doctor", "--json", "--nonsense"], "doctor", 2),
    ],
)
def test_json_is_one_object_also_when_it_fails(
    argv: list[str], command: str, status: int, home: dict[str, str]
) -> None:
    done = run(*argv, env=home)
    assert done.returncode == status
    assert one_object(command, done.stdout)["error"]
    assert done.stderr.count(b"\n") == 1
    assert b"Traceback" not in done.stderr


def test_the_demo_without_a_terminal(home: dict[str, str]) -> None:
    done = run("--demo", env={**home, "NO_COLOR": "1"})
    assert done.returncode == 0
    assert done.stderr.count(b"\n") == 1
    assert b"No live screen, because standard output is not a terminal" in done.stderr
    assert "demo-mlp" in done.stdout.decode()
    assert "8 × H100" in done.stdout.decode()
    assert ESCAPES not in done.stdout


@pytest.mark.parametrize(
    "command", [["once", "--demo", "--seconds", "1"], ["free", "--demo", "--seconds", "1"], ["doctor"]]
)
def test_ascii_only_where_there_is_no_utf8(command: list[str], home: dict[str, str]) -> None:
    env = {**home, "LC_ALL": "POSIX", "PYTHONIOENCODING": "ascii", "LANG": "C"}
    done = run(*command, env=env)
    assert done.stdout
    assert done.stdout.isascii()
    assert done.stderr == b""
    assert ESCAPES not in done.stdout


def test_free_gives_a_line_to_paste(home: dict[str, str]) -> None:
    done = run("free", "--demo", "--seconds", "1", env=home)
    assert done.returncode == 0
    assert b"CUDA_VISIBLE_DEVICES=GPU-" in done.stdout
    done = run("free", "--demo", "--seconds", "1", "-n", "9", "--json", env=home)
    assert done.returncode == 1
    found = one_object("free", done.stdout)
    assert (found["enough"], found["cuda_visible_devices"]) == (False, None)
    assert len(found["gpus"]) == 8


def test_a_lost_gpu_is_partial_data(home: dict[str, str]) -> None:
    done = run("once", "--demo", "lost", "--json", "--seconds", "1", env=home)
    found = one_object("once", done.stdout)
    states = {gpu["state"] for gpu in found["gpus"]}
    assert done.returncode == (1 if states - {"ok", "asleep"} else 0)


def test_a_pipe_that_is_closed_early_is_no_fault(home: dict[str, str]) -> None:
    command = f"'{sys.executable}' '{MAIN}' once --demo --seconds 1 | head -c 1"
    done = subprocess.run(["bash", "-c", command], env=home, capture_output=True, timeout=20, check=False)
    assert done.stderr == b""


@pytest.mark.slow
@pytest.mark.parametrize(
    "argv",
    [
        ["once", "--json"],
        ["free", "--json"],
        ["doctor", "--json"],
        ["attach", "999999999"],
        ["log", "train.log"],
        ["record", "recording", "--seconds", "0.5"],
        ["once", "--demo", "--seconds", "0.5"],
        ["--version"],
        ["agent"],
    ],
)
def test_foreign_files_of_our_names_do_no_harm(argv: list[str], home: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    (folder / "monitor").mkdir(parents=True)
    for name in (
        "monitor/__init__.py",
        "selectors.py",
        "traintop.py",
        "advisor.py",
        "tui.py",
        "msgspec.py",
        "click.py",
    ):
        (folder / f"{name}.py").write_text("raise SystemExit('a foreign file was run')\n")
    (folder / "train.log").write_text("step 3/100 loss 2.0\n")
    env = {**home, "PATH": f"/tmp/\x1b[2J[/x]:{home['PATH']}"}
    done = run(*argv, env=env, cwd=folder)
    assert b"foreign" not in done.stdout + done.stderr
    assert b"fault of its own" not in done.stderr
    assert done.returncode == (2 if argv[0] in ("attach",) or (argv[0] == "free" and _no_gpu(done.stdout)) else 0)


def _no_gpu(output: bytes) -> bool:
    found: dict[str, Any] = json.loads(output)
    return not found["gpus"]


@pytest.mark.slow
def test_attach_reads_a_real_training(training: subprocess.Popen[bytes], home: dict[str, str]) -> None:
    done = run("attach", str(training.pid), "--json", env=home)
    found = one_object("attach", done.stdout)
    assert done.returncode == 0
    assert found["step"] > 0
    assert found["total_steps"] == 100_000
    assert found["name"].split()[0] == "small-run"  # another of that name on this machine adds a "(4711)"
    assert 0.01 < found["step_seconds"] < 0.2
    assert any(source["used"] and "train.err" in source["where"] for source in found["sources"])
    shown = run("once", env={**home, "LC_ALL": "C.UTF-8"})
    assert b"small-run" in shown.stdout
    assert b"step read from tqdm in stderr" in shown.stdout


def test_attach_to_what_writes_no_steps(home: dict[str, str]) -> None:
    sleeper = subprocess.Popen(["sleep", "30"])
    try:
        done = run("attach", str(sleeper.pid), "--seconds", "1", "--json", env=home)
    finally:
        sleeper.kill()
        sleeper.wait()
    assert done.returncode == 1
    found = one_object("attach", done.stdout)
    assert found["step"] is None
    assert found["pid"] == sleeper.pid
    assert found["phase"] == "not_training"


@pytest.mark.slow
def test_attach_reads_whatever_is_named(home: dict[str, str], tmp_path: Path) -> None:
    """A shell script looks like no training; who names its pid wants to know all the same."""
    script = "i=0; while [ $i -lt 400 ]; do i=$((i+1)); echo step $i/400; sleep 0.05; done"
    with (tmp_path / "job.log").open("wb") as log:
        job = subprocess.Popen(["sh", "-c", script], stdout=log)
    try:
        done = run("attach", str(job.pid), "--seconds", "3", "--json", env=home)
    finally:
        job.kill()
        job.wait()
    found = one_object("attach", done.stdout)
    assert done.returncode == 0
    assert found["total_steps"] == 400
    assert 0.04 < found["step_seconds"] < 0.2


def test_a_recording_shows_the_same_when_replayed(home: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "recording"
    done = run("record", str(path), "--demo", "--seconds", "2", "--log", str(tmp_path / "timings"), env=home)
    assert done.returncode == 0
    assert path.stat().st_mode & 0o777 == 0o600
    found = one_object("once", run("once", "--replay", str(path), "--json", env=home).stdout)
    assert len(found["gpus"]) == 8
    # Another demo on this machine tells two runs of one name apart: "demo-mlp (4711)", "demo-mlp in folder".
    assert {run["name"].split()[0] for run in found["runs"]} >= {"demo-mlp", "llama3-8b-sft"}
    assert "driver late_s=" in (tmp_path / "timings").read_text()
    again = run("record", str(path), "--seconds", "1", env=home)
    assert again.returncode == 2
    assert b"exists already; nothing was written" in again.stderr


def test_a_stream_from_a_command(home: dict[str, str]) -> None:
    command = f"'{sys.executable}' '{MAIN}' agent --demo"
    found = one_object("once", run("once", "--from", command, "--json", env=home).stdout)
    assert found["simulated"] is True
    assert len(found["gpus"]) == 8


@pytest.mark.parametrize(
    "content", [b"", b"no recording\n", b"\x1f\x8b broken", b'{"type":"hello","protocol_major":9}\n']
)
def test_a_foreign_recording_is_one_sentence(content: bytes, home: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "foreign"
    path.write_bytes(content)
    done = run("once", "--replay", str(path), env=home)
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert str(path).encode() in done.stderr


def test_broken_settings_do_not_matter_to_the_status(home: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / ".config" / "traintop"
    folder.mkdir(parents=True)
    (folder / "settings.toml").write_text("interval = 0\n")
    found = one_object("doctor", run("doctor", "--json", env=home).stdout)
    check = next(check for check in found["checks"] if check["name"] == "settings")
    assert "line 1: interval must be" in check["detail"]
    assert run("once", env=home).returncode == run("once", env={**home, "HOME": "/nowhere"}).returncode


def test_no_agent_is_left(home: dict[str, str]) -> None:
    with subprocess.Popen([sys.executable, MAIN, "once", "--demo", "--seconds", "1"], env=home, stdout=-3) as process:
        assert process.wait(20) == 0
    until_s = time.monotonic() + 2
    while (left := agents_of(process.pid)) and time.monotonic() < until_s:
        time.sleep(0.02)
    assert left == []


def test_a_reader_that_has_gone_is_no_fault() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, MAIN, "doctor"], stdout=writing, stderr=subprocess.PIPE, timeout=30, check=False
    )
    os.close(writing)
    assert done.stderr == b""
    assert done.returncode == 0
