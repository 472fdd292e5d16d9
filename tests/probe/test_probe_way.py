"""The way in through the probe's file: events, times, settings, and why there is nothing to be seen."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from monitor.clock import ManualClock
from monitor.probe.folder import MARK, probe_file, sweep
from monitor.probe.launch import deaf_flag, environment_with_probe, inject_folder
from monitor.steps.fusion import StepFusion
from monitor.steps.probe_way import ProbeWay
from monitor.steps.registry import WAYS
from monitor.types.facts import EnvironmentVariable, ProcessFacts
from monitor.types.identity import ProcessIdentity
from monitor.types.steps import StepEvent
from tests.probe.test_probe_file import page

PROCESS = ProcessIdentity(pid=1234, start_ticks=5678)
S = 1_000_000_000
OPTIMIZER = {"name": "AdamW", "params": 40, "count": 30, "lr": 0.001, "series": 0}


class Bench:
    """A way over files that a test writes, with clocks that stand."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = ManualClock(wall_s=2_000_000.0, boot_s=1000.0)
        self.now_ns = 1000 * S
        self.way = ProbeWay(self.clock, lambda: self.now_ns)

    def facts(self, **changed: Any) -> ProcessFacts:
        mark = (EnvironmentVariable(name=MARK, value=str(self.folder)),)
        base = {"process": PROCESS, "uid": os.geteuid(), "mine": True, "kind": "training", "environment": mark}
        return ProcessFacts(**{**base, **changed})

    def write(self, count: int, at_s: float, **changed: Any) -> None:
        facts = changed.pop("facts", {"optimizers": [OPTIMIZER]})
        data = page(**{"count": count, "first": 900 * S, "last": int(at_s * S), "facts": facts, **changed})
        Path(probe_file(str(self.folder), 1234)).write_bytes(data)

    def look(self, **changed: Any) -> list[StepEvent]:
        return self.way.read((self.facts(**changed),), 0.0)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_it_is_the_first_way() -> None:
    assert WAYS[0] is ProbeWay
    assert not ProbeWay(ManualClock()).asks_first


def test_counts_with_the_time_at_which_they_were_reached(bench: Bench) -> None:
    recent = [[1, 900 * S], [11, 930 * S], [21, 960 * S]]
    bench.write(30, 990, facts={"optimizers": [OPTIMIZER], "recent": recent, "allocator": {"reserved_bytes": 5}})
    events = bench.look()
    assert [(event.step, event.event_s) for event in events] == [
        (1, 1_999_900.0),
        (11, 1_999_930.0),
        (21, 1_999_960.0),
        (30, 1_999_990.0),
    ]
    last = events[-1]
    assert (last.source, last.unit, last.event_clock, last.confidence) == ("probe", "optimizer_step", "text", 0.99)
    assert {value.name: value.value for value in last.values} == {"lr": 0.001, "reserved_bytes": 5.0}
    fusion = StepFusion()
    for event in events:
        fusion.update(event, 1000.0)
    told = fusion.reading(2_000_000.0, 1000.0)
    assert told.step == 30
    assert told.step_seconds == pytest.approx(3.0, rel=0.05)


def test_nothing_new_is_no_event(bench: Bench) -> None:
    bench.write(30, 990)
    assert [event.step for event in bench.look()] == [1, 30]
    assert bench.look() == []
    bench.write(31, 993)
    assert [event.step for event in bench.look()] == [31]


def test_a_resumed_run_counts_on_from_where_its_optimizer_was(bench: Bench) -> None:
    bench.write(30, 990, resumed=1200)
    last = bench.look()[-1]
    assert last.step == 1230
    assert "went on from step 1200" in last.evidence


def test_another_headline_is_another_counter(bench: Bench) -> None:
    bench.write(30, 990)
    bench.look()
    bench.write(2, 995, series=1, first=994 * S)
    assert [(event.step, event.series) for event in bench.look() if event.confidence > 0.9] == [(1, "1"), (2, "1")]


def test_others_stand_beside_and_a_scaler_is_told(bench: Bench) -> None:
    beside = {"name": "SGD", "params": 4, "count": 7, "series": 1}
    bench.write(30, 990, facts={"optimizers": [{**OPTIMIZER, "scaled": True}, beside]})
    events = {event.series: event for event in bench.look()}
    assert (events["0"].confidence, events["1"].confidence) == (0.8, 0.4)
    assert "skipped are counted too" in events["0"].evidence
    assert (events["1"].step, events["1"].where) == (7, "the process itself, optimizer 2: SGD")
    assert bench.look() == []


