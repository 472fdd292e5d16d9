"""Real programs beside the monitor: what it says of each is held against what each wrote down of itself."""

from __future__ import annotations

import importlib.util
import signal
import subprocess
import sys
import time
from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from statistics import mean

import pytest

from monitor.types.run import Run
from tests.programs.counted import times_s
from tests.programs.watch import Watch, start

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc is needed")

HERE = Path(__file__).parent
STYLES = ("lines", "buffered", "json", "bars", "mute")
WATCHED_S = 7.0
RATE_ERROR = 0.05
"""The budget is 2 % after 30 s; after `WATCHED_S` a look's jitter alone is worth more than that."""


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[bytes]]]:
    processes: list[subprocess.Popen[bytes]] = []
    yield processes
    for process in processes:
        if process.poll() is None:
            process.terminate()  # a launcher ends its ranks, which have sessions of their own
    for process in processes:
        process.wait(20)


def run_loop(started: list[subprocess.Popen[bytes]], folder: Path, style: str, *more: str) -> None:
    truth = str(folder / f"{style}.truth")
    loop = (sys.executable, str(HERE / "train_loop.py"), "--truth", truth, "--style", style)
    start(started, folder / f"{style}.log", *loop, *more)


def by_truth(watch: Watch, folder: Path) -> dict[str, Run]:
    """The runs by the name of their truth; each program is one run."""
    found: dict[str, Run] = {}
    for run in watch.runs(folder):
        words = run.command.split()
        name = Path(words[words.index("--truth") + 1]).stem
        assert name not in found
        found[name] = run
    return found


def assert_true(run: Run, truth: Path, since_s: float, now_s: float, *, behind: float = 0) -> None:
    """Step and rate of a run against the times that the program wrote down."""
    times = times_s(truth)
    made = bisect_right(times, now_s)
    assert run.mine
    assert run.step is not None
    assert run.step_seconds is not None
    assert made - 25 - behind <= run.step <= made + 1
    watched = [at for at in times if since_s <= at <= now_s]
    each_s = sorted(later - earlier for earlier, later in pairwise(watched))
    fast_s = each_s[: len(each_s) * 49 // 50 + 1]  # a busy machine's pauses are no ordinary steps
    low_s, high_s = mean(fast_s) * (1 - RATE_ERROR), mean(each_s) * (1 + RATE_ERROR)
    assert low_s <= run.step_seconds <= high_s


def test_whichever_way_a_loop_tells_its_steps_they_are_true(
    tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    for style in STYLES:
        run_loop(started, tmp_path, style)
    watch = Watch(started)
    watch.until(lambda runs: len([run for run in runs if run.step is not None]) >= 3, tmp_path)
    since_s = time.time()
    watch.until(
        # What is buffered comes every six seconds or so: a rate needs two of those.
        lambda runs: time.time() - since_s > WATCHED_S and len([run for run in runs if run.step_seconds]) == 4,
        tmp_path,
        40.0,
    )
    now_s, runs = time.time(), by_truth(watch, tmp_path)
    assert set(runs) == set(STYLES)
    for style in ("lines", "json", "bars"):
        assert_true(runs[style], tmp_path / f"{style}.truth", since_s, now_s)
    # Its text comes eight kilobytes at a time.
    assert_true(runs["buffered"], tmp_path / "buffered.truth", since_s, now_s, behind=400)
    assert {style: runs[style].total for style in STYLES} == {
        "lines": 100_000,
        "buffered": 100_000,
        "json": 100_000,
        "bars": None,  # how many bars there will be is not told
        "mute": None,
    }
    assert (runs["mute"].step, runs["mute"].phase) == (None, "starting")
    assert next(one.detail for one in runs["mute"].missing if one.field == "step").startswith("no step has been found")


def test_how_loops_end_is_told_with_the_evidence(tmp_path: Path, started: list[subprocess.Popen[bytes]]) -> None:
    run_loop(started, tmp_path, "lines", "--max_steps", "60")
    run_loop(started, tmp_path, "json", "--crash", "60")
    run_loop(started, tmp_path, "bars")
    run_loop(started, tmp_path, "buffered")
    watch = Watch(started)
    watch.until(lambda runs: len([run for run in runs if run.step is not None]) >= 3 and len(runs) == 4, tmp_path)
    started[2].kill()
    started[3].send_signal(signal.SIGINT)
    watch.until(lambda runs: len([run for run in runs if run.ended is not None]) == 4, tmp_path)
    runs = by_truth(watch, tmp_path)
    ended = {style: run.ended for style, run in runs.items()}
    told = {style: (end.how, end.evidence) for style, end in ended.items() if end is not None}
    assert told["lines"] == ("finished", "Training completed.")
    assert told["json"] == ("error", "ValueError: bad batch 7")
    assert told["bars"][0] == "unknown"
    assert told["bars"][1].startswith("ended without a message at step")
    assert told["buffered"] == ("killed", "KeyboardInterrupt")


def test_a_loop_that_is_stopped_stalls_and_goes_on(tmp_path: Path, started: list[subprocess.Popen[bytes]]) -> None:
    run_loop(started, tmp_path, "lines")
    watch = Watch(started)
    watch.until(lambda runs: bool(runs) and runs[0].phase == "training", tmp_path)
    started[0].send_signal(signal.SIGSTOP)
    (run,) = watch.until(lambda runs: runs[0].phase == "stalled", tmp_path, 5.0)
    assert run.phase == "stalled"
    started[0].send_signal(signal.SIGCONT)
    (run,) = watch.until(lambda runs: runs[0].phase == "training", tmp_path, 5.0)
    assert run.phase == "training"


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torchrun comes with torch")
def test_ranks_that_all_print_are_one_run(tmp_path: Path, started: list[subprocess.Popen[bytes]]) -> None:
    truth = tmp_path / "ranks.truth"
    launch = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2")
    start(started, tmp_path / "ranks.log", *launch, str(HERE / "train_ranks.py"), "--truth", str(truth))
    watch = Watch(started)
    watch.until(lambda runs: bool(runs) and runs[0].step is not None, tmp_path, 40.0)
    since_s = time.time()
    watch.until(lambda _: time.time() - since_s > WATCHED_S, tmp_path)
    (run,) = by_truth(watch, tmp_path).values()
    assert sorted(member.role for member in run.members if member.role != "helper") == [
        "launcher",
        "trainer",
        "trainer",
    ]
    assert_true(run, truth, since_s, time.time())


@pytest.mark.slow
@pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("torch", "transformers", "accelerate")),
    reason="the Trainer is not installed",
)
def test_the_trainer_counts_optimizer_steps_and_its_evaluations_are_no_steps(
    tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    truth = tmp_path / "trainer.truth"
    script = (sys.executable, str(HERE / "train_trainer.py"), "--truth", str(truth))
    start(started, tmp_path / "trainer.log", *script)
    watch = Watch(started)
    watch.until(lambda runs: bool(runs) and runs[0].phase == "training", tmp_path, 40.0)
    (run,) = watch.until(lambda runs: runs[0].phase == "evaluating", tmp_path)
    assert run.phase == "evaluating"
    watch.until(lambda runs: runs[0].phase == "training", tmp_path)
    (run,) = watch.until(lambda runs: runs[0].phase == "evaluating", tmp_path)
    assert (run.step, run.total) == (200, 2000)
    assert run.step_seconds is not None
    assert run.wall_seconds_per_step is not None
    times = times_s(truth)
    each_s = (times[199] - times[100]) / 99
    assert run.step_seconds == pytest.approx(each_s, rel=0.15)
    assert run.wall_seconds_per_step > 1.1 * run.step_seconds
