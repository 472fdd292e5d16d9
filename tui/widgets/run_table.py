"""The runs: own ones first, siblings of a sweep in one line that opens, ended ones kept."""

from __future__ import annotations

from dataclasses import dataclass

from advisor.assessment import Assessment
from monitor.types.run import Run
from tui import figures
from tui.widgets.bars import bar
from tui.widgets.board import Board
from tui.widgets.ink import Line, Pen, cut, width_of
from tui.widgets.looking import SORTS, Looking
from tui.widgets.problems import alarm_count, problems_of
from tui.widgets.run_figures import (
    assessment_of,
    done_ratio,
    finish_words,
    gpu_words,
    gpus_words,
    least_free,
    left_words,
    loss_trend,
    loss_words,
    memory_words,
    state_words,
    step_words,
)

NARROW = 112
"""Below this a name would be cut to a few letters beside all columns."""


@dataclass(frozen=True)
class RunRow:
    """One selectable line: a run, or the siblings of a sweep."""

    key: str
    runs: tuple[Run, ...]
    inside: bool = False
    """A sibling under the line of its group."""

    @property
    def is_group(self) -> bool:
        """Whether the line stands for several runs."""
        return self.key.startswith("group:")


@dataclass(frozen=True)
class RunColumns:
    """Widths of the columns; 0 hides one."""

    name: int
    user: int
    gpus: int
    step: int
    progress: int
    pace: int
    loss: int
    memory: int
    """In use now: on GPUs, else in the machine's memory."""
    free: int
    """The least that was free on a GPU; of a run on the CPU what it uses, where `memory` has no column."""
    left: int
    finish: int
    state: int


