"""What the Slurm scheduler says of a job: where its text goes and when it ends. Asked at most once a minute."""

from __future__ import annotations

import re
import shutil
import subprocess
from datetime import datetime

from monitor.clean import clean
from monitor.clock import Clock
from monitor.types.facts import ProcessFacts
from monitor.types.record import Record

TIME_OUT_S = 2.0
AGAIN_S = 60.0
MAX_JOBS = 64
MAX_OUTPUT = 65536
_JOB = re.compile(r"\d{1,12}(?:_\d{1,9})?\Z")
_FIELD = re.compile(r"(?:^|\s)(StdOut|StdErr|EndTime|TimeLimit)=(\S{1,4096})")


class SlurmJob(Record, frozen=True, kw_only=True):
    """One job, as far as it could be asked."""

    ends_s: float | None = None
    """Wall clock at which the job is ended."""
    texts: tuple[str, ...] = ()
    """The files of its output and errors."""


def parse_job(text: str) -> SlurmJob:
    """Read one line of `scontrol show job -o`; its times are local and name no zone."""
    fields = dict(_FIELD.findall(text[:MAX_OUTPUT]))
    paths = [fields[name] for name in ("StdOut", "StdErr") if fields.get(name, "").startswith("/")]
    limited = fields.get("TimeLimit", "") not in ("UNLIMITED", "INFINITE")
    return SlurmJob(
        ends_s=_local_s(fields.get("EndTime", "")) if limited else None,
        texts=tuple(dict.fromkeys(clean(path, 1024) for path in paths if path != "/dev/null")),
    )


class Slurm:
    """Asks for jobs and keeps the answers."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[str, tuple[float, SlurmJob]] = {}

    def job(self, fact: ProcessFacts) -> SlurmJob | None:
        """The job that a process belongs to; `None` where it belongs to none. The environment fills what is unknown."""
        values = {v.name: v.value for v in fact.environment}
        job_id = values.get("SLURM_JOB_ID", "")
        if not _JOB.match(job_id):
            return None
        now_s = self._clock.boot_s()
        known = self._known.get(job_id)
        if known is None or now_s - known[0] >= AGAIN_S:
            if known is None and len(self._known) >= MAX_JOBS:
                self._known.pop(next(iter(self._known)))
            known = (now_s, _ask(job_id))
            self._known[job_id] = known
        job = known[1]
        end = values.get("SLURM_JOB_END_TIME", "")
        if job.ends_s is None and end.isascii() and end.isdigit() and len(end) < 12:
            return SlurmJob(ends_s=float(end), texts=job.texts)
        return job


def _ask(job_id: str) -> SlurmJob:
    program = shutil.which("scontrol")
    if program is None:
        return SlurmJob()
    try:
        done = subprocess.run(
            [program, "show", "job", "-o", job_id],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIME_OUT_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return SlurmJob()
    return parse_job(done.stdout[:MAX_OUTPUT].decode("utf-8", "replace")) if done.returncode == 0 else SlurmJob()


def _local_s(text: str) -> float | None:
    try:
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S").timestamp()  # noqa: DTZ007 - Slurm writes local time
    except (ValueError, OverflowError):
        return None
