"""The reader over made-up processes: who is watched, what is said of them, and what happens when they vanish."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from monitor.clock import ManualClock
from monitor.processes.namespace import INITIAL_PID_NAMESPACE, Namespace
from monitor.processes.proc import ProcDirectory
from monitor.processes.reader import ProcessReader
from monitor.sources import ProcessReading
from monitor.types.facts import ProcessFacts
from monitor.types.gpu import GpuProcess, GpuSample
from tests.processes.fake_proc import HERE, ME, NESTED, OTHER_USER, FakeProc, reader, stat_line

NOBODY: frozenset[int] = frozenset()


@pytest.fixture
def proc(tmp_path: Path) -> FakeProc:
    fake = FakeProc(tmp_path / "proc")
    fake.add(1, ["/sbin/init"], uid=0, parent=0, start=1)
    return fake


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(boot_s=1000.0)


def fact(reading: ProcessReading, pid: int) -> ProcessFacts:
    return next(one for one in reading.facts if one.process.pid == pid)


def pids(reading: ProcessReading) -> list[int]:
    return sorted(sample.process.pid for sample in reading.samples)


def test_a_training_without_a_gpu_is_found_with_its_workers(proc: FakeProc, clock: ManualClock) -> None:
    proc.add(
        10,
        ["python", "train.py", "--lr", "1"],
        parent=1,
        files={1: "/home/me/run/out.txt", 2: "pipe:[7]", 5: "/x/a.log"},
    )
    proc.add(11, ["python", "train.py", "--lr", "1"], parent=10)
    proc.add(12, ["vim", "train.py"], parent=1)
    reading = reader(proc, clock).read(NOBODY)
    assert pids(reading) == [10, 11]
    facts = fact(reading, 10)
    assert (facts.kind, facts.mine, facts.uid, facts.children) == ("training", True, ME, (11,))
    assert facts.argv == ("python", "train.py", "--lr", "1")
    assert facts.parent is not None
    assert facts.parent.pid == 1
    assert [(one.descriptor, one.kind, one.role) for one in facts.open_files] == [
        (1, "file", "stdout"),
        (2, "pipe", "stderr"),
        (5, "file", "log"),
    ]
    assert fact(reading, 11).kind == "worker"


def test_our_own_processes_are_left_out(proc: FakeProc, clock: ManualClock) -> None:
    proc.add(10, ["python", "train.py"])
    proc.add(11, ["python", "train2.py"])
    assert pids(reader(proc, clock, own=frozenset({10})).read(frozenset({10}))) == [11]


def test_rates_need_two_readings_and_may_exceed_one(proc: FakeProc, clock: ManualClock) -> None:
    proc.add(10, ["python", "train.py"], ticks=100)
    source = reader(proc, clock)
    (first,) = source.read(NOBODY).samples
    assert first.cpu_ratio is None
    assert first.cpu_s == pytest.approx(100 / os.sysconf("SC_CLK_TCK"))
    assert (first.read_bytes, first.written_bytes) == (4096, 8192)
    clock.advance(2.0)
    proc.tick(10, ticks=100 + 24 * os.sysconf("SC_CLK_TCK"))
    (second,) = source.read(NOBODY).samples
    assert second.cpu_ratio == pytest.approx(12.0)


def test_unchanged_facts_are_the_same_objects(proc: FakeProc, clock: ManualClock) -> None:
    proc.add(10, ["python", "train.py"])
    source = reader(proc, clock)
    before = source.read(NOBODY).facts[0]
    for _ in range(20):
        clock.advance(5)
        assert source.read(NOBODY).facts[0] is before
    proc.add(10, ["python", "train.py"], files={1: "/x/late.log"})
    clock.advance(15)
    after = source.read(NOBODY).facts[0]
    assert after is not before
    assert [one.path for one in after.open_files] == ["/x/late.log"]


def test_an_ended_process_is_told_once(proc: FakeProc, clock: ManualClock) -> None:
    proc.add(10, ["python", "train.py"], cgroup="0::/job\n")
    (proc.root / "cgroup" / "job").mkdir(parents=True)
    events = proc.root / "cgroup" / "job" / "memory.events"
    events.write_text("oom_kill 2\n")
    source = reader(proc, clock)
    identity = source.read(NOBODY).samples[0].process
    proc.remove(10)
    events.write_text("oom_kill 3\n")
    clock.advance(1)
    reading = source.read(NOBODY)
    assert [(end.process, end.host_oom_kills, end.seen_s) for end in reading.ended] == [(identity, 1, clock.wall_s())]
    assert reading.samples == ()
    assert reading.facts == ()
    clock.advance(1)
    assert source.read(NOBODY).ended == ()


def test_a_reused_pid_is_another_process(proc: FakeProc, clock: ManualClock) -> None:
    proc.add(10, ["python", "train.py"], start=100)
    source = reader(proc, clock)
    old = source.read(NOBODY).samples[0].process
    proc.add(10, ["python", "train_other.py"], start=90_000)
    clock.advance(1)
    reading = source.read(NOBODY)
    assert [end.process for end in reading.ended] == [old]
    assert reading.samples == ()
    clock.advance(1)
    reading = source.read(NOBODY)
    assert [sample.process.start_ticks for sample in reading.samples] == [90_000]
    assert fact(reading, 10).argv == ("python", "train_other.py")


def test_a_reused_pid_that_is_no_training_is_dropped(proc: FakeProc, clock: ManualClock) -> None:
    proc.add(10, ["python", "train.py"], start=100)
    source = reader(proc, clock)
    source.read(NOBODY)
    proc.add(10, ["bash"], start=90_000)
    for _ in range(3):
        clock.advance(4)
        reading = source.read(NOBODY)
    assert reading.samples == ()


@pytest.mark.parametrize(("age_s", "found_after_s"), [(1, 2.5), (500, 10.5)])
def test_an_exec_changes_what_a_process_is(
    proc: FakeProc, clock: ManualClock, age_s: int, found_after_s: float
) -> None:
    """A shell that starts its training with exec keeps pid and start time. A young process is looked at more often."""
    start = int((clock.boot_s() - age_s) * os.sysconf("SC_CLK_TCK"))
    proc.add(10, ["bash", "run.sh"], start=start)
    source = reader(proc, clock)
    assert source.read(NOBODY).samples == ()
    proc.add(10, ["python", "train.py"], start=start)
    clock.advance(found_after_s)
    assert pids(source.read(NOBODY)) == [10]


def test_pids_that_the_driver_names_are_watched_whoever_they_are(proc: FakeProc, clock: ManualClock) -> None:
    proc.add(10, ["python", "main.py"], uid=OTHER_USER)
    proc.add(11, ["Xorg"], uid=0)
    source = reader(proc, clock)
    assert source.read(NOBODY).samples == ()
    reading = source.read(frozenset({10, 11, 99999}))
    assert pids(reading) == [10, 11]
    other = fact(reading, 10)
    assert (other.kind, other.mine, other.uid, other.environment, other.open_files) == (
        "training",
        False,
        OTHER_USER,
        (),
        (),
    )
    assert ("open_files", "no_permission") in [(one.field, one.reason) for one in other.missing]
    assert fact(reading, 11).kind == "other"
    assert source.read(NOBODY).ended == (), "letting go of a GPU is no end"


def test_a_process_the_driver_names_is_found_before_the_next_scan(proc: FakeProc, clock: ManualClock) -> None:
    source = reader(proc, clock)
    source.read(NOBODY)
    proc.add(20, ["torchrun", "x.py"])
    proc.add(21, ["python", "x.py"], parent=20)
    clock.advance(0.5)
    assert pids(source.read(frozenset({21}))) == [20, 21]


def test_hostile_names_and_arguments(proc: FakeProc, clock: ManualClock) -> None:
    argv: list[str | bytes] = [
        "python",
        "train.py",
        "[/foo]",
        b"\x1b]52;c;x\x07\xff",
        "a\nb",
        "x" * 5000,
        "--api-key",
        "hunter2",
    ]
    proc.add(10, argv, name=b"a) R 1\n(b\x1b")
    facts = fact(reader(proc, clock).read(NOBODY), 10)
    assert facts.name == "a) R 1 (b^["
    assert facts.argv[2:5] == ("[/foo]", "^[]52;c;x^G\ufffd", "a b")
    assert len(facts.argv[5]) == 1024
    assert facts.argv[6:] == ("--api-key", "***")


def test_a_long_command_line_is_bounded(proc: FakeProc, clock: ManualClock) -> None:
    proc.add(10, ["python", "train.py", *("x" * 2000 for _ in range(1000))])
    argv = fact(reader(proc, clock).read(NOBODY), 10).argv
    assert len(argv) <= 256
    assert max(len(word) for word in argv) <= 1024


def test_only_allowed_variables_are_kept(proc: FakeProc, clock: ManualClock) -> None:
    environ = {
        "RANK": "3",
        "WANDB_API_KEY": "hunter2",
        "CUDA_VISIBLE_DEVICES": "1",
        "AWS_X": "y",
        "WANDB_NAME": "\x1b[2Jrun",
    }
    proc.add(10, ["python", "train.py"], environ=environ)
    source = reader(proc, clock)
    facts = fact(source.read(NOBODY), 10)
    assert [(one.name, one.value) for one in facts.environment] == [
        ("CUDA_VISIBLE_DEVICES", "1"),
        ("RANK", "3"),
        ("WANDB_NAME", "^[[2Jrun"),
    ]


def test_libraries_and_work_together_make_a_training(proc: FakeProc, clock: ManualClock) -> None:
    ticks_per_s = os.sysconf("SC_CLK_TCK")
    maps = "7f00-7f01 r-xp 0 08:01 1 /x/torch/lib/libtorch_cpu.so\n"
    proc.add(10, ["python", "main.py"], maps=maps)
    proc.add(11, ["python", "main.py"], start=101)
    proc.add(12, ["python", "main.py"], maps=maps, uid=OTHER_USER, start=102)
    source = reader(proc, clock)
    assert source.read(NOBODY).samples == ()
    for _ in range(2):
        clock.advance(10)
        for pid in (10, 11, 12):
            proc.tick(pid, ticks=int((clock.boot_s() - 1000) * ticks_per_s), start=90 + pid)
        reading = source.read(NOBODY)
    assert pids(reading) == [10]
    assert "libtorch" in fact(reading, 10).why
    clock.advance(10)
    source.read(NOBODY)
    assert pids(source.read(NOBODY)) == [10], "a training that waits is still one"


@pytest.mark.parametrize("gone", ["cmdline", "status", "environ", "cgroup", "io", "fd", "cwd"])
@pytest.mark.parametrize("error", [FileNotFoundError, PermissionError, ProcessLookupError, OSError])
def test_files_that_vanish_or_refuse_cost_only_themselves(
    proc: FakeProc, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, gone: str, error: type[OSError]
) -> None:
    proc.add(10, ["python", "train.py"])
    proc.add(11, ["python", "train.py", "--b"])
    read, link, names = ProcDirectory.read, ProcDirectory.link, ProcDirectory.names

    def failing_read(self: ProcDirectory, pid: int, name: str, limit_bytes: int = 65536) -> bytes:
        if pid == 10 and name == gone:
            raise error(1, "no")
        return read(self, pid, name, limit_bytes)

    def failing_link(self: ProcDirectory, pid: int, name: str) -> str:
        if pid == 10 and name == gone:
            raise error(1, "no")
        return link(self, pid, name)

    def failing_names(self: ProcDirectory, pid: int, name: str) -> list[str]:
        if pid == 10 and name == gone:
            raise error(1, "no")
        return names(self, pid, name)

    source = reader(proc, clock)
    monkeypatch.setattr(ProcDirectory, "read", failing_read)
    monkeypatch.setattr(ProcDirectory, "link", failing_link)
    monkeypatch.setattr(ProcDirectory, "names", failing_names)
    for _ in range(3):
        reading = source.read(frozenset({10, 11}))
        clock.advance(4)
    assert pids(reading) == [10, 11]
    assert fact(reading, 11).missing == ()
    assert fact(reading, 10).name == "python"


def test_a_process_that_ends_while_its_facts_are_read_leaves_none(
    proc: FakeProc, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    proc.add(10, ["python", "train.py"])
    names = ProcDirectory.names

    def replaced(self: ProcDirectory, pid: int, name: str) -> list[str]:
        (proc.root / "10" / "stat").write_bytes(stat_line(10, b"bash", start=99_000))
        return names(self, pid, name)

    source = reader(proc, clock)
    monkeypatch.setattr(ProcDirectory, "names", replaced)
    assert source.read(NOBODY).facts == ()


def test_a_dying_process_keeps_what_was_known(proc: FakeProc, clock: ManualClock) -> None:
    proc.add(10, ["python", "train.py"])
    source = reader(proc, clock)
    before = source.read(NOBODY).facts
    proc.add(10, [], name=b"python", state="Z", exe="/none")
    clock.advance(60)
    reading = source.read(NOBODY)
    assert reading.facts == before
    assert reading.samples[0].state == "Z"
    assert reading.samples[0].rss_bytes is None


def test_hidden_and_missing_processes_break_nothing(proc: FakeProc, clock: ManualClock) -> None:
    """hidepid=1 lists a pid whose files cannot be read; hidepid=2 does not list it at all."""
    (proc.root / "30").mkdir()
    proc.add(10, ["python", "train.py"])
    source = reader(proc, clock)
    gpus = (GpuSample(uuid="GPU-a", processes=tuple(GpuProcess(pid=pid) for pid in (10, 30, 31))),)
    reading = source.read(frozenset({10, 30, 31}))
    assert pids(reading) == [10]
    assert [(one.driver_pid, one.how) for one in source.pair(gpus)] == [(10, "same_pid"), (30, "hidden"), (31, "gone")]


def test_where_proc_hides_others_an_unknown_pid_is_not_called_gone(proc: FakeProc, clock: ManualClock) -> None:
    hiding = Namespace(pid_namespace=INITIAL_PID_NAMESPACE, nested=False, hides_others=True)
    source = reader(proc, clock, namespace=hiding)
    (pairing,) = source.pair((GpuSample(uuid="GPU-a", processes=(GpuProcess(pid=31),)),))
    assert pairing.how == "hidden"


def test_no_proc_at_all(tmp_path: Path, clock: ManualClock) -> None:
    source = ProcessReader(clock, proc_root=str(tmp_path / "none"), namespace=HERE)
    assert source.read(frozenset({1})) == ProcessReading()
    assert source.pair((GpuSample(uuid="GPU-a", processes=(GpuProcess(pid=1),)),))[0].how == "gone"


def test_inside_a_container_the_driver_names_host_pids(proc: FakeProc, clock: ManualClock) -> None:
    proc.add(42, ["bash"])
    proc.add(50, ["python", "main.py"], files={3: "/dev/nvidiactl", 4: "/dev/nvidia0"}, ticks=50)
    proc.add(51, ["python", "main.py"], parent=50, files={3: "/dev/nvidiactl"}, ticks=50)
    source = reader(proc, clock, namespace=NESTED)
    reading = source.read(frozenset({2721979, 42}))
    assert pids(reading) == [50, 51], "bash is not watched because the driver means another 42"
    assert {pid: fact(reading, pid).kind for pid in (50, 51)} == {50: "training", 51: "worker"}
    one_pid = (GpuSample(uuid="GPU-a", processes=(GpuProcess(pid=2721979),)),)
    (pairing,) = source.pair(one_pid)
    assert pairing.how == "inferred"
    assert pairing.process is not None
    assert pairing.process.pid == 50
    two_pids = (GpuSample(uuid="GPU-a", processes=(GpuProcess(pid=2721979), GpuProcess(pid=42))),)
    assert [(one.how, one.process) for one in source.pair(two_pids)] == [("other_namespace", None)] * 2


def test_many_processes_are_scanned_in_slices(
    proc: FakeProc, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for pid in range(100, 400):
        proc.add(pid, ["sleep", "1"], start=pid)
    proc.add(99, ["python", "train.py"])
    monkeypatch.setattr("monitor.processes.table.FIRST_SLICE_S", 0.0)
    monkeypatch.setattr("monitor.processes.table.SLICE_S", 0.0)
    source = reader(proc, clock)
    monkeypatch.setattr("time.perf_counter", iter(range(1_000_000)).__next__)
    reads = 0
    while not source.read(NOBODY).samples:
        reads += 1
        assert reads < 400
    assert reads > 1


def test_kernel_threads_are_no_processes(proc: FakeProc, clock: ManualClock) -> None:
    proc.add(2, [], name=b"train", flags=0x208040)
    assert reader(proc, clock).read(frozenset({2})).samples == ()
