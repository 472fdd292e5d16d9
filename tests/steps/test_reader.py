"""Real processes that write to real files, read while they run."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from monitor.clock import ManualClock, SystemClock
from monitor.steps.formats import registry
from monitor.steps.formats.line_format import FileText, Origin
from monitor.steps.fusion import StepFusion
from monitor.steps.lines import Line
from monitor.steps.reader import StepReader
from monitor.types.facts import OpenFile, ProcessFacts
from monitor.types.identity import ProcessIdentity
from monitor.types.steps import StepEvent

TRAINER = r"""
import sys, time
start = time.time()
for n in range(1, 10**6):
    time.sleep({each})
    seconds = int(time.time() - start)
    sys.stderr.write("\r%3d%%|##   | %d/100000 [%02d:%02d<99:99, 1.00it/s, loss=%.3f]"
                     % (n // 1000, n, seconds // 60, seconds % 60, 1 / n))
    sys.stderr.flush()
    if n % 5 == 0:
        print("step %d/100000 loss %.4f" % (n, 1 / n), flush=True)
"""


def identity_of(pid: int) -> ProcessIdentity:
    data = Path(f"/proc/{pid}/stat").read_bytes()
    return ProcessIdentity(pid=pid, start_ticks=int(data[data.rfind(b")") + 1 :].split()[19]))


def facts_of(pid: int, files: dict[int, Path], kind: str = "training") -> ProcessFacts:
    roles = {1: "stdout", 2: "stderr"}
    return ProcessFacts(
        process=identity_of(pid),
        uid=os.getuid(),
        mine=True,
        kind=kind,
        open_files=tuple(
            OpenFile(descriptor=fd, kind="file", path=str(path), role=roles.get(fd, "log"))
            for fd, path in files.items()
        ),
    )


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "train.log"


class Writer:
    """A process that holds a file open as its stdout; the test writes to the file itself."""

    def __init__(self, path: Path) -> None:
        path.touch()
        with path.open("ab") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-S", "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE, stdout=file
            )
        self.path = path

    def facts(self, kind: str = "training") -> ProcessFacts:
        return facts_of(self.process.pid, {1: self.path}, kind)

    def end(self) -> None:
        self.process.communicate()


@pytest.fixture
def writer(log: Path) -> Iterator[Writer]:
    holder = Writer(log)
    yield holder
    holder.end()


def _append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def _steps(events: tuple[StepEvent, ...]) -> list[float]:
    return [event.step for event in events if event.step is not None]


def test_a_real_trainer_is_read_with_its_true_step_and_rate(tmp_path: Path) -> None:
    out, err = tmp_path / "out.log", tmp_path / "err.log"
    each_s = 0.02
    with out.open("wb") as out_file, err.open("wb") as err_file:
        trainer = subprocess.Popen(
            [sys.executable, "-S", "-c", TRAINER.replace("{each}", str(each_s))], stdout=out_file, stderr=err_file
        )
    try:
        clock, fusion = SystemClock(), StepFusion()
        reader = StepReader(clock)
        facts = (facts_of(trainer.pid, {1: out, 2: err}),)
        looks: list[tuple[float, float]] = []
        for _ in range(14):
            time.sleep(0.3)
            for event in reader.read(facts):
                fusion.update(event, clock.boot_s())
            steps = fusion.reading(clock.wall_s(), clock.boot_s())
            looks.append((time.monotonic(), steps.step or 0.0))
        assert steps.total == 100000
        assert steps.source == "tqdm"
        assert {source.source for source in steps.sources} == {"tqdm", "step_line"}
        truth = (looks[-1][0] - looks[3][0]) / (looks[-1][1] - looks[3][1])
        assert truth >= each_s
        assert steps.step_seconds == pytest.approx(truth, rel=0.1)
        assert {value.name for value in steps.values} >= {"loss"}
        assert reader.tail(facts[0].process, 2000).lines
    finally:
        trainer.kill()
        trainer.wait()


def test_the_rate_is_known_in_the_first_look_when_the_text_has_a_clock(writer: Writer) -> None:
    stamps = (f"2026-02-03 04:{n // 60:02d}:{n % 60:02d},000 step {n} loss 1.0\n" for n in range(300))
    _append(writer.path, "".join(stamps))
    events = StepReader(ManualClock()).read((writer.facts(),))
    assert len(events) < 60
    assert events[-1].evidence.endswith("loss 1.0")
    fusion = StepFusion()
    for event in events:
        fusion.update(event, 1.0)
    steps = fusion.reading(0.0, 1.0)
    assert (steps.step, steps.rate_clock) == (299, "source")
    assert steps.step_seconds == pytest.approx(1.0)


def test_stamps_of_another_zone_are_brought_to_ours(writer: Writer) -> None:
    now_s = time.time()
    behind = [now_s - 2 * 3600 - age_s for age_s in (4, 2, 0)]
    _append(writer.path, "".join(f"{s:.3f} step {n} loss 1\n" for n, s in enumerate(behind)))
    last = StepReader(SystemClock()).read((writer.facts(),))[-1]
    assert last.event_clock == "text"
    assert last.event_s == pytest.approx(now_s, abs=5)


def test_only_what_is_new_comes_and_the_files_time_dates_it(writer: Writer) -> None:
    reader, facts = StepReader(SystemClock()), (writer.facts(),)
    _append(writer.path, "step 1 loss 3\n")
    (event,) = reader.read(facts)
    assert event.event_clock == "file_time"
    assert event.event_s == pytest.approx(time.time(), abs=5)
    assert event.process == facts[0].process
    assert event.where == f"stdout → {writer.path}"
    assert reader.read(facts) == ()
    _append(writer.path, "step 2 loss 2\n")
    assert _steps(reader.read(facts)) == [2]


def test_workers_are_never_read_and_a_shared_file_is_read_once(log: Path, writer: Writer) -> None:
    _append(log, "step 1 loss 3\n")
    other = Writer(log)
    try:
        reader = StepReader(SystemClock())
        assert reader.read((writer.facts("worker"),)) == ()
        events = reader.read((other.facts("launcher"), writer.facts()))
        assert [event.process for event in events] == [writer.facts().process]
        assert reader.read((writer.facts(), other.facts("launcher"))) == ()
    finally:
        other.end()


def test_a_file_changes_hands_when_its_reader_ends(log: Path, writer: Writer) -> None:
    other = Writer(log)
    reader = StepReader(SystemClock())
    both = sorted((writer.facts(), other.facts()), key=lambda fact: fact.process.pid)
    _append(log, "step 1 loss 3\n")
    assert len(reader.read(tuple(both))) == 1
    _append(log, "step 2 loss 3\n")
    assert _steps(reader.read((both[1],))) == [2, 2]  # the last look of the first, then the file anew
    other.end()


def test_the_last_words_of_a_process_that_is_gone_are_still_read(log: Path) -> None:
    holder = Writer(log)
    reader, facts = StepReader(SystemClock()), (holder.facts(),)
    _append(log, "step 1 loss 3\n")
    reader.read(facts)
    _append(log, "Training complete\n")
    holder.end()
    assert [event.ended for event in reader.read(())] == ["finished"]
    assert reader.read(()) == ()
    assert reader.tail(facts[0].process, 1024).lines == ("step 1 loss 3", "Training complete")


def test_the_message_of_an_error_is_its_evidence_not_the_line_of_code(writer: Writer, log: Path) -> None:
    reader = StepReader(SystemClock())
    _append(log, "Traceback (most recent call last):\n    if full: raise RuntimeError('CUDA out of memory')\n")
    _append(log, "RuntimeError: CUDA out of memory\n")
    events = reader.read((writer.facts(),))
    assert [event.evidence for event in events if event.ended == "out_of_memory"] == [
        "RuntimeError: CUDA out of memory"
    ]


def test_a_reused_pid_is_another_process(writer: Writer) -> None:
    reader = StepReader(SystemClock())
    _append(writer.path, "step 1 loss 3\n")
    stale = msgspec.structs.replace(writer.facts(), process=ProcessIdentity(pid=writer.process.pid, start_ticks=1))
    assert reader.read((stale,)) == ()


def test_what_cannot_be_read_is_said_and_hides_nothing(tmp_path: Path, writer: Writer) -> None:
    _append(writer.path, "step 1 loss 3\n")
    fact = writer.facts()
    broken = OpenFile(descriptor=777, kind="file", path=str(tmp_path / "nowhere"), role="log")
    reader = StepReader(SystemClock())
    events = reader.read((msgspec.structs.replace(fact, open_files=(broken, *fact.open_files)),))
    assert _steps(events) == [1]
    (refusal,) = reader.refusals()
    assert (refusal.where, refusal.sentence) == (f"log → {tmp_path / 'nowhere'}", "No such file or directory")
    foreign = msgspec.structs.replace(fact, uid=os.getuid() + 1)
    if os.getuid() == 0:  # root follows nothing into a third user's files
        reader = StepReader(SystemClock())
        assert reader.read((foreign,)) == ()
        assert "another user" in reader.tail(fact.process, 100).refused


class _Broken:
    """A format that fails on one word."""

    name = "broken"

    def read(self, line: Line, text: FileText, origin: Origin) -> tuple[StepEvent, ...]:
        if "poison" in line.text:
            raise ZeroDivisionError
        return ()


def test_a_text_that_breaks_a_format_hides_no_other(
    log: Path, tmp_path: Path, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "FORMATS", (_Broken, *registry.FORMATS))
    other = Writer(tmp_path / "other.log")
    try:
        _append(log, "poison\n")
        _append(other.path, "step 1 loss 3\n")
        reader = StepReader(SystemClock())
        assert _steps(reader.read((writer.facts(), other.facts()))) == [1]
        assert [refusal.sentence for refusal in reader.refusals()] == [
            "its text could not be understood (ZeroDivisionError)"
        ]
    finally:
        other.end()


def test_a_deleted_file_is_still_read(log: Path, writer: Writer) -> None:
    reader, fact = StepReader(SystemClock()), writer.facts()
    _append(log, "step 1 loss 3\n")
    log.unlink()
    gone = OpenFile(descriptor=1, kind="deleted_file", path=str(log), role="stdout")
    assert _steps(reader.read((msgspec.structs.replace(fact, open_files=(gone,)),))) == [1]


def test_what_goes_through_tee_is_read_from_its_file(tmp_path: Path) -> None:
    log = tmp_path / "tee.log"
    code = "import time; print('step 1 loss 3', flush=True); time.sleep(60)"
    shell = subprocess.Popen(
        ["sh", "-c", 'echo $$; "$0" -S -c "$1" | tee "$2" > /dev/null; true', sys.executable, code, str(log)],
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        trainer = _wait_for_child(shell.pid, code)
        _wait_for_text(log)  # by then tee has its file; a pipe without one is looked at again only after a while
        pipe = os.readlink(f"/proc/{trainer}/fd/1")
        fact = ProcessFacts(
            process=identity_of(trainer),
            uid=os.getuid(),
            kind="training",
            open_files=(OpenFile(descriptor=1, kind="pipe", path=pipe, role="stdout"),),
        )
        if not Path(f"/proc/{shell.pid}/task/{shell.pid}/children").exists():
            pytest.skip("this kernel lists no children")
        deadline = time.monotonic() + 5
        events: tuple[StepEvent, ...] = ()
        reader = StepReader(SystemClock())
        while not events and time.monotonic() < deadline:
            events = reader.read((fact,))
            time.sleep(0.05)
        assert _steps(events) == [1]
        assert events[0].where == f"stdout → tee → {log}"
    finally:
        os.killpg(shell.pid, 9)
        shell.communicate()


def _wait_for_text(path: Path) -> None:
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline:
        if path.exists() and path.stat().st_size:
            return
        time.sleep(0.02)
    raise AssertionError(f"nothing was written to {path}")


def _wait_for_child(parent: int, mark: str) -> int:
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline:
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            try:
                stat = Path(f"/proc/{entry}/stat").read_bytes()
                command = Path(f"/proc/{entry}/cmdline").read_bytes()
            except OSError:
                continue
            started = command.startswith(os.fsencode(sys.executable))  # before it the child is the shell's copy
            if started and int(stat[stat.rfind(b")") + 1 :].split()[1]) == parent and mark.encode() in command:
                return int(entry)
        time.sleep(0.02)
    raise AssertionError("the trainer did not start")


def test_a_log_bomb_is_bounded(writer: Writer) -> None:
    _append(writer.path, "step 1 loss 3\n")
    reader, facts = StepReader(SystemClock()), (writer.facts(),)
    reader.read(facts)
    with writer.path.open("r+b") as file:
        file.truncate(200 * 1024 * 1024)
        file.seek(0, os.SEEK_END)
        file.write(b"\nstep 2 loss 2\n")
    start = time.thread_time()
    assert _steps(reader.read(facts)) == [2]
    assert time.thread_time() - start < 1.0
    tail = reader.tail(facts[0].process, 10**9)
    assert tail.skipped_bytes > 190 * 1024 * 1024
    assert sum(len(line) for line in tail.lines) <= 65536


def test_hostile_text_arrives_clean(writer: Writer) -> None:
    _append(writer.path, "step 1 loss 3 \x1b[2J\u202e[red]\x07\n")
    reader, facts = StepReader(SystemClock()), (writer.facts(),)
    (event,) = reader.read(facts)
    for text in (event.evidence, *reader.tail(facts[0].process, 1000).lines):
        assert not set(text) & {"\x1b", "\u202e", "\x07"}
