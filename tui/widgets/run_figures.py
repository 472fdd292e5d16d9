"""The figures of runs as short texts."""

from __future__ import annotations

from collections.abc import Sequence

from advisor.assessment import Assessment
from monitor.history.history import History
from monitor.history.least_free import LeastFree
from monitor.history.series import SeriesKey
from monitor.types.record import Range
from monitor.types.run import Run
from tui import figures
from tui.widgets.board import Board
from tui.widgets.header import fold_numbers

PHASES = {
    "starting": "starting",
    "preparing": "preparing data",
    "skipping": "skipping to resume",
    "warming": "warming up",
    "training": "training",
    "evaluating": "evaluating",
    "saving": "saving",
    "generating": "generating",
    "stalled": "no progress",
    "ended": "ended",
    "not_training": "not training",
}
ENDS = {
    "finished": "finished",
    "out_of_memory": "out of memory",
    "error": "error",
    "killed": "killed",
    "time_limit": "time limit",
    "unknown": "ended",
}
UNITS = {
    "optimizer_step": "steps",
    "micro_batch": "micro-batches",
    "epoch": "epochs",
    "log_line": "log lines",
    "step": "steps",
}


def pace_label(run: Run) -> str:
    """What a step time is the time of: "s/step", "s/epoch"."""
    return f"s/{'batch' if run.unit == 'micro_batch' else UNITS[run.unit][:-1]}"


def left_words(seconds: float | None) -> str:
    """Time left in few letters: "42 s", "57 min", "2 h 40", "15 h", "5.2 d"."""
    if seconds is None:
        return "–"
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    if minutes < 600:
        return f"{minutes // 60} h {minutes % 60:02d}"
    hours = round(minutes / 60)
    return f"{hours} h" if hours < 100 else f"{hours / 24:.1f} d"


def finish_words(finish_s: Range | None, board: Board) -> str:
    """Like "Tue 04:30–05:40", the day once; over more than a day in hours, "Wed 21–Thu 02 h"; over weeks in days."""
    if finish_s is None:
        return "–"
    low = figures.clock(finish_s.low, board.utc_offset_s, board.now_s)
    high = figures.clock(finish_s.high, board.utc_offset_s, board.now_s)
    if low == high:
        return low
    low_day, _, low_time = low.rpartition(" ")
    high_day, _, high_time = high.rpartition(" ")
    if low_day == high_day:
        return f"{low}–{high_time}"
    if not low_day:
        return f"{low}–{high}"
    if len(low_day) == len(high_day) == 3:
        return f"{low_day} {low_time[:2]}–{high_day} {high_time[:2]} h"
    return f"{low_day}–{high_day or high}"


def state_words(run: Run, board: Board) -> tuple[str, str]:
    """What the run does now, and its style."""
    if run.ended is not None:
        when = figures.clock(run.ended.seen_s, board.utc_offset_s, board.now_s)
        style = {"finished": "good", "unknown": "label"}.get(run.ended.how, "critical")
        return f"{ENDS[run.ended.how]} {when}", style
    if run.kind == "serving":
        return "serving", "label"
    if run.kind == "notebook":
        return "notebook", "label"
    if run.waits_for_disk:
        return "waits for disk", "warn"
    words = PHASES[run.phase]
    if run.phase == "stalled" and run.phase_since_s is not None:
        return f"{words} {left_words(board.now_s - run.phase_since_s)}", "warn"
    if run.kind == "other" and run.phase in ("starting", "not_training"):
        return "running", "label"
    return words, "text" if run.phase == "training" else "label"


def step_words(run: Run) -> str:
    """Like "12,400/40,000", or what stands in its place."""
    if run.kind == "serving":
        return run.server or "server"
    if run.step is None:
        return "–"
    unit = "" if run.unit in ("optimizer_step", "step") else f" {UNITS[run.unit]}"
    if run.total is None:
        return f"{figures.count(run.step)}{unit}"
    return f"{figures.count(run.step)}/{figures.count(run.total)}{unit}"


def done_ratio(run: Run) -> float | None:
    """How much of the steps is done."""
    if run.step is None or not run.total:
        return None
    return min(1.0, run.step / run.total)


def memory_words(runs: Sequence[Run]) -> str:
    """GPU memory that the runs hold; main memory where none uses a GPU. Unknown of one is unknown of all."""
    if all(run.ended is not None for run in runs):
        return "–"
    on_gpus = any(run.gpu_uuids for run in runs)
    sizes = [run.gpu_memory_bytes if on_gpus else run.rss_bytes for run in runs]
    known = [size for size in sizes if size is not None]
    return figures.size(sum(known)) if len(known) == len(sizes) else "–"


TIGHT_RATIO = 0.03
"""With less of the memory free than this share a slightly longer batch may fail."""


def least_free(runs: Sequence[Run], board: Board) -> tuple[int | None, str]:
    """The least memory in bytes that was free on a GPU of these runs, as sampled while watched, and its style."""
    found = [one for run in runs if (one := board.view.least_free.get(run.run_id)) is not None]
    if not found:
        return None, "text"
    least = min(found, key=lambda one: one.free_bytes)
    return least.free_bytes, "warn" if is_tight(least) else "text"


def is_tight(least: LeastFree) -> bool:
    """Whether so little was free that a slightly longer batch may fail."""
    return bool(least.total_bytes) and least.free_bytes < TIGHT_RATIO * (least.total_bytes or 0)


def value_of(run: Run, name: str) -> float | str | None:
    """The latest figure that came with a step."""
    return next((value.value for value in run.values if value.name == name), None)


def loss_words(run: Run) -> str:
    """The loss with three or four significant digits, a tiny one with one, or nan in words."""
    loss = value_of(run, "loss")
    if loss is None:
        return "–"
    if isinstance(loss, str):
        return loss
    if 0 < abs(loss) < 0.001:
        return f"{loss:.0e}"
    return f"{loss:.4g}" if abs(loss) >= 1 else f"{loss:.3g}"


def loss_trend(run: Run, history: History) -> str:
    """An arrow for where the loss went in the last minutes that were watched; nothing where that is not known."""
    if value_of(run, "loss") is None:
        return ""
    values = history.series(SeriesKey(f"run:{run.run_id}", "loss"), 600, 20).known
    if len(values) < 6:
        return ""
    third = len(values) // 3
    before, after = sum(values[:third]) / third, sum(values[-third:]) / third
    if abs(after - before) <= 0.004 * max(abs(before), 1e-9):
        return "→"
    return "↘" if after < before else "↗"


def gpu_words(run: Run, board: Board) -> str:
    """The GPUs of a run by their numbers: "0–6"."""
    return gpus_words(run.gpu_uuids, board) + ("?" if run.gpus_inferred and run.gpu_uuids else "")


def gpus_words(uuids: Sequence[str], board: Board) -> str:
    """GPUs by their numbers, in the driver's order; "CPU" for none."""
    if not uuids:
        return "CPU"
    wanted = set(uuids)
    labels = [row.label for row in board.gpus if row.uuid in wanted]
    return fold_numbers(labels).replace(", ", ",") if labels else str(len(wanted))


def assessment_of(run: Run, board: Board) -> Assessment | None:
    """The judgement on a run, where there is one."""
    return board.view.assessments.get(run.run_id)
