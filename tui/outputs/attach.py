"""What can be read of one process, through which source: `traintop attach`."""

from __future__ import annotations

from typing import Any

from monitor.types.facts import ProcessFacts
from monitor.types.run import Run
from tui.outputs.output import Output
from tui.outputs.paint import Line, Span, line
from tui.outputs.progress import NOTHING, ProgressOutput, progress_fields, progress_lines
from tui.view import View

SCHEMA = "traintop.attach/1"


class SourceOut(Output, frozen=True, kw_only=True):
    """One way in: used, agreed or refused."""

    source: str
    where: str
    used: bool
    step: float | None
    refused: str | None
    """Why it is not used; null when it is."""
    cost_seconds: float | None
    """What reading through all step sources took in the last tick."""


class AttachOutput(ProgressOutput, frozen=True, kw_only=True):
    """`traintop attach PID --json`."""

    pid: int
    run_id: str | None
    name: str | None
    user: str | None
    pids: tuple[int, ...]
    gpu_uuids: tuple[str, ...]
    watched_seconds: float | None
    sources: tuple[SourceOut, ...]


def failed(sentence: str, pid: int = 0) -> AttachOutput:
    """The object for when nothing could be read of the process."""
    unknown: dict[str, Any] = dict(NOTHING)
    return AttachOutput(
        schema=SCHEMA,
        error=sentence,
        pid=pid,
        run_id=None,
        name=None,
        user=None,
        pids=(),
        gpu_uuids=(),
        watched_seconds=None,
        sources=(),
        missing={},
        notes=(),
        **unknown,
    )


def attach_output(view: View, run: Run, pid: int) -> AttachOutput:
    """Everything that is known of the run that this process belongs to."""
    known: dict[str, Any] = progress_fields(view, run)
    taken = view.taken_s
    return AttachOutput(
        schema=SCHEMA,
        error=None,
        pid=pid,
        run_id=run.run_id,
        name=run.name,
        user=run.user,
        pids=tuple(member.process.pid for member in run.members),
        gpu_uuids=run.gpu_uuids,
        watched_seconds=None if taken is None or view.first_s is None else round(taken - view.first_s, 3),
        sources=(*_read(view, run), *_refused(view, run, pid)),
        notes=_notes(view, run, pid),
        **known,
    )


def _cost_s(view: View) -> float | None:
    timings = view.snapshot.timings if view.snapshot else ()
    return next((timing.took_s for timing in timings if timing.source == "steps"), None)


def _read(view: View, run: Run) -> tuple[SourceOut, ...]:
    cost_s = _cost_s(view)
    return tuple(
        SourceOut(
            source=one.source,
            where=one.where,
            used=one.used,
            step=one.step,
            refused=None if one.used else one.note or "another source says the same with more confidence",
            cost_seconds=cost_s,
        )
        for one in run.sources
    )


def _facts(view: View, run: Run, pid: int) -> ProcessFacts | None:
    member = next((one for one in run.members if one.process.pid == pid), None)
    return view.facts.get(member.process) if member else None


_CLOSED = {
    "pipe": "a pipe: reading it would take the text from whoever it is meant for",
    "socket": "a socket: reading it would take the text from whoever it is meant for",
    "terminal": "a terminal: what is on it cannot be read without taking its input",
    "null": "thrown away by the process itself",
    "other": "no regular file",
}


def _refused(view: View, run: Run, pid: int) -> tuple[SourceOut, ...]:
    """Descriptors that text may come out of and that cannot be read, with the reason."""
    facts = _facts(view, run, pid)
    if facts is None:
        return ()
    return tuple(
        SourceOut(
            source=f"descriptor {one.descriptor}",
            where=f"{one.role} → {one.path}",
            used=False,
            step=None,
            refused=_CLOSED[one.kind],
            cost_seconds=None,
        )
        for one in facts.open_files
        if one.kind in _CLOSED
    )


def _notes(view: View, run: Run, pid: int) -> tuple[str, ...]:
    notes: list[str] = []
    facts = _facts(view, run, pid)
    if facts is not None and not facts.mine:
        notes.append("The process belongs to another user: its open files cannot be read.")
    others = [member.process.pid for member in run.members if member.process.pid != pid]
    if others:
        notes.append(
            "The run has more processes: " + ", ".join(map(str, others[:12])) + ("…" if len(others) > 12 else "")
        )
    if run.gpus_inferred:
        notes.append("Which GPUs it uses is inferred.")
    return tuple(notes)


def attach_text(view: View, run: Run, output: AttachOutput) -> list[Line]:
    """The same for a person."""
    lines = [
        line(Span(run.name, "strong"), Span(f"  pid {output.pid}, {run.user or 'unknown user'}, {run.kind}", "dim"))
    ]
    lines += progress_lines(view, run, output.missing)
    for one in output.sources:
        if one.used:
            lines.append(line(Span("  read from     ", "dim"), f"{one.source} in {one.where}"))
    for one in output.sources:
        if not one.used:
            lines.append(line(Span("  not used      ", "dim"), f"{one.source}, {one.where}: {one.refused}"))
    return lines + [line(Span("  note          ", "dim"), note) for note in output.notes]
