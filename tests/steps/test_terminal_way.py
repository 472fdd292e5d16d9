"""The screen of a real tmux pane is read without touching it. The printed lines are invented."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from monitor.clock import ManualClock
from monitor.steps.terminal import TerminalWay, new_rows
from monitor.types.facts import EnvironmentVariable, OpenFile, ProcessFacts
from monitor.types.identity import ProcessIdentity


@pytest.mark.parametrize(
    ("before", "now", "fresh"),
    [
        ((), ("a",), ("a",)),
        (("a", "b"), ("a", "b"), ()),
        (("a", "b"), ("a", "c"), ("c",)),
        (("a", "b"), ("a", "b", "c"), ("c",)),
        (("a", "b", "c"), ("b", "c", "d"), ("d",)),
        (("1/9",), ("2/9",), ("2/9",)),
        (("a", "b"), ("x", "y"), ("x", "y")),
    ],
)
def test_only_new_rows(before: tuple[str, ...], now: tuple[str, ...], fresh: tuple[str, ...]) -> None:
    assert new_rows(before, now) == fresh


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed here")
def test_a_real_pane(tmp_path: Path) -> None:
    socket = str(tmp_path / "s")
    base = ["tmux", "-S", socket, "-f", "/dev/null"]
    script = "for i in 1 2 3 4 5; do echo step $i/50 loss 2.$i; done; sleep 60"
    subprocess.run([*base, "new-session", "-d", "-x", "100", "-y", "30", script], check=True, timeout=10)
    try:
        shown = subprocess.run(
            [*base, "list-panes", "-a", "-F", "#{pane_tty}"], check=True, timeout=10, capture_output=True, text=True
        )
        fact = ProcessFacts(
            process=ProcessIdentity(pid=os.getpid(), start_ticks=1),
            uid=os.geteuid(),
            kind="training",
            environment=(EnvironmentVariable(name="TMUX", value=f"{socket},1,0"),),
            open_files=(OpenFile(descriptor=1, kind="terminal", path=shown.stdout.strip(), role="stdout"),),
        )
        clock = ManualClock()
        way = TerminalWay(clock)
        steps: list[float | None] = []
        for _ in range(40):
            steps += [event.step for event in way.read((fact,), clock.boot_s() + 1)]
            if 5 in steps:
                break
            clock.advance(2.1)
            time.sleep(0.1)
        assert 5 in steps
        assert any("step 5/50" in line for line in way.written(fact.process)[0].ring.last(4096))
        clock.advance(2.1)
        assert way.read((fact,), clock.boot_s() + 1) == []
    finally:
        subprocess.run([*base, "kill-server"], check=False, timeout=10)
