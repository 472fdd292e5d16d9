"""The log tab: the cleaned end of what the run writes."""

from __future__ import annotations

from collections.abc import Sequence

from monitor.types.identity import ProcessIdentity
from monitor.types.run import Run
from tui import figures
from tui.widgets.board import Board
from tui.widgets.ink import Line, Pen, cut, cut_start, plain, wrapped
from tui.widgets.looking import Looking
from tui.widgets.processes_tab import members_of


def log_process(run: Run) -> ProcessIdentity | None:
    """The process whose output stands for the run: its first trainer or server."""
    members = members_of(run)
    return members[0].process if members else None


def last_words(board: Board, run: Run) -> tuple[str, ...]:
    """What an ended run wrote last, as far as it was kept: of its first process that said anything."""
    if run.ended is None:
        return ()
    return next((words for one in members_of(run) if (words := board.view.last_words.get(one.process))), ())


def paint_log(board: Board, run: Run, looking: Looking, width: int, room: int) -> list[Line]:
    """The last lines that fit; scrolling goes back from there."""
    process = log_process(run)
    text = board.view.texts.get(process) if process else None
    if text is None:
        words = last_words(board, run)
        if words:
            lines = [plain("What it wrote last", width, "label", 2)]
            return lines + _tail(words, looking, width, room - 1)
        if run.ended is not None:
            evidence = run.ended.evidence or "Nothing of its output was kept."
            return wrapped(evidence, width, "text", 2, most=max(1, room))
        return [plain("Asking for the end of its output.", width, "label", 2)]
    if text.refused:
        return wrapped(text.refused, width, "label", 2, most=max(1, room))
    head = Pen().gap(2).put(cut_start(text.path, max(10, width - 40)), "label")
    if text.skipped_bytes:
        head.put(f"   {figures.size(text.skipped_bytes)} before it are not shown", "faint")
    lines = [head.line(width)]
    lines += _tail(text.lines, looking, width, room - 1)
    if not text.lines:
        lines.append(plain("It has written nothing yet.", width, "label", 2))
    return lines


def _tail(written: Sequence[str], looking: Looking, width: int, room: int) -> list[Line]:
    """The last of these lines that fit, scrolled back from there."""
    space = max(1, room)
    end = max(min(space, len(written)), len(written) - looking.detail_top)
    return [Pen().gap(2).put(cut(one, width - 3), "text").line(width) for one in written[max(0, end - space) : end]]
