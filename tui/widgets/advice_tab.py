"""The advice tab: what can be said today of the selected run, without claiming more."""

from __future__ import annotations

from collections.abc import Sequence

from monitor.types.run import Run
from tui import figures
from tui.widgets.board import Board
from tui.widgets.glance import paint_glance
from tui.widgets.ink import Line, Pen, cut, wrapped
from tui.widgets.log_tab import last_words
from tui.widgets.looking import Looking
from tui.widgets.looking_back import since_trouble
from tui.widgets.problems import Problem, problems_of
from tui.widgets.run_figures import ENDS, assessment_of

FIELD_WORDS = {
    "step": "step",
    "step_seconds": "step time",
    "total": "total steps",
    "loss": "loss",
    "command": "command line",
    "gpu_memory_bytes": "GPU memory",
}

NOTE = (
    "Looked at today: the GPUs' state, clocks, heat, ECC and XID errors, the step counter, disk waits and the finish. "
    "Advice on settings, with what each change does to memory and time, comes in a later version."
)

SHORT_NOTE = "Advice on settings comes in a later version."
LAST_WORDS = 3
GAPS_LEAST = 7
"""With less room than this for the run at a glance, it gets the empty lines too."""
ROOMY = 14
"""From so many lines on the long note costs the run at a glance nothing."""


def paint_advice(board: Board, run: Run | None, looking: Looking, width: int, room: int) -> list[Line]:
    """Faults first, then facts that are worth knowing, the run at a glance, and what is looked at."""
    lines: list[Line] = []
    problems = problems_of(board, run) if run is not None else []
    told = {problem.gpu_uuid for problem in problems if problem.gpu_uuid}
    lines += problem_lines([problem for problem in problems if problem.alarms], width)
    for fault in board.view.faults:
        if fault.gpu_uuid is None or fault.gpu_uuid not in told:
            lines += item("▲", "warn", fault.sentence, width)
    lines += _elsewhere(board, width)
    if run is not None:
        lines += _ending(run, board, width)
        lines += problem_lines([problem for problem in problems if not problem.alarms], width)
        lines += _meanwhile(board, run, width)
        lines += _missing(board, run, width)
    if not lines:
        lines += item("✓", "good", "Nothing is wrong with what is looked at today.", width)
    note = wrapped(NOTE if room >= ROOMY else SHORT_NOTE, width, "note", 2)
    gap = [Pen().line(width)]
    between = gap if room - len(lines) - len(note) >= GAPS_LEAST else []
    left = room - len(lines) - len(note) - 2 * len(between)
    glance = paint_glance(board, run, looking, width, left) if run is not None else []
    return [*lines, *(between or ([] if glance else gap)), *glance, *between, *note]


def item(sign: str, style: str, text: str, width: int, more: str = "") -> list[Line]:
    """A sentence behind its sign, and more about it below."""
    first, *rest = wrapped(text, width, "text", 4)
    spans = Pen().gap(2).put(sign, style).gap(1).put(first.text.strip(), "text").line(width)
    lines = [spans, *rest]
    if more:
        lines += wrapped(more, width, "label", 4)
    return lines


def _elsewhere(board: Board, width: int) -> list[Line]:
    """Once, when the driver names processes that cannot be seen from inside this container."""
    snapshot, hello = board.view.snapshot, board.view.hello
    if snapshot is None or hello is None or not hello.in_container:
        return []
    if not any(pairing.how == "other_namespace" for pairing in snapshot.pairings):
        return []
    text = "Some GPUs are held by processes outside this container, whose names cannot be seen from inside."
    way = "Start the container with --pid=host (Kubernetes: hostPID: true) to see them."
    return item("●", "label", text, width, way)


def _ending(run: Run, board: Board, width: int) -> list[Line]:
    if run.ended is None:
        return []
    at = figures.clock(run.ended.seen_s, board.utc_offset_s, board.now_s)
    step = "" if run.step is None else f" at step {figures.count(run.step)}"
    if run.step is not None and run.total is not None:
        step += f" of {figures.count(run.total)}"
    how = {"unknown": "it is not known how"}.get(run.ended.how, ENDS[run.ended.how])
    sign, style = {"finished": ("✓", "good"), "unknown": ("●", "label")}.get(run.ended.how, ("▲", "critical"))
    lines = item(sign, style, f"Ended {at}{step}: {how}.", width, run.ended.evidence)
    words = last_words(board, run)
    if words and words[-LAST_WORDS:] != (run.ended.evidence,):
        lines.append(Pen().gap(4).put("It wrote last (5 shows more):", "label").line(width))
        lines += [Pen().gap(4).put(cut(one, width - 5), "text").line(width) for one in words[-LAST_WORDS:]]
    saved = run.checkpoint
    if saved is not None and saved.path:
        whole = {True: "is whole", False: "is not whole", None: "was seen"}[saved.whole]
        lines += item("●", "label", f"{saved.path} {whole}.", width)
    return lines


def problem_lines(problems: Sequence[Problem], width: int) -> list[Line]:
    """Each with its sign, its sentence and its evidence."""
    lines: list[Line] = []
    for problem in problems:
        lines += item("▲" if problem.alarms else "●", problem.style, problem.text, width, problem.more)
    return lines


def _meanwhile(board: Board, run: Run, width: int) -> list[Line]:
    """What happened to its GPUs while nobody looked."""
    rows = [row for uuid in run.gpu_uuids if (row := board.row(uuid)) is not None]
    return [line for row in rows if (text := since_trouble(board, row)) for line in item("●", "label", text, width)]


def _missing(board: Board, run: Run, width: int) -> list[Line]:
    if run.ended is not None or run.kind != "training":
        return []
    lines: list[Line] = []
    for missing in run.missing:
        what = FIELD_WORDS.get(missing.field, missing.field.replace("_", " "))
        lines += item("●", "label", f"{what}: {missing.detail or missing.reason.replace('_', ' ')}", width)
    found = assessment_of(run, board)
    if found is not None and found.remaining_s is None and found.unknown_because:
        lines += item("●", "label", f"time left: {found.unknown_because}", width)
    detail = next((one.detail for one in run.missing if one.field == "step"), "")
    if run.step is None and "start it with" not in detail and "run traintop as" not in detail:
        ways = (
            "To see its step, from the least effort: start it with its output in a file (> train.log 2>&1), "
            "let it write event files or a trainer state, or run it in a terminal whose output is kept."
        )
        lines += wrapped(ways, width, "label", 4)
    return lines
