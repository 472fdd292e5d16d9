"""The line between the tables and the detail: whose detail it is, and which tabs there are."""

from __future__ import annotations

from tui.widgets.board import Board
from tui.widgets.gpu_rows import GpuEntry
from tui.widgets.header import fold_numbers
from tui.widgets.ink import Line, Pen, cut, width_of
from tui.widgets.looking import TAB_WORDS, Looking
from tui.widgets.problems import alarm_count, problems_of
from tui.widgets.run_table import RunRow, group_words

SHORT = {"Processes": "Procs"}


def paint_tabs(board: Board, looking: Looking, row: RunRow | None, entry: GpuEntry | None, width: int) -> Line:
    """The bar for the selected run, or for the selected GPU."""
    pen = Pen().put("▸" if looking.area == "detail" else " ", "own")
    if entry is not None:
        labels = fold_numbers([one.label for one in entry.rows])
        pen.put(f"GPU{'s' if len(entry.rows) > 1 else ''} {labels}", "strong").gap(2)
        pen.put(cut(entry.rows[0].identity.name, width - pen.column - 1), "label")
        return pen.line(width, "band")
    if row is None:
        return pen.put("Detail", "label").line(width, "band")
    words = [SHORT.get(word, word) if width < 100 else word for word in TAB_WORDS]
    alarms = alarm_count(problems_of(board, row.runs[0])) if not row.is_group else 0
    if alarms:
        words[0] += f" ▲{alarms}"
    tabs = sum(width_of(word) + 6 for word in words)
    letter = board.letters.get(row.runs[0].run_id, "") if not row.is_group else "+"
    name = row.runs[0].name if not row.is_group else group_words(row.runs)
    room = max(0, width - tabs - width_of(letter) - 5)
    pen.put(letter, "letter").gap(1)
    if room >= 6:
        pen.put(cut(name, room), "title" if looking.area == "detail" else "strong").gap(2)
    for number, word in enumerate(words):
        on = number == looking.tab
        pen.put(f" {number + 1} {word} ", "tab_on" if on else "tab", target=f"tab:{number}")
        pen.gap(1)
    return pen.line(width, "band")