def run_columns(width: int) -> RunColumns:
    """What fits. In a narrow terminal the finish gives its place to a state that is worth more."""
    if width < NARROW:
        fixed = RunColumns(0, 6, 0, 15, 0, 7, 0, 0, 0, 6, 16, 0)
        return _with_name(fixed, width, 30)
    if width < 150:
        return _with_name(RunColumns(0, 6, 5, 14, 0, 7, 8, 0, 10, 7, 15, 14), width, 40)
    return _with_name(
        RunColumns(0, 8, 7, 16, 0 if width < 160 else 14 if width < 180 else 26, 8, 9, 9, 14, 8, 16, 18),
        width,
        max(48, width // 4),
    )


def _with_name(c: RunColumns, width: int, most: int) -> RunColumns:
    used = sum(value + 1 for value in c.__dict__.values() if value) + 7
    return RunColumns(**{**c.__dict__, "name": max(10, min(most, width - used))})


def run_rows(board: Board, looking: Looking) -> tuple[RunRow, ...]:
    """The lines of the table after filters, order and folding."""
    runs = [run for run in board.view.runs if _shown(run, board, looking)]
    runs = _sorted(runs, board, looking.sort)
    sizes: dict[str, int] = {}
    for run in runs:
        if run.group_id and run.ended is None:
            sizes[run.group_id] = sizes.get(run.group_id, 0) + 1
    rows: list[RunRow] = []
    done: set[str] = set()
    for run in runs:
        group = run.group_id if run.ended is None else None
        if not group or sizes[group] < 2:
            rows.append(RunRow(run.run_id, (run,)))
            continue
        if group in done:
            continue
        done.add(group)
        siblings = tuple(one for one in runs if one.group_id == group and one.ended is None)
        rows.append(RunRow(f"group:{group}", siblings))
        if group in looking.expanded:
            rows.extend(RunRow(one.run_id, (one,), inside=True) for one in siblings)
    return tuple(rows)


def _shown(run: Run, board: Board, looking: Looking) -> bool:
    if looking.mine and not run.mine:
        return False
    if looking.user and run.user != looking.user:
        return False
    wanted = looking.text_filter.casefold().split()
    if not wanted:
        return True
    hay = " ".join((run.name, run.user or "", run.group_name or "", run.command)).casefold()
    # Whole words only: else "tra" would find every run that is training.
    words = {board.letters.get(run.run_id, "").casefold(), run.kind, *state_words(run, board)[0].casefold().split()}
    return all(one in hay or one in words for one in wanted)


def _sorted(runs: list[Run], board: Board, sort: int) -> list[Run]:
    order = SORTS[sort]
    if order == "time left":

        def time_left(run: Run) -> float:
            found = assessment_of(run, board)
            return found.remaining_s.likely if found and found.remaining_s else float("inf")

        return sorted(runs, key=lambda run: (run.ended is not None, time_left(run)))
    if order == "memory":
        return sorted(
            runs, key=lambda run: (run.ended is not None, -(run.gpu_memory_bytes or 0), -(run.rss_bytes or 0))
        )
    if order == "name":
        return sorted(runs, key=lambda run: (run.ended is not None, run.name.casefold()))
    return runs


def paint_runs(board: Board, looking: Looking, rows: tuple[RunRow, ...], width: int, room: int) -> list[Line]:
    """Paint into at most `room` lines, the selected line among them; what is cut is counted."""
    c = run_columns(width)
    lines = [_heading(board, looking, rows, c, width)]
    if not rows:
        lines.append(Pen().gap(2).put(_nothing(board, looking), "label").line(width))
        return lines[: max(1, room)]
    space = room - 1
    hidden = 0
    shown = rows
    if len(rows) > space:
        space -= 1
        at = next((place for place, row in enumerate(rows) if row.key == looking.run), 0)
        top = max(0, min(at - space // 2, len(rows) - space))
        shown = rows[top : top + max(1, space)]
        hidden = len(rows) - len(shown)
    lines.extend(_paint_row(row, board, looking, c, width) for row in shown)
    if hidden and space > 0:
        lines.append(Pen().gap(2).put(f"+{hidden} rows", "label").put("  ↑↓ to reach them", "faint").line(width))
    return lines


def _nothing(board: Board, looking: Looking) -> str:
    if board.view.runs and (looking.mine or looking.user or looking.text_filter):
        return f"No run fits the filter; {len(board.view.runs)} without it (esc takes it away)."
    return "No training run is seen on this machine yet. A run shows up here within seconds of its start."


def _heading(board: Board, looking: Looking, rows: tuple[RunRow, ...], c: RunColumns, width: int) -> Line:
    pen = Pen().gap().put("Runs", "title" if looking.area == "runs" else "strong")
    notes = []
    if looking.text_filter:
        notes.append(f"/{looking.text_filter}")
    if looking.user:
        notes.append(f"user {looking.user}")
    if looking.mine:
        notes.append("mine")
    total, shown = len(board.view.runs), sum(len(row.runs) for row in rows if not row.inside)
    if notes:
        notes.insert(0, f"{shown} of {total}")
    elif looking.sort:
        notes.append(f"by {SORTS[looking.sort]}")
    room = c.name - 2
    if notes:
        pen.gap(1).put(cut(" · ".join(notes), room), "key")
    else:
        pen.gap(1).put(cut("yours first" if any(run.mine for run in board.view.runs) else "", room), "label")
    pen.to(5 + c.name)
    names = (
        ("user", c.user, "left"), ("GPUs", c.gpus, "left"), ("step", c.step, "right"), ("done", c.progress, "left"),
        ("s/step", c.pace, "right"), ("loss  ", c.loss, "right"), ("memory", c.memory, "right"),
        ("free at peak" if c.memory else "memory", c.free, "right"),
        ("left", c.left, "right"), ("finishes", c.finish, "left"), ("state", c.state, "left"),
    )  # fmt: skip
    for name, cells, align in names:
        if cells:
            pen.gap(2 if name in ("finishes", "done") else 1).cell(
                name, min(cells, width - pen.column - 2), "label", align
            )
    return pen.line(width, "band")


def _paint_row(row: RunRow, board: Board, looking: Looking, c: RunColumns, width: int) -> Line:
    chosen = row.key == looking.run
    back = ("selected" if looking.area == "runs" else "marked") if chosen else ""
    if row.is_group:
        return _paint_group(row, board, looking, c, width, back)
    run = row.runs[0]
    over = run.ended is not None
    ink = "label" if over else "text"
    pen = Pen().put("▸" if chosen and looking.area != "gpus" else " ", "own")
    pen.cell(board.letters.get(run.run_id, ""), 2, "letter" if not over else "label")
    pen.gap(1 + (2 if row.inside else 0))
    pen.cell(run.name, c.name - (2 if row.inside else 0), ink if over or not run.mine else "own")
    pen.gap(1).cell("you" if run.mine else run.user or "?", c.user, ink)
    if c.gpus:
        pen.gap(1).cell(gpu_words(run, board), c.gpus, ink)
    state, state_style = state_words(run, board)
    pen.gap(1).cell(step_words(run), c.step, ink, "right")
    if c.progress:
        ratio = done_ratio(run)
        filled, empty = bar(ratio, c.progress - 5)
        pen.gap(2).put(filled, "progress").put(empty if ratio is not None else " " * len(empty), "track")
        pen.cell("" if ratio is None else figures.percent(ratio), 5, ink, "right")
    if over and not c.state:
        return pen.gap(2).put(cut(state, width - pen.column - 1), state_style).line(width, back, f"run:{row.key}")
    pen.gap(1).cell("–" if run.step_seconds is None else figures.step_time(run.step_seconds), c.pace, ink, "right")
    if c.loss:
        trend = "" if over else loss_trend(run, board.view.history)
        words = loss_words(run)
        bad = words in ("nan", "inf", "-inf")
        pen.gap(1).cell(words + (f" {trend}" if trend else "  "), c.loss, "critical" if bad else ink, "right")
    _paint_memory(pen, row.runs, board, c, ink)
    if over:
        pen.gap(1 + c.left + 2).put(cut(state, width - pen.column - 1), state_style)
        return pen.line(width, back, f"run:{row.key}")
    found = assessment_of(run, board)
    remaining = found.remaining_s if found else None
    pen.gap(1).cell(left_words(remaining.likely if remaining else None), c.left, ink, "right")
    finish = finish_words(found.finish_s if found else None, board)
    alarms = alarm_count(problems_of(board, run))
    alarm = f" ▲{alarms}" if alarms else ""
    if c.state:
        pen.gap(2).cell(finish, c.finish, ink).gap(1)
    else:
        pen.gap(2)
        if run.phase == "training" and run.kind == "training" and finish != "–":
            state, state_style = finish, ink
    state = cut(state, width - pen.column - 1)
    pen.put(state, state_style)
    if alarms and pen.column + len(alarm) <= width:
        pen.put(alarm, "warn")
    return pen.line(width, back, f"run:{row.key}")


def _paint_group(row: RunRow, board: Board, looking: Looking, c: RunColumns, width: int, back: str) -> Line:
    runs = row.runs
    is_open = row.key.removeprefix("group:") in looking.expanded
    pen = (
        Pen().put("▸" if back and looking.area != "gpus" else " ", "own").cell("−" if is_open else "+", 2, "key").gap(1)
    )
    name = group_words(runs)
    pen.cell(name, c.name, "own" if runs[0].mine else "text")
    users = {("you" if run.mine else run.user or "?") for run in runs}
    pen.gap(1).cell(users.pop() if len(users) == 1 else f"{len(users)} users", c.user, "text")
    if c.gpus:
        uuids = [uuid for run in runs for uuid in run.gpu_uuids]
        pen.gap(1).cell(gpus_words(uuids, board), c.gpus, "text")
    steps = [run.step for run in runs if run.step is not None]
    words = "–"
    if steps:
        low, high = figures.count(min(steps)), figures.count(max(steps))
        words = low if low == high else f"{low}–{high}"
    pen.gap(1).cell(words, c.step, "text", "right")
    if c.progress:
        ratios = [ratio for ratio in map(done_ratio, runs) if ratio is not None]
        ratio = sum(ratios) / len(ratios) if ratios else None
        filled, empty = bar(ratio, c.progress - 5)
        pen.gap(2).put(filled, "progress").put(empty if ratio is not None else " " * len(empty), "track")
        pen.cell("" if ratio is None else figures.percent(ratio), 5, "text", "right")
    pen.gap(1).cell("", c.pace)
    if c.loss:
        pen.gap(1).cell(_least_loss(runs), c.loss, "text", "right")
    _paint_memory(pen, runs, board, c, "text")
    last = _last_to_finish(runs, board)
    remaining, finish = (last.remaining_s, last.finish_s) if last else (None, None)
    pen.gap(1).cell(left_words(remaining.likely) if remaining else "", c.left, "text", "right")
    text = _group_state(runs, board)
    words = finish_words(finish, board) if finish else ""
    if c.state and (words or pen.column + 3 + c.finish + width_of(text) < width):
        pen.gap(2).cell(words, c.finish, "text").gap(1)
    else:
        pen.gap(2)
    pen.put(cut(text, width - pen.column - 1), "label")
    return pen.line(width, back, f"run:{row.key}")


def _least_loss(runs: tuple[Run, ...]) -> str:
    losses = [value for value in (loss_number(run) for run in runs) if value is not None]
    if not losses:
        return "–  "
    least = min(losses)
    return f"≥ {least:.1g}  " if abs(least) < 0.1 else f"≥ {least:.2g}  "


def _last_to_finish(runs: tuple[Run, ...], board: Board) -> Assessment | None:
    """What is known of the sibling that finishes last: then the sweep is done. Nothing while one of them is unknown."""
    found = [assessment_of(run, board) for run in runs]
    known = [one for one in found if one is not None and one.finish_s is not None]
    if not known or len(known) < len(found):
        return None
    return max(known, key=lambda one: one.finish_s.likely if one.finish_s else 0.0)


def _paint_memory(pen: Pen, runs: tuple[Run, ...], board: Board, c: RunColumns, ink: str) -> None:
    """What is in use, and the least that was free. In one column the word "free" tells one from the other."""
    used = memory_words(runs)
    free, style = least_free(runs, board)
    if c.memory:
        pen.gap(1).cell(used, c.memory, ink, "right")
        pen.gap(1).cell(figures.size(free), c.free, ink if style == "text" else style, "right")
    elif c.free and free is not None:
        pen.gap(1).cell(f"{figures.gib(free)}G free", c.free, ink if style == "text" else style, "right")
    elif c.free:
        pen.gap(1).cell(used, c.free, ink, "right")


def group_words(runs: tuple[Run, ...]) -> str:
    """What siblings are called together, with their number."""
    return runs[0].group_name or f"{runs[0].name} ({len(runs)})"


def loss_number(run: Run) -> float | None:
    """The loss where it is a finite number."""
    words = loss_words(run)
    try:
        number = float(words)
    except ValueError:
        return None
    return number if number == number and abs(number) != float("inf") else None


def _group_state(runs: tuple[Run, ...], board: Board) -> str:
    counts: dict[str, int] = {}
    for run in runs:
        words = state_words(run, board)[0]
        counts[words] = counts.get(words, 0) + 1
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{number} {words}" for words, number in counts.items())


def fitting(rows: tuple[RunRow, ...], key: str) -> str:
    """The selection as it can be now: the same line, the group a run has gone into, else the first."""
    if any(row.key == key for row in rows):
        return key
    for row in rows:
        if any(run.run_id == key for run in row.runs):
            return row.key
    return rows[0].key if rows else ""
