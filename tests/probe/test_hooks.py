"""What the probe counts, against what small real trainings did: one row for each way of stepping that is known."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from monitor.probe.file import OptimizerCount, ProbeReading, read_probe
from monitor.probe.folder import MARK, probe_file
from monitor.probe.launch import inject_folder
from monitor.types.identity import ProcessIdentity

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="the probe works on Linux alone"),
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed here"),
]
PROGRAM = Path(__file__).parent / "hook_cases.py"
COUNTED = (
    *("plain", "accumulation", "scheduler", "lbfgs", "gan", "grad_scaler", "zero_redundancy", "fsdp2"),
    *("optimizer_in_backward", "compiled", "raised", "remade", "smaller_after", "resumed", "threads"),
    *("loader_workers", "closed_descriptors"),
)
OTHERS = ("grad_scaler_fused", "foreign_class", "no_super_init")


class Told(NamedTuple):
    truth: int
    reading: ProbeReading | None


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Told]:
    folder = str(tmp_path_factory.mktemp("probe"))
    os.chmod(folder, 0o700)
    environment = {**os.environ, "PYTHONPATH": inject_folder(), MARK: folder, "RANK": "3", "WORLD_SIZE": "8"}
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *COUNTED, *OTHERS], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Told] = {}
    for line in done.stdout.splitlines():
        one = json.loads(line)
        process = ProcessIdentity(pid=one["pid"], start_ticks=one["start_ticks"])
        path = probe_file(folder, process.pid)
        reading = read_probe(path, process, os.geteuid()) if os.path.exists(path) else None
        found[one["case"]] = Told(one["truth"], reading)
    assert set(found) == {*COUNTED, *OTHERS}, done.stderr
    files = sum(one.reading is not None for one in found.values())
    assert len(os.listdir(folder)) == files + 1, "one of the process that another one resumed; workers have none"
    return found


def headline(reading: ProbeReading | None) -> OptimizerCount:
    assert reading is not None
    return next(one for one in reading.facts.optimizers if one.series == reading.series)


@pytest.mark.parametrize("name", COUNTED)
def test_the_headline_is_what_was_done(told: dict[str, Told], name: str) -> None:
    truth, reading = told[name]
    assert reading is not None
    assert reading.count == truth
    assert headline(reading).count == truth, "the last word at exit agrees"
    assert 0 < reading.first_ns < reading.last_ns


@pytest.mark.parametrize("name", ["foreign_class", "no_super_init"])
def test_what_torch_does_not_hook_shows_nothing(told: dict[str, Told], name: str) -> None:
    assert told[name].reading is None


def test_a_fused_step_under_a_scaler_counts_the_skipped_ones_and_says_so(told: dict[str, Told]) -> None:
    truth, reading = told["grad_scaler_fused"]
    assert reading is not None
    assert (truth, reading.count) == (16, 20)
    assert headline(reading).scaled
    assert not headline(told["grad_scaler"].reading).scaled


def test_every_optimizer_has_its_own_count(told: dict[str, Told]) -> None:
    reading = told["gan"].reading
    assert reading is not None
    assert {one.name: one.count for one in reading.facts.optimizers} == {"SGD": 50, "AdamW": 10}


def test_one_within_another_is_not_counted_again(told: dict[str, Told]) -> None:
    reading = told["zero_redundancy"].reading
    assert reading is not None
    names = {one.name: (one.count, one.nested) for one in reading.facts.optimizers}
    assert names == {"ZeroRedundancyOptimizer": (10, 0), "AdamW": (0, 10)}


def test_a_hundred_small_ones_are_one_headline(told: dict[str, Told]) -> None:
    reading = told["optimizer_in_backward"].reading
    assert reading is not None
    assert reading.facts.optimizer_count == 6
    assert {one.count for one in reading.facts.optimizers} == {10}


def test_a_resumed_optimizer_says_where_it_went_on(told: dict[str, Told]) -> None:
    reading = told["resumed"].reading
    assert reading is not None
    assert reading.resumed_at == 1200
    plain = told["plain"].reading
    assert plain is not None
    assert plain.resumed_at == 0


def test_facts_of_model_and_ranks(told: dict[str, Told]) -> None:
    reading = told["plain"].reading
    assert reading is not None
    facts = reading.facts
    assert headline(reading) == OptimizerCount(name="AdamW", params=25, count=10, lr=0.25)
    assert (facts.model.name, facts.model.params, facts.model.requires_grad) == ("Sequential", 25, 25)
    assert facts.model.dtypes == {"float32": 25}
    assert facts.ranks == {"rank": 3, "world_size": 8}
    assert facts.versions["torch"].startswith("2.")
    assert facts.allocator == {}, "there is no CUDA here, and the probe does not start it"
    assert facts.recent[0] == (1, reading.first_ns)