def test_a_clock_ahead_of_ours_gives_no_times(bench: Bench) -> None:
    bench.write(30, 4000)
    last = bench.look()[-1]
    assert (last.step, last.event_s, last.event_clock) == (30, None, "none")


def test_what_the_run_has_in_memory_are_settings(bench: Bench) -> None:
    model = {"name": "GPT2LMHeadModel", "params": 50, "requires_grad": 40, "dtypes": {"bfloat16": 30, "float32": 10}}
    bench.write(30, 990, facts={"optimizers": [OPTIMIZER], "model": model, "ranks": {"rank": 1, "world_size": 2}})
    bench.look()
    found = {one.name: one.value for one in bench.way.settings()[PROCESS]}
    assert found == {
        "optimizer": "AdamW",
        "optimizer_parameters": 40.0,
        "learning_rate": 0.001,
        "model_class": "GPT2LMHeadModel",
        "num_parameters": 50.0,
        "trainable_parameters": 40.0,
        "parameter_dtype": "bfloat16, float32",
        "rank": 1.0,
        "world_size": 2.0,
    }
    assert bench.way.read((), 0.0) == []
    assert bench.way.settings() == {}, "what is over is forgotten"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, "no optimizer of PyTorch has stepped"),
        ({"argv": ("/usr/bin/python3", "-sE", "train.py")}, "started with -E"),
    ],
)
def test_why_nothing_is_seen(bench: Bench, changed: dict[str, Any], words: str) -> None:
    assert bench.look(**changed) == []
    (refusal,) = bench.way.refusals()
    assert words in refusal.sentence
    bench.write(30, 990)
    assert bench.look(**changed)
    assert bench.way.refusals() == ()


def test_an_earlier_process_of_that_pid_is_not_taken_for_this_one(bench: Bench) -> None:
    bench.write(30, 990, ticks=4)
    assert bench.look() == []
    assert "no optimizer of PyTorch has stepped" in bench.way.refusals()[0].sentence


def test_without_the_mark_it_looks_now_and_then_and_says_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    (bench.folder / "traintop").mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(bench.folder))
    bench.folder /= "traintop"
    assert bench.look(environment=()) == []
    assert bench.way.refusals() == ()
    bench.write(30, 990)
    assert bench.look(environment=()) == []
    bench.clock.advance(10.0)
    assert [event.step for event in bench.look(environment=())] == [1, 30]


def test_what_was_counted_up_to_the_end_is_still_read(bench: Bench) -> None:
    bench.write(30, 990)
    bench.look()
    bench.write(37, 999)
    assert [event.step for event in bench.way.read((), 0.0)] == [37]
    assert bench.way.read((), 0.0) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everybody's")
def test_other_users_are_not_looked_at(bench: Bench) -> None:
    bench.write(30, 990)
    assert bench.look(uid=os.geteuid() + 1, mine=False) == []


@pytest.mark.parametrize(
    ("words", "flag"),
    [
        ("python train.py -I", None),
        ("python3.11 -I train.py", "-I"),
        ("/usr/bin/python -uE -m x", "-E"),
        ("nohup nice python3 -X dev -W ignore -S x.py", "-S"),
        ("python -Wignore -c x -S", None),
        ("python -m pkg -E", None),
        ("torchrun --nproc 2 x.py -S", None),
        ("python -", None),
        ("python -- -I", None),
        ("python -X", None),
        ("pypy3 -I x", "-I"),
        ("", None),
    ],
)
def test_flags_are_read_as_python_reads_them(words: str, flag: str | None) -> None:
    assert deaf_flag(words.split()) == flag


def test_the_path_is_added_to_once_and_never_an_empty_part() -> None:
    ours = inject_folder()
    assert environment_with_probe({})["PYTHONPATH"] == ours, "an empty part would be the working directory"
    once = environment_with_probe({"PYTHONPATH": "/a:/b"})
    assert once["PYTHONPATH"] == f"{ours}:/a:/b"
    assert environment_with_probe(once)["PYTHONPATH"] == f"{ours}:/a:/b"


def test_files_of_processes_long_gone_are_swept(tmp_path: Path) -> None:
    for name in ("probe-999999999", f"probe-{os.getpid()}", "probe-x", "other"):
        (tmp_path / name).write_text("")
    now_s = (tmp_path / "other").stat().st_mtime
    assert sweep(str(tmp_path), 60.0, now_s) == 0
    assert sweep(str(tmp_path), 60.0, now_s + 100) == 1
    assert not (tmp_path / "probe-999999999").exists()
    assert len(list(tmp_path.iterdir())) == 3
