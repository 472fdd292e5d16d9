"""What `attach` and `log` both say of a run: step, rate, time left, and how each was read."""

from __future__ import annotations

from monitor.types.record import Range
from monitor.types.run import Run
from tui import figures
from tui.outputs.once_json import CheckpointOut, checkpoint_out, loss
from tui.outputs.output import Output, RangeOut, finite, moment, range_out, reasons
from tui.outputs.paint import Line, Span, line
from tui.outputs.text import progress
from tui.view import View


class ProgressOutput(Output, frozen=True, kw_only=True):
    """The figures of one run."""

    schema: str
    error: str | None
    step: float | None
    unit: str | None
    total_steps: float | None
    total_source: str | None
    epoch: float | None
    step_seconds: float | None
    """Steady state, stalls apart."""
    wall_seconds_per_step: float | None
    """Stalls in."""
    remaining_seconds: RangeOut | None
    finish_at: str | None
    phase: str | None
    ended: str | None
    """running, finished, out_of_memory, error, killed, time_limit or unknown."""
    loss: float | str | None
    framework: str | None
    source: str | None
    confidence: float | None
    checkpoint: CheckpointOut | None
    missing: dict[str, str]
    notes: tuple[str, ...]


NOTHING: dict[str, None] = dict.fromkeys(
    (
        "step",
        "unit",
        "total_steps",
        "total_source",
        "epoch",
        "step_seconds",
        "wall_seconds_per_step",
        "remaining_seconds",
        "finish_at",
        "phase",
        "ended",
        "loss",
        "framework",
        "source",
        "confidence",
        "checkpoint",
    )
)
"""All figures unknown, for an output that carries an error."""


def progress_fields(view: View, run: Run) -> dict[str, object]:
    """The fields of `ProgressOutput` but schema, error and notes."""
    judged = view.assessments.get(run.run_id)
    offset = view.hello.utc_offset_s if view.hello else None
    used = next((source for source in run.sources if source.used), None)
    missing = reasons(run.missing)
    remaining: Range | None = judged.remaining_s if judged else None
    finish: Range | None = judged.finish_s if judged else None
    if remaining is None and judged is not None and judged.unknown_because:
        missing["remaining_seconds"] = judged.unknown_because
    ended = "running" if run.ended is None else run.ended.how
    if ended == "finished":
        remaining = Range(low=0.0, likely=0.0, high=0.0)
        missing.pop("remaining_seconds", None)
    return {
        "step": finite(run.step),
        "unit": run.unit,
        "total_steps": finite(run.total),
        "total_source": run.total_source or None,
        "epoch": finite(run.epoch),
        "step_seconds": finite(run.step_seconds),
        "wall_seconds_per_step": finite(run.wall_seconds_per_step),
        "remaining_seconds": range_out(remaining),
        "finish_at": moment(finish.likely, offset) if finish else None,
        "phase": run.phase,
        "ended": ended,
        "loss": loss(run),
        "framework": judged.framework if judged else None,
        "source": None if used is None else f"{used.source}: {used.where}",
        "confidence": None if used is None else finite(used.confidence),
        "checkpoint": checkpoint_out(run.checkpoint, offset),
        "missing": missing,
    }


def progress_lines(view: View, run: Run, judged_missing: dict[str, str]) -> list[Line]:
    """The same for a person, one thing a line."""
    judged = view.assessments.get(run.run_id)
    left = judged.remaining_s if judged else None
    unit = run.unit.replace("_", " ")
    of = f" ({run.step / run.total * 100:.0f} %)" if run.step is not None and run.total else ""
    rows = [("step", f"{progress(run)} {unit if run.step is not None else ''}{of}".rstrip())]
    if run.step is None and "step" in judged_missing:
        rows = [("step", f"not known: {judged_missing['step']}")]
    if run.step_seconds is not None:
        whose = "by the source's own clock" if run.rate_clock == "source" else "as watched"
        rows.append(("a step takes", f"{figures.step_time(run.step_seconds)}, {whose}{_window(run)}"))
    elif "step_seconds" in judged_missing:
        rows.append(("a step takes", f"not known: {judged_missing['step_seconds']}"))
    if run.ended is not None:
        rows.append(
            ("ended", f"{run.ended.how.replace('_', ' ')}" + (f": {run.ended.evidence}" if run.ended.evidence else ""))
        )
    elif left is not None:
        spread = f"{figures.duration(left.low)} to {figures.duration(left.high)}, 8 of 10 times"
        rows.append(("left", f"{figures.duration(left.likely)} ({spread})"))
    elif judged is not None and judged.unknown_because:
        rows.append(("left", f"not known: {judged.unknown_because}"))
    if judged is not None and judged.finish_s is not None and run.ended is None:
        offset = view.hello.utc_offset_s if view.hello else None
        low, high = (figures.clock(at, offset, view.taken_s) for at in (judged.finish_s.low, judged.finish_s.high))
        rows.append(("finishes", low if low == high else f"{low} – {high}"))
    rows.append(("phase", run.phase.replace("_", " ")))
    shown = [
        f"{value.name} {value.value if isinstance(value.value, str) else format(value.value, '.4g')}"
        for value in run.values[:6]
    ]
    if shown:
        rows.append(("values", " · ".join(shown)))
    if run.checkpoint is not None:
        whole = {True: "", False: " (not whole)", None: ""}[run.checkpoint.whole]
        rows.append(("checkpoint", f"{run.checkpoint.path or 'step ' + figures.count(run.checkpoint.step)}{whole}"))
    return [line(Span(f"  {name:<14}", "dim"), text) for name, text in rows]


def _window(run: Run) -> str:
    if run.rate_window_s is None:
        return ""
    steps = f", {figures.count(round(run.rate_steps))} steps" if run.rate_steps else ""
    return f" over {figures.duration(run.rate_window_s)}{steps}"
