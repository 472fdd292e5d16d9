"""Checks of the process lists and of utilisation per process."""

from __future__ import annotations

import contextlib
import os
import time

from benchmarks.on_gpu.assumptions import Check, NoAnswer, Observed, Subject, judged, unknown
from monitor.nvml.binding import Answer
from monitor.nvml.errors import NOT_FOUND, SUCCESS, Refusal
from monitor.nvml.metrics import MEMORY_VERSION_2
from monitor.nvml.processes import ProcessLister

_MIB = 1 << 20
_WALL_SLACK_S = 60.0


def _samples(subject: Subject, since_us: int) -> list[Answer] | str:
    """Samples of use per process, or the sentence of a refusal that means "nothing to report"."""
    answer = subject.target.call("nvmlDeviceGetProcessUtilization", since_us)
    if not isinstance(answer, Refusal):
        return list(answer)
    if answer.code in (NOT_FOUND, SUCCESS):
        return f"code {answer.code}"
    raise NoAnswer(f"nvmlDeviceGetProcessUtilization: {answer.sentence}")


def _idle_is_not_found(subject: Subject) -> Observed:
    listed = ProcessLister(subject.target.caller, subject.target.machine.pid_max()).read(
        subject.target.handle, None, time.monotonic()
    )
    found = _samples(subject, int((time.time() - 1.0) * 1e6))
    if listed.claims:
        return unknown(f"{len(listed.claims)} processes are on the GPU")
    if isinstance(found, str):
        return judged(True, f"{found} for the last second of an idle GPU")
    return judged(False, f"{len(found)} samples for the last second of a GPU without processes")


def _stamps_are_wall_microseconds(subject: Subject) -> Observed:
    found = _samples(subject, 0)
    if isinstance(found, str):
        return unknown(f"no samples ({found})")
    ages_s = [time.time() - sample.timeStamp / 1e6 for sample in found if sample.timeStamp]
    if not ages_s:
        return unknown(f"{len(found)} samples without a stamp")
    text = f"{len(ages_s)} samples; the newest is {min(ages_s):.3f} s old, the oldest {max(ages_s):.1f} s"
    return judged(abs(min(ages_s)) < _WALL_SLACK_S, text)


def _cursor_gives_only_newer(subject: Subject) -> Observed:
    first = _samples(subject, 0)
    if isinstance(first, str):
        return unknown(f"no samples ({first})")
    newest_us = max(int(sample.timeStamp) for sample in first)
    again = _samples(subject, newest_us)
    if isinstance(again, str):
        return judged(True, f"nothing newer at once ({again}) after {len(first)} samples")
    old = sum(1 for sample in again if sample.timeStamp <= newest_us)
    return judged(old == 0, f"{len(again)} samples, {old} of them not newer than asked for")


def _training_shows_in_use(subject: Subject) -> Observed:
    time.sleep(min(1.5, subject.watch_s, subject.deadline.remaining_s))
    found = _samples(subject, int((time.time() - 2.0) * 1e6))
    if isinstance(found, str):
        return judged(False, f"no sample of the last two seconds ({found})")
    percents = {int(sample.pid): int(sample.smUtil) for sample in found}
    text = f"{len(found)} samples of {len(percents)} processes, {percents.get(subject.training_pid or 0)} % for ours"
    return judged(subject.training_pid in percents and all(part <= 100 for part in percents.values()), text)


def _list_names_our_pid(subject: Subject) -> Observed:
    pid = subject.training_pid
    listed = ProcessLister(subject.target.caller, subject.target.machine.pid_max()).read(
        subject.target.handle, None, time.monotonic()
    )
    if listed.refusal is not None:
        raise NoAnswer(f"process list: {listed.refusal.sentence}")
    if listed.dropped:
        return judged(False, f"{listed.dropped} rows cannot be true")
    ours = [claim for claim in listed.claims if claim.pid == pid]
    alive = sum(1 for claim in listed.claims if os.path.exists(f"/proc/{claim.pid}"))
    text = f"{len(listed.claims)} processes, {alive} with their pid here, ours {'is' if ours else 'is not'} among them"
    if ours:
        memory = ours[0].used_memory_bytes
        text += ", with " + ("unknown memory" if memory is None else f"{memory / _MIB:.0f} MiB")
    return judged(bool(ours), text)


def _memory_of_processes_fits(subject: Subject) -> Observed:
    info = subject.ask("nvmlDeviceGetMemoryInfo", MEMORY_VERSION_2)
    listed = ProcessLister(subject.target.caller, subject.target.machine.pid_max()).read(
        subject.target.handle, info.total, time.monotonic()
    )
    known = [claim.used_memory_bytes for claim in listed.claims if claim.used_memory_bytes is not None]
    if not known:
        return unknown(f"{len(listed.claims)} processes, none with its memory")
    rest = info.used - sum(known)
    return judged(rest >= -_MIB, f"used {info.used / _MIB:.0f} MiB, {rest / _MIB:.0f} MiB of it by no listed process")


def _device_files(subject: Subject) -> Observed:
    """Whether CUDA opens every /dev/nvidiaN or only those of CUDA_VISIBLE_DEVICES."""
    folder = f"/proc/{subject.training_pid}/fd"
    paths: set[str] = set()
    for descriptor in os.listdir(folder):
        with contextlib.suppress(OSError):
            paths.add(os.readlink(f"{folder}/{descriptor}"))
    opened = sorted(path for path in paths if path.startswith("/dev/nvidia") and path[11:].isdigit())
    minor = subject.ask("nvmlDeviceGetMinorNumber")
    text = f"open: {', '.join(opened) or 'none'}; the GPU has minor number {minor}, {len(subject.target.others)} others"
    return judged(opened == [f"/dev/nvidia{minor}"], text)


CHECKS = (
    Check("an idle GPU has no samples of processes", "NOT_FOUND (6), or 0", _idle_is_not_found, "rest"),
    Check("the process list names our pid", "the training process, by its pid here", _list_names_our_pid, "load"),
    Check(
        "memory of processes fits in used",
        "their sum is not more than the GPU's used",
        _memory_of_processes_fits,
        "load",
    ),
    Check("use per process shows the training", "a sample of it, at most 100 %", _training_shows_in_use, "load"),
    Check(
        "stamps of use per process are wall-clock µs",
        "the newest is about as old as a sample period",
        _stamps_are_wall_microseconds,
        "load",
    ),
    Check("the cursor gives only newer samples", "none with a stamp at or before it", _cursor_gives_only_newer, "load"),
    Check(
        "CUDA opens only the visible GPU's device file", "/dev/nvidiaN of CUDA_VISIBLE_DEVICES", _device_files, "load"
    ),
)
