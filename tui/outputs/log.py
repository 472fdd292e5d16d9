"""What log files alone tell of a run: `traintop log`."""

from __future__ import annotations

from typing import Any

from advisor.assess import Assessor
from monitor.steps.log_file import LogFacts
from monitor.types.messages import Snapshot
from monitor.types.run import Run
from tui.outputs.output import finite, moment
from tui.outputs.paint import Line, Span, line
from tui.outputs.progress import NOTHING, ProgressOutput, progress_fields, progress_lines
from tui.view import View

SCHEMA = "traintop.log/1"


class LogOutput(ProgressOutput, frozen=True, kw_only=True):
    """`traintop log --json`: an object for each run that was named."""

    files: tuple[str, ...]
    last_line_at: str | None
    """What the time left is counted from."""
    last_line_clock: str | None
    """text, or file_time where the lines carry no clock."""
    size_bytes: int | None
    skipped_bytes: int | None


def failed(sentence: str, files: tuple[str, ...] = ()) -> LogOutput:
    """The object for when nothing could be read."""
    unknown: dict[str, Any] = dict(NOTHING)
    return LogOutput(
        schema=SCHEMA,
        error=sentence,
        files=files,
        last_line_at=None,
        last_line_clock=None,
        size_bytes=None,
        skipped_bytes=None,
        missing={},
        notes=(),
        **unknown,
    )


def log_view(facts: LogFacts) -> View:
    """A log as a view of one run, at the moment of its last line."""
    steps = facts.steps
    run = Run(
        run_id=facts.files[0] if facts.files else "log",
        name=", ".join(facts.files),
        mine=True,
        step=steps.step,
        unit=steps.unit,
        total=steps.total,
        total_source=steps.total_source,
        epoch=steps.epoch,
        step_seconds=steps.step_seconds,
        wall_seconds_per_step=steps.wall_seconds_per_step,
        rate_clock=steps.rate_clock,
        rate_window_s=steps.rate_window_s,
        rate_steps=steps.rate_steps,
        rate_spread_ratio=steps.rate_spread_ratio,
        phase=steps.phase,
        last_step_s=steps.last_step_s,
        values=steps.values,
        sources=steps.sources,
        ended=steps.ended,
        missing=steps.missing,
        settings=facts.settings,
        notes=steps.notes,
        confidence=steps.confidence,
        progress=() if steps.trail is None else steps.trail.after(0)[1],
        progress_key="" if steps.trail is None else steps.trail.key,
    )
    snapshot = Snapshot(taken_s=facts.last_line_s or 0.0, boot_s=0.0)
    assessor = Assessor()
    assessor.update(snapshot, (run,))
    return View(snapshot=snapshot, runs=(run,), assessments=assessor.assessments())


def log_output(view: View, facts: LogFacts) -> LogOutput:
    """Everything that these files tell."""
    known: dict[str, Any] = progress_fields(view, view.runs[0])
    known.update(phase=facts.phase, ended=facts.ended)
    if not isinstance(facts.loss, str):
        known["loss"] = finite(facts.loss)
    return LogOutput(
        schema=SCHEMA,
        error=None,
        files=facts.files,
        last_line_at=moment(facts.last_line_s),
        last_line_clock=facts.last_line_clock,
        size_bytes=facts.size_bytes,
        skipped_bytes=facts.skipped_bytes,
        notes=facts.notes,
        **known,
    )


def log_text(view: View, output: LogOutput) -> list[Line]:
    """The same for a person."""
    lines = [line(Span(", ".join(output.files), "strong"))]
    lines += progress_lines(view, view.runs[0], output.missing)
    if output.ended == "unknown":
        lines.append(line(Span("  ended         ", "dim"), "not said by the log, and nothing was written lately"))
    if output.last_line_at is not None:
        lines.append(line(Span("  last line     ", "dim"), output.last_line_at))
    if output.source is not None:
        lines.append(line(Span("  read from     ", "dim"), output.source))
    return lines + [line(Span("  note          ", "dim"), note) for note in output.notes]
