"""The memory tab: what is in use on the run's fullest GPU, by whom, and how it went."""

from __future__ import annotations

from monitor.history.series import SeriesKey
from monitor.types.run import Run
from tui import figures
from tui.widgets.board import Board, GpuRow
from tui.widgets.charts import MARGIN, gib_words, time_chart
from tui.widgets.detail import pieces
from tui.widgets.header import fold_numbers
from tui.widgets.ink import Line, Pen, plain
from tui.widgets.looking import Looking
from tui.widgets.past import past
from tui.widgets.scale import full_scale


def paint_memory(board: Board, run: Run, looking: Looking, width: int, room: int) -> list[Line]:
    """GPU memory of the run's fullest GPU; of a run on the CPU its share of the machine's memory."""
    rows = [row for uuid in run.gpu_uuids if (row := board.row(uuid)) is not None and row.sample is not None]
    if not rows:
        return _host_memory(board, run, looking, width, room)
    fullest = max(rows, key=lambda row: (row.memory_ratio or 0.0, -row.identity.index))
    lines = [_title(fullest, rows, width)]
    lines += _parts(board, run, fullest, width)
    lines += _history(board, fullest, looking, width, room - len(lines))
    return lines


def _title(row: GpuRow, rows: list[GpuRow], width: int) -> Line:
    pen = Pen().gap(2).put(f"GPU {row.label}", "strong")
    if len(rows) > 1:
        pen.put(f", the fullest of {fold_numbers([one.label for one in rows])}", "label")
    sample = row.sample
    used = sample.memory_used_bytes if sample else None
    pen.put("   in use ", "label").put(f"{figures.gib(used)} of {figures.size(row.total_bytes)}", "strong")
    if used is not None and row.total_bytes:
        pen.put("   free ", "label").put(figures.size(row.total_bytes - used), "text")
    return pen.line(width)


def memory_parts(board: Board, run: Run, row: GpuRow) -> list[tuple[str, float, str]]:
    """What the memory in use is, as the driver tells: name, bytes, style. Parts that are not known are absent."""
    sample = row.sample
    if sample is None or not row.total_bytes:
        return []
    mine = {member.process for member in run.members}
    snapshot = board.view.snapshot
    own_pids = {
        pairing.driver_pid
        for pairing in (snapshot.pairings if snapshot else ())
        if pairing.gpu_uuid == row.uuid and pairing.process in mine
    }
    own = [one.used_memory_bytes for one in sample.processes if one.pid in own_pids]
    others = [one.used_memory_bytes for one in sample.processes if one.pid not in own_pids]
    parts: list[tuple[str, float, str]] = []
    if own and None not in own:
        parts.append(("this run", float(sum(one or 0 for one in own)), "memory"))
    if others and None not in others:
        parts.append(("other processes", float(sum(one or 0 for one in others)), "pace"))
    if sample.unattributed_bytes:
        parts.append(("in use, no process named", float(sample.unattributed_bytes), "warn"))
    if sample.memory_reserved_bytes:
        parts.append(("kept by the driver", float(sample.memory_reserved_bytes), "load_low"))
    if sample.memory_used_bytes is not None:
        free = row.total_bytes - sample.memory_used_bytes - (sample.memory_reserved_bytes or 0)
        if free > 0:
            parts.append(("free", float(free), "track"))
    return parts


def _parts(board: Board, run: Run, row: GpuRow, width: int) -> list[Line]:
    parts = memory_parts(board, run, row)
    if not parts:
        return [plain("The driver does not say who holds what on this GPU.", width, "label", 2)]
    room = min(width - 4, 120)
    whole = max(float(row.total_bytes or 0), sum(size for _, size, _ in parts))
    pen = Pen().gap(2)
    done, at = 0.0, 0
    for name, size, style in parts:
        done += size
        to = round(done / whole * room)
        pen.put(("─" if name == "free" else "█") * (to - at), style)
        at = to
    legend = Pen().gap(2)
    for name, size, style in parts:
        if legend.column + len(name) + 12 > width:
            break
        legend.put("─" if name == "free" else "█", style).gap(1)
        legend.put(f"{name} ", "label").put(figures.size(size), "text").gap(3)
    return [pen.line(width), legend.line(width)]


def _history(board: Board, row: GpuRow, looking: Looking, width: int, room: int) -> list[Line]:
    window = looking.span
    total = float(row.total_bytes or 0)
    key = SeriesKey(f"gpu:{row.uuid}", "memory_used_bytes:max")
    points = max(10, width - 1 - MARGIN)
    series = past(board.view.history, key, window, points)
    known = series.known
    if not known:
        return [plain("No memory history of this GPU yet.", width, "label", 2)]
    high, low = max(known), min(known)
    items = [
        ("highest sampled", figures.size(high)),
        ("lowest", figures.size(low)),
        ("limit", figures.size(total)),
        ("window", f"last {window.words} (w)"),
    ]
    lines = pieces(items, width)
    height = room - len(lines) - 2
    if height < 2 or not total:
        return lines
    limit = Pen().cell("limit", MARGIN - 1, "label", "right").put("┤", "faint").put("─" * points, "warn").line(width)
    drawn = time_chart(series, full_scale(total, gib_words), width, height, "memory", board.utc_offset_s)
    return [*lines, limit, *drawn]


def _host_memory(board: Board, run: Run, looking: Looking, width: int, room: int) -> list[Line]:
    window = looking.span
    host = board.view.snapshot.host if board.view.snapshot else None
    total = host.memory_total_bytes if host else None
    available = host.memory_available_bytes if host else None
    items = [
        ("this run", figures.size(run.rss_bytes)),
        ("machine in use", figures.size(None if total is None or available is None else total - available)),
        ("machine has", figures.size(total)),
    ]
    if host is not None and host.swap_used_bytes:
        items.append(("swap in use", figures.size(host.swap_used_bytes)))
    lines = [plain("This run uses no GPU: its memory is the machine's.", width, "label", 2), *pieces(items, width)]
    if not total:
        return lines
    points = max(10, width - 1 - MARGIN)
    series = past(board.view.history, SeriesKey("host", "memory_used_bytes"), window, points)
    height = room - len(lines) - 1
    if series.known and height >= 2:
        scale = full_scale(float(total), gib_words)
        lines += time_chart(series, scale, width, height, "memory", board.utc_offset_s)
    return lines
