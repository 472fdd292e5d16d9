"""The steps tab: where the step, the rate and the finish come from."""

from __future__ import annotations

from monitor.types.run import Run
from tui import figures
from tui.widgets.board import Board
from tui.widgets.charts import paint_plots, run_plots
from tui.widgets.detail import pieces
from tui.widgets.ink import Line, Pen, cut, wrapped
from tui.widgets.looking import Looking
from tui.widgets.run_figures import UNITS, assessment_of, done_ratio, finish_words, pace_label, value_of

STACKED_LEAST = 22
"""From so many lines on the charts lie below each other, at full width."""


def paint_steps(board: Board, run: Run, looking: Looking, width: int, room: int) -> list[Line]:
    """Step, rate and finish in words, charts, then every source with used or not used."""
    lines = [_progress(board, run, width), *_rate(run, width), *_left(board, run, width)]
    sources = _sources(board, run, width)
    height = room - len(lines) - len(sources)
    across = 1 if height >= STACKED_LEAST else 2
    lines += paint_plots(board, run_plots(board, run.run_id), looking, width, height, across)
    return lines + sources


def _progress(board: Board, run: Run, width: int) -> Line:
    pen = Pen().gap(2)
    if run.step is None:
        over = run.ended is not None
        why = next((one.detail for one in run.missing if one.field == "step"), "")
        words = "Its step was never read." if over else f"Its step is not known{': ' + why if why else ''}."
        return pen.put(cut(words, width - 3), "label").line(width)
    pen.put(figures.count(run.step), "strong")
    if run.total is not None:
        pen.put(" of ", "label").put(figures.count(run.total), "strong")
    pen.put(f" {UNITS[run.unit]}", "label")
    ratio = done_ratio(run)
    if ratio is not None:
        pen.put(f"  {figures.percent(ratio)}", "text")
    used = next((source for source in run.sources if source.used), None)
    if used is not None:
        pen.put("   read from ", "label").put(f"{used.source} in {used.where}" if used.where else used.source, "text")
    if run.last_step_s is not None:
        ago = max(0.0, board.now_s - run.last_step_s)
        pen.put(f"   last step {figures.duration(ago)} ago", "label")
    if run.total is not None and run.total_source:
        pen.put("   total from ", "label").put(cut(run.total_source, 24), "text")
    return pen.line(width)


def _rate(run: Run, width: int) -> list[Line]:
    if run.step_seconds is None and run.ended is not None:
        return []
    if run.step_seconds is None:
        reason = next((one.detail or one.reason for one in run.missing if one.field == "step_seconds"), "")
        return [
            Pen().gap(2).put("step time unknown", "label").put(f": {reason}" if reason else "", "label").line(width)
        ]
    clock = {"source": "by its own clock", "watched": "as watched", None: ""}[run.rate_clock]
    over = []
    if run.rate_steps:
        over.append(f"{figures.count(round(run.rate_steps))} steps")
    if run.rate_window_s:
        over.append(figures.duration(run.rate_window_s))
    measured = " ".join(part for part in (f"over {' and '.join(over)}" if over else "", clock) if part)
    spread = f" ± {run.rate_spread_ratio * 100:.0f} %" if run.rate_spread_ratio else ""
    wall_s = run.wall_seconds_per_step
    pauses = wall_s is not None and wall_s > run.step_seconds * 1.02
    # The spread is that of the mean, pauses in: an ordinary step may be far steadier.
    items: list[tuple[str, str] | None] = [
        (pace_label(run), figures.step_time(run.step_seconds) + ("" if pauses else spread))
    ]
    if measured:
        items.append(("measured", measured))
    if pauses:
        items.append(("with pauses", figures.step_time(wall_s) + spread))
    for name, label in (("tokens_per_s", "tokens/s"), ("lr", "lr"), ("grad_norm", "grad norm"), ("loss", "loss")):
        value = value_of(run, name)
        if value is not None:
            items.append((label, value if isinstance(value, str) else f"{value:.4g}"))
    return pieces(items, width)


def _left(board: Board, run: Run, width: int) -> list[Line]:
    found = assessment_of(run, board)
    if run.ended is not None:
        return []
    if found is None or found.remaining_s is None:
        reason = found.unknown_because if found else ""
        return wrapped(f"time left unknown{': ' + reason if reason else ''}", width, "label", 2)
    left = found.remaining_s
    text = (
        f"{figures.duration(left.likely)} ({figures.duration(left.low)} – {figures.duration(left.high)}, 8 of 10 times)"
    )
    lines = pieces([("left", text), ("finishes", finish_words(found.finish_s, board))], width)
    if found.basis:
        lines += wrapped(f"from {found.basis}", width, "label", 2, most=2)
    return lines


def _sources(board: Board, run: Run, width: int) -> list[Line]:
    if not run.sources:
        return []
    lines = [Pen().gap(2).put("Ways to its step", "strong").line(width)]
    for source in sorted(run.sources, key=lambda one: (not one.used, -one.confidence)):
        pen = Pen().gap(2).put("✓ used    " if source.used else "  not used", "good" if source.used else "label").gap(2)
        pen.cell(source.source, 12, "text").gap(1)
        counts = figures.count(source.step) + ("" if source.total is None else f"/{figures.count(source.total)}")
        pen.cell(counts, 16, "text", "right").gap(2)
        ago = figures.duration(max(0.0, board.now_s - source.seen_s)) + " ago" if source.seen_s else ""
        pen.cell(ago, 12, "label").gap(1)
        rest = " · ".join(part for part in (source.where, source.note) if part)
        lines.append(pen.put(cut(rest, max(0, width - pen.column - 1)), "label").line(width))
    return lines
