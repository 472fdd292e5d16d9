"""The flag to go on with, and what the scheduler says. Command lines and jobs are invented."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.clock import SystemClock
from monitor.documents.resume import resume_flag
from monitor.documents.slurm import Slurm, parse_job
from monitor.types.facts import EnvironmentVariable, ProcessFacts
from monitor.types.identity import ProcessIdentity

CHECKPOINT = "out/checkpoint-200"
JOB = "JobId=7 TimeLimit=02:00:00 EndTime=2026-02-03T04:05:06 StdErr=/w/slurm-7.err StdOut=/w/slurm-7.out"


@pytest.mark.parametrize(
    ("line", "flag"),
    [
        ("python sft.py --resume_from_checkpoint old", f"--resume_from_checkpoint {CHECKPOINT}"),
        ("python train.py --resume=old", f"--resume={CHECKPOINT}"),
        ("python train.py --auto-resume", "--auto-resume"),
        ("python fit.py trainer.ckpt_path=old", f"trainer.ckpt_path={CHECKPOINT}"),
        ("python pretrain_gpt.py --train-iters 9", "--load out"),
        ("python -m mine", None),
    ],
)
def test_the_flag_is_spelled_as_the_program_spells_it(line: str, flag: str | None) -> None:
    assert resume_flag(tuple(line.split()), CHECKPOINT) == flag


def _fact(**variables: str) -> ProcessFacts:
    environment = tuple(EnvironmentVariable(name=name, value=value) for name, value in variables.items())
    return ProcessFacts(process=ProcessIdentity(pid=1, start_ticks=1), environment=environment)


def test_a_job_has_texts_and_an_end() -> None:
    job = parse_job(JOB)
    assert job.texts == ("/w/slurm-7.out", "/w/slurm-7.err")
    assert job.ends_s is not None
    assert parse_job(JOB.replace("02:00:00", "UNLIMITED")).ends_s is None


def test_scontrol_is_asked_once_and_the_environment_fills_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = tmp_path / "asked"
    program = tmp_path / "scontrol"
    program.write_text(f"#!/bin/sh\necho \"$@\" >> {asked}\necho '{JOB}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    slurm = Slurm(SystemClock())
    jobs = [slurm.job(_fact(SLURM_JOB_ID="7")) for _ in range(3)]
    assert [job is not None and job.texts[0] for job in jobs] == ["/w/slurm-7.out"] * 3
    assert asked.read_text() == "show job -o 7\n"
    assert slurm.job(_fact(SLURM_JOB_ID="7; rm x")) is None
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    known = Slurm(SystemClock()).job(_fact(SLURM_JOB_ID="8", SLURM_JOB_END_TIME="1800000000"))
    assert known is not None
    assert known.ends_s == 1_800_000_000
