"""The advice tab: what can be said today of the selected run, without claiming more."""

from __future__ import annotations

from monitor.types.gpu import GpuSample
from monitor.types.run import Run
from tui import figures
from tui.widgets.board import Board
from tui.widgets.glance import paint_glance
from tui.widgets.gpu_figures import THROTTLES
from tui.widgets.ink import Line, Pen, wrapped
from tui.widgets.looking import Looking
from tui.widgets.looking_back import since_trouble
from tui.widgets.run_figures import ENDS, assessment_of

FIELD_WORDS = {
    "step": "step",
    "step_seconds": "step time",
    "total": "total steps",
    "loss": "loss",
    "command": "command line",
    "gpu_memory_bytes": "GPU memory",
}

MEANINGS = {
    "hw_thermal": "the hardware slows it down because of heat",
    "sw_thermal": "the driver slows it down because of heat",
    "power_brake": "the power supply makes it brake",
    "hw_slowdown": "the hardware slows it down",
    "reliability": "its voltage is held down for reliability",
    "board_limit": "the board's limit holds it down",
}


NOTE = (
    "Looked at today: the GPUs' state, clocks, heat, ECC and XID errors, the step counter, disk waits and the finish. "
    "Advice on settings, with what each change does to memory and time, comes in a later version."
)

SHORT_NOTE = "Advice on settings comes in a later version."
ROOMY = 14
"""From so many lines on the long note costs the run at a glance nothing."""


def paint_advice(board: Board, run: Run | None, looking: Looking, width: int, room: int) -> list[Line]:
    """Faults first, then facts that are worth knowing, the run at a glance, and what is looked at."""
    lines: list[Line] = []
    for fault in board.view.faults:
        lines += _item("▲", "warn", fault.sentence, width)
    lines += _elsewhere(board, width)
    if run is not None:
        lines += _ending(run, board, width)
        lines += _gpu_facts(board, run, width)
        lines += _missing(board, run, width)
    if not lines:
        lines += _item("✓", "good", "Nothing is wrong with what is looked at today.", width)
    note = wrapped(NOTE if room >= ROOMY else SHORT_NOTE, width, "note", 2)
    glance = paint_glance(board, run, looking, width, room - len(lines) - len(note) - 2) if run is not None else []
    gap = [Pen().line(width)]
    return [*lines, *gap, *glance, *(gap if glance else ()), *note]


def _item(sign: str, style: str, text: str, width: int, more: str = "") -> list[Line]:
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
    return _item("●", "label", text, width, way)


def _ending(run: Run, board: Board, width: int) -> list[Line]:
    if run.ended is None:
        return []
    at = figures.clock(run.ended.seen_s, board.utc_offset_s, board.now_s)
    step = "" if run.step is None else f" at step {figures.count(run.step)}"
    how = ENDS[run.ended.how]
    good = run.ended.how == "finished"
    lines = _item(
        "✓" if good else "▲", "good" if good else "warn", f"Ended {at}{step}: {how}.", width, run.ended.evidence
    )
    saved = run.checkpoint
    if saved is not None and saved.path:
        whole = {True: "is whole", False: "is not whole", None: "was seen"}[saved.whole]
        lines += _item("●", "label", f"{saved.path} {whole}.", width)
    return lines


def _gpu_facts(board: Board, run: Run, width: int) -> list[Line]:
    lines: list[Line] = []
    for uuid in run.gpu_uuids:
        row = board.row(uuid)
        if row is None or row.sample is None:
            continue
        sample = row.sample
        for reason, _, style in THROTTLES:
            if reason in sample.throttle and reason in MEANINGS:
                lines += _item("▲", style, f"GPU {row.label}: {MEANINGS[reason]}{_how(sample)}.", width)
                break
        if sample.xids:
            last = sample.xids[-1]
            at = figures.clock(last.seen_s, board.utc_offset_s, board.now_s)
            lines += _item("▲", "critical", f"GPU {row.label}: the driver reported XID {last.xid} at {at}.", width)
        if sample.ecc is not None and sample.ecc.uncorrected_volatile:
            count = sample.ecc.uncorrected_volatile
            lines += _item(
                "▲",
                "critical",
                f"GPU {row.label}: {count} uncorrected memory errors since the driver was loaded.",
                width,
            )
        trouble = since_trouble(board, row)
        if trouble:
            lines += _item("●", "label", trouble, width)
    return lines


def _how(sample: GpuSample) -> str:
    parts = []
    if sample.temperature_c is not None:
        parts.append(f"{sample.temperature_c:.0f} °C")
    if sample.sm_mhz is not None:
        parts.append(f"{sample.sm_mhz} MHz")
    return f" ({', '.join(parts)} now)" if parts else ""


def _missing(board: Board, run: Run, width: int) -> list[Line]:
    if run.ended is not None or run.kind != "training":
        return []
    lines: list[Line] = []
    for missing in run.missing:
        what = FIELD_WORDS.get(missing.field, missing.field.replace("_", " "))
        lines += _item("●", "label", f"{what}: {missing.detail or missing.reason.replace('_', ' ')}", width)
    found = assessment_of(run, board)
    if found is not None and found.remaining_s is None and found.unknown_because:
        lines += _item("●", "label", f"time left: {found.unknown_because}", width)
    if run.step is None:
        ways = (
            "To see its step, from the least effort: start it with its output in a file (> train.log 2>&1), "
            "let it write event files or a trainer state, or run it in a terminal whose output is kept."
        )
        lines += wrapped(ways, width, "label", 4)
    return lines
