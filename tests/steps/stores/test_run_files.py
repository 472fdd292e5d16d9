"""Files that are found for a process, and files that must not be taken for its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from monitor.clock import ManualClock
from monitor.steps.found_files import FoundFile
from monitor.steps.output_folders import open_found, output_folders, seen_path
from monitor.steps.own_files import evidence_of
from monitor.steps.reader import StepReader
from monitor.steps.run_files import RunFilesWay
from monitor.types.facts import EnvironmentVariable, OpenFile, ProcessFacts
from monitor.types.identity import ProcessIdentity
from monitor.types.steps import StepEvent
from tests.steps.stores.crafted import HEADER, event, scalar, text

NOW_S = 1_770_001_000.0
START_S = NOW_S - 500


def _facts(cwd: Path, *argv: str, pid: int | None = None, **more: object) -> ProcessFacts:
    fields: dict[str, object] = {
        "process": ProcessIdentity(pid=os.getpid() if pid is None else pid, start_ticks=5),
        "uid": os.geteuid(),
        "mine": True,
        "kind": "training",
        "argv": ("python", "train.py", *argv),
        "cwd": str(cwd),
        "started_s": START_S,
        **more,
    }
    return ProcessFacts(**fields)  # type: ignore[arg-type]


def _events(path: Path, first: int = 1, last: int = 20, begin_s: float = START_S) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = (event(n, begin_s + 5 * n, scalar("train/loss", 1 / n)) for n in range(first, last + 1))
    arguments = event(0, begin_s, text("args/text_summary", '{"max_steps": 900}'))
    path.write_bytes(HEADER + arguments + b"".join(rows))
    os.utime(path, (NOW_S, NOW_S))
    return path


def _text(path: Path, content: str, age_s: float = 0.0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    os.utime(path, (NOW_S - age_s, NOW_S - age_s))
    return path


def _look(way: RunFilesWay, *facts: ProcessFacts) -> list[StepEvent]:
    return [e for e in way.read(facts, 1e12) if e.step is not None]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW_S)


@pytest.fixture
def way(clock: ManualClock) -> RunFilesWay:
    return RunFilesWay(clock)


def test_an_event_file_in_the_named_folder(way: RunFilesWay, clock: ManualClock, tmp_path: Path) -> None:
    path = _events(tmp_path / "out" / "runs" / f"events.out.tfevents.{int(START_S) + 3}.node")
    fact = _facts(tmp_path, "--output_dir", "out")
    found = _look(way, fact)
    assert (found[-1].step, found[-1].total, found[-1].process) == (20, 900, fact.process)
    assert found[-1].where == f"--output_dir → runs/{path.name}"
    assert {s.name: s.value for s in way.settings()[fact.process]} == {"max_steps": 900}
    with path.open("ab") as file:
        file.write(event(21, START_S + 105, scalar("train/loss", 0.1)))
    clock.advance(2)
    assert [e.step for e in _look(way, fact)] == [21]


def test_what_was_counted_before_the_process_began_is_not_its_own(way: RunFilesWay, tmp_path: Path) -> None:
    _events(tmp_path / "out" / "events.out.tfevents.node", begin_s=START_S - 50)
    found = _look(way, _facts(tmp_path, "--output_dir=out"))
    assert [e.step for e in found] == list(range(9, 21))


@pytest.mark.parametrize(("pid", "taken"), [(4242, True), (4243, False)])
def test_the_pid_in_the_name_decides(way: RunFilesWay, tmp_path: Path, pid: int, taken: bool) -> None:
    _events(tmp_path / f"events.out.tfevents.{int(START_S) + 3}.node.{pid}.0")
    fact = _facts(tmp_path, namespace_pids=(os.getpid(), 4242))
    assert bool(_look(way, fact)) is taken


def test_an_event_file_that_was_begun_before_is_another_runs(way: RunFilesWay, tmp_path: Path) -> None:
    _events(tmp_path / f"events.out.tfevents.{int(START_S) - 900}.node.{os.getpid()}.0")
    assert _look(way, _facts(tmp_path)) == []


def test_two_trainings_in_one_folder_get_nothing_that_tells_no_owner(way: RunFilesWay, tmp_path: Path) -> None:
    _events(tmp_path / "events.out.tfevents.node")
    one, other = _facts(tmp_path), _facts(tmp_path, pid=os.getppid())
    assert _look(way, one, other) == []


def test_alone_in_its_folder_it_is_taken_with_less_confidence(way: RunFilesWay, tmp_path: Path) -> None:
    _events(tmp_path / "events.out.tfevents.node")
    assert _look(way, _facts(tmp_path))[-1].confidence == pytest.approx(0.75 * 0.75)


def test_a_folder_that_another_was_told_to_write_to(way: RunFilesWay, tmp_path: Path) -> None:
    _events(tmp_path / "b" / "events.out.tfevents.node")
    (tmp_path / "elsewhere").mkdir()
    other = _facts(tmp_path / "elsewhere", "--logdir", str(tmp_path / "b"), pid=os.getppid())
    found = _look(way, _facts(tmp_path), other)
    assert {e.process for e in found} == {other.process}


@pytest.mark.parametrize("cwd", ["/", "/root", "/tmp", "/home/alice"])
def test_under_a_folder_of_everything_only_what_lies_in_it(cwd: str) -> None:
    fact = _facts(Path(cwd))
    prefix = cwd.rstrip("/")

    def taken(path: str, *, named_by: str = "", pid: int | None = None) -> bool:
        found = FoundFile(path=prefix + path, modified_s=NOW_S, is_store=True, file=(1, 2), pid=pid)
        return evidence_of(found, fact, (), named_by) is not None

    assert taken("/metrics.csv")
    assert not taken("/other/metrics.csv")
    assert taken("/other/metrics.csv", named_by="--logdir")
    assert taken("/other/events.out.tfevents", pid=os.getpid())


def test_a_log_deep_in_the_working_directory_may_be_any_programs(way: RunFilesWay, tmp_path: Path) -> None:
    _text(tmp_path / "build" / "other.log", "step 1/50 loss 0.5\nstep 2/50 loss 0.4\n")
    _text(tmp_path / "wandb" / "run-x" / "files" / "output.log", "step 7/50 loss 0.5\nstep 8/50 loss 0.4\n")
    _text(tmp_path / "nohup.out", "step 3/50 loss 0.5\nstep 4/50 loss 0.4\n")
    assert {e.step for e in _look(way, _facts(tmp_path))} == {4, 8}


def test_only_the_first_rank_takes_what_tells_no_pid(way: RunFilesWay, tmp_path: Path) -> None:
    _events(tmp_path / "out" / "events.out.tfevents.node")
    parent = ProcessIdentity(pid=1, start_ticks=1)
    ranks = [
        _facts(
            tmp_path, "--output_dir", "out", pid=pid, parent=parent,
            environment=(EnvironmentVariable(name="RANK", value=rank),),
        )
        for pid, rank in ((os.getppid(), "1"), (os.getpid(), "0"))
    ]  # fmt: skip
    assert {e.process for e in _look(way, *ranks)} == {ranks[1].process}


def test_files_from_before_the_start_are_left(way: RunFilesWay, tmp_path: Path) -> None:
    _text(tmp_path / "metrics.csv", "step,loss\n1,0.5\n2,0.4\n", age_s=900)
    assert _look(way, _facts(tmp_path)) == []


def test_links_pipes_and_folders_of_data_are_not_followed(way: RunFilesWay, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    _text(outside / "metrics.csv", "step,loss\n1,0.5\n2,0.4\n")
    work = tmp_path / "work"
    work.mkdir()
    (work / "link").symlink_to(outside)
    (work / "metrics.csv").symlink_to(outside / "metrics.csv")
    os.mkfifo(work / "results.csv")
    _text(work / "data" / "metrics.csv", "step,loss\n1,0.5\n2,0.4\n")
    assert _look(way, _facts(work)) == []
    assert way.refusals() == ()


def test_what_became_a_link_after_it_was_found_is_refused(way: RunFilesWay, clock: ManualClock, tmp_path: Path) -> None:
    path = _text(tmp_path / "work" / "metrics.csv", "step,loss\n1,0.5\n2,0.4\n")
    fact = _facts(tmp_path / "work")
    assert _look(way, fact)
    path.unlink()
    path.symlink_to(_text(tmp_path / "secret", "step,loss\n7,0.5\n8,0.4\n"))
    clock.advance(2)
    assert _look(way, fact) == []
    assert way.refusals()[0].sentence == "not a regular file"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a file away")
def test_files_of_another_user_are_not_read(way: RunFilesWay, tmp_path: Path) -> None:
    path = _text(tmp_path / "metrics.csv", "step,loss\n1,0.5\n2,0.4\n")
    os.chown(path, 4321, 4321)
    os.utime(path, (NOW_S, NOW_S))
    assert _look(way, _facts(tmp_path)) == []
    assert way.refusals()[0].sentence == "the file belongs to another user"


def test_a_log_is_followed_only_where_no_output_can_be_read(
    clock: ManualClock, way: RunFilesWay, tmp_path: Path
) -> None:
    path = _text(tmp_path / "out" / "debug.log", "step 1/50 loss 0.5\nstep 2/50 loss 0.4\n")
    terminal = OpenFile(descriptor=1, kind="terminal", path="/dev/pts/9", role="stdout")
    fact = _facts(tmp_path, "--output_dir", "out", open_files=(terminal,))
    assert [(e.step, e.total) for e in _look(way, fact)][-1] == (2, 50)
    assert way.written(fact.process)[0].ring.last(1000)[-1] == "step 2/50 loss 0.4"
    redirected = OpenFile(descriptor=1, kind="file", path=str(path.parent / "x.log"), role="stdout")
    assert _look(RunFilesWay(clock), _facts(tmp_path, "--output_dir", "out", open_files=(redirected,))) == []


def test_only_the_newest_state_of_several_checkpoints(way: RunFilesWay, clock: ManualClock, tmp_path: Path) -> None:
    def save(step: int, age_s: float) -> None:
        state = f'{{"global_step": {step}, "max_steps": 90, "log_history": []}}'
        _text(tmp_path / "out" / f"checkpoint-{step}" / "trainer_state.json", state, age_s)

    save(10, 60)
    save(20, 30)
    fact = _facts(tmp_path, "--output_dir", "out")
    first = _look(way, fact)
    assert [(e.step, e.event_s, e.event_clock) for e in first] == [(20, NOW_S - 30, "file_time")]
    clock.advance(30)
    save(30, -20)
    later = _look(way, fact)
    assert [(e.step, e.where) for e in later] == [(30, first[0].where)]


def test_a_run_that_is_gone_is_forgotten(way: RunFilesWay, tmp_path: Path) -> None:
    _events(tmp_path / "out" / "events.out.tfevents.node")
    fact = _facts(tmp_path, "--output_dir", "out")
    _look(way, fact)
    way.read((), 1e12)
    assert way.settings() == {}


def test_a_reused_pid_is_another_process(way: RunFilesWay, tmp_path: Path) -> None:
    _events(tmp_path / "out" / "events.out.tfevents.node")
    fact = _facts(tmp_path, "--output_dir", "out")
    _look(way, fact)
    again = _facts(
        tmp_path, "--output_dir", "out", process=ProcessIdentity(pid=os.getpid(), start_ticks=9), started_s=NOW_S + 50
    )
    assert _look(way, again) == []


def test_folders_are_named_by_flags_variables_and_configurations(tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text("training:\n  output_dir: from_config\nother_dir: no\n")
    variable = EnvironmentVariable(name="WANDB_DIR", value="/somewhere/wandb")
    fact = _facts(tmp_path, "run.yaml", "--logging_dir=logs", "hydra.run.dir=h", environment=(variable,))
    assert {folder.path for folder in output_folders(fact)} == {
        f"{tmp_path}/logs", f"{tmp_path}/h", f"{tmp_path}/from_config", "/somewhere/wandb",
    }  # fmt: skip
    assert output_folders(_facts(tmp_path, "--output_dir", "s3://bucket/x", "--logdir", "~/x")) == ()


def test_a_path_inside_a_container_does_not_lead_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "root" / "runs").mkdir(parents=True)
    (tmp_path / "root" / "abs").symlink_to("/runs")
    (tmp_path / "root" / "up").symlink_to("../../../../runs")
    (tmp_path / "root" / "loop").symlink_to("loop")
    monkeypatch.setattr("monitor.steps.output_folders.root_of", lambda fact: f"{tmp_path}/root")
    fact = _facts(tmp_path)
    assert seen_path(fact, "/abs") == seen_path(fact, "/up") == f"{tmp_path}/root/runs"
    assert seen_path(fact, "/loop") is None
    assert seen_path(fact, "/runs/../../../etc") is None


def test_a_pipe_is_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileNotFoundError):
        open_found(str(tmp_path / "pipe"), os.geteuid())


def test_the_reader_uses_this_way(clock: ManualClock) -> None:
    assert "run_files" in [name for name, _, _ in StepReader(clock).ways()]
