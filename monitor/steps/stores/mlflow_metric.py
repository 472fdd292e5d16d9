"""A metric file of MLflow's file store: `milliseconds value step` a line, under `mlruns/EXPERIMENT/RUN/metrics/`."""

from __future__ import annotations

from monitor.clean import clean
from monitor.steps.formats.line_format import EVIDENCE_CHARS, Origin
from monitor.steps.formats.numbers import figure
from monitor.steps.stores.rows import number, wall_s
from monitor.steps.stores.store import TOP_STEP, LineStore
from monitor.types.steps import StepEvent

_SAMPLE_LINES = 3
_MILLISECONDS = (9.4e11, 5e12)
_CELLS = (3, 5)
"""Newer versions add the data set and the model."""


def is_mlflow_metric(name: str, head: bytes) -> bool:
    """By the shape of its first lines; a file that is named as texts and tables are is none."""
    if name.endswith((".csv", ".tsv", ".json", ".jsonl")) or b"\n" not in head:
        return False
    lines = head.split(b"\n")[:-1][:_SAMPLE_LINES]
    return all(_row(line.decode("utf-8", "replace")) is not None for line in lines)


class MlflowMetric(LineStore):
    """One metric of one run. Its name is the file's, which the caller says in `where`."""

    def row(self, line: str, origin: Origin) -> list[StepEvent]:
        """One reading."""
        cells = _row(line)
        if cells is None:
            return []
        at_s, value, step = cells
        name = "loss" if origin.where.rsplit("/", 1)[-1].casefold() in ("loss", "train_loss", "train/loss") else ""
        kept = figure(name, value) if name else None
        total = self.planned.total("step", step)
        return [
            StepEvent(
                process=origin.process,
                source="mlflow",
                where=origin.where,
                series="step",
                unit="step",
                step=step,
                total=total,
                total_source="" if total is None else self.planned.source,
                event_s=at_s,
                event_clock="text",
                seen_s=origin.seen_s,
                values=() if kept is None else (kept,),
                confidence=0.65,
                evidence=clean(line, EVIDENCE_CHARS),
            )
        ]


def _row(line: str) -> tuple[float, str, float] | None:
    cells = line.split()
    if len(cells) not in _CELLS or not cells[0].isdigit() or len(cells[0]) > 16:
        return None
    milliseconds, step = float(cells[0]), number(cells[2])
    if not _MILLISECONDS[0] < milliseconds < _MILLISECONDS[1] or step is None or not 0 <= step < TOP_STEP:
        return None
    try:
        float(cells[1])
    except ValueError:
        return None
    at_s = wall_s(milliseconds)
    return None if at_s is None or len(cells[1]) > 32 else (at_s, cells[1], step)
