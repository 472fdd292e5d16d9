"""The first line: which node, is it answering, what is free, what time it is there."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass

from tui import figures
from tui.widgets.board import Board
from tui.widgets.ink import Line, Pen, Span, cut, width_of, wrapped

STALE_AFTER_S = 3.0
"""A shorter silence is not worth a word."""


@dataclass(frozen=True)
class Connection:
    """How the stream stands, by the viewer's own clock."""

    kind: str = "live"
    title: str = ""
    interval_s: float = 1.0
    speed: float = 1.0
    paused: bool = False
    silent_s: float | None = None
    """Since when nothing has come; `None` while it flows."""
    ended: str = ""
    """Why the stream ended."""


def paint_header(board: Board, connection: Connection, width: int) -> list[Line]:
    """The header, and a second line where there is something to say about the driver."""
    hello = board.view.hello
    pen = Pen().gap().put("traintop", "title").gap(2)
    if hello is None:
        silent = connection.silent_s or 0.0
        words = connection.ended or ("waiting for the first answer" if silent < STALE_AFTER_S else "no answer yet")
        return [pen.put(cut(words, width - pen.column), "warn" if connection.ended else "label").line(width)]
    right = _right(board, connection, width)
    room = width - sum(width_of(text) for text, _ in right) - 3
    for position, (text, style) in enumerate(_parts(board, width)):
        piece = text if position == 0 else f" · {text}"
        if pen.column + width_of(piece) > room:
            if position == 0:
                pen.put(cut(text, room - pen.column), style)
            break
        if position:
            pen.put(" · ", "faint")
        pen.put(text, style)
    pen.to(max(pen.column + 1, width - sum(width_of(text) for text, _ in right) - 1))
    for text, style in right:
        pen.put(text, style)
    lines = [pen.line(width)]
    sentence = driver_sentence(board)
    return lines + (wrapped(sentence, width, "warn", 1, most=2) if sentence else [])


def driver_sentence(board: Board) -> str:
    """One plain sentence when there are no figures from a driver, else nothing."""
    hello = board.view.hello
    if hello is None or hello.driver_state == "ok":
        return ""
    if hello.driver_state == "asking":
        return "" if board.gpus else "Asking the driver for its GPUs."
    if hello.driver_state == "released":
        return "The GPUs are let go, so that the driver can be reloaded; the palette (^p) takes them again."
    detail = hello.driver_detail or "No NVIDIA driver here."
    if not detail.endswith("."):
        detail += "."
    return f"{detail} Training runs on the CPU are shown. `traintop doctor` explains."


def _parts(board: Board, width: int) -> list[Span]:
    """What the left side says, the most important first."""
    view, hello = board.view, board.view.hello
    parts: list[Span] = [(hello.host if hello and hello.host else "this machine", "strong")]
    if hello is not None and hello.simulated:
        parts.append(("simulated" if width < 100 else "demo: GPUs are simulated", "warn"))
    models = _models(board)
    if models:
        parts.append((models, "text"))
    if board.free_count is not None:
        numbers = [row.label for row in board.gpus if row.free]
        if numbers:
            parts.append((f"free: {_numbers(numbers)}", "free"))
        else:
            parts.append(("free: none", "label"))
    if hello is not None and hello.driver_version:
        parts.append((f"driver {hello.driver_version}", "label"))
    if view.first_s is not None:
        parts.append((f"watching since {figures.clock(view.first_s, board.utc_offset_s, view.taken_s)}", "label"))
    host = view.snapshot.host if view.snapshot else None
    if host is not None and host.cpu_ratio is not None:
        parts.append((f"CPU {figures.percent(host.cpu_ratio)}", "label"))
    if host is not None and host.memory_total_bytes and host.memory_available_bytes is not None:
        used = host.memory_total_bytes - host.memory_available_bytes
        parts.append((f"RAM {figures.gib(used, 0)}/{figures.gib(host.memory_total_bytes, 0)} GiB", "label"))
    return parts


def _models(board: Board) -> str:
    names = Counter((row.identity.name, row.total_bytes) for row in board.gpus if row.identity.mig_parent_uuid is None)
    parts = []
    for (name, total), number in names.items():
        short = short_model(name)
        memory = "" if total is None or _names_memory(short) else f" {figures.gib(total, 0)} GiB"
        parts.append(f"{number} × {short}{memory}")
    return " + ".join(parts)


def short_model(name: str) -> str:
    """A GPU's name without what every GPU's name says."""
    for part in ("NVIDIA ", "GeForce ", "Graphics Device"):
        name = name.replace(part, "")
    words = name.replace("-", " ").split()
    drop = {"HBM3", "HBM3e", "HBM2e", "HBM2", "PCIe"}
    return " ".join(word for word in words if word not in drop) or "GPU"


def _names_memory(name: str) -> bool:
    return any(word[:1].isdigit() and word.upper().endswith("GB") for word in name.split())


def _numbers(labels: list[str]) -> str:
    """Which GPUs: the word keeps a number from being read as a count."""
    return f"GPU{'s' if len(labels) > 1 else ''} {fold_numbers(labels)}"


def fold_numbers(labels: list[str]) -> str:
    """Neighbouring numbers written as a range."""
    groups: list[list[str]] = []
    for label in labels:
        last = groups[-1][-1] if groups else ""
        if last.isdigit() and label.isdigit() and int(label) == int(last) + 1:
            groups[-1].append(label)
        else:
            groups.append([label])
    return ", ".join(
        group[0] if len(group) == 1 else f"{group[0]}{'–' if len(group) > 2 else ', '}{group[-1]}" for group in groups
    )


def _right(board: Board, connection: Connection, width: int) -> list[Span]:
    spans: list[Span] = []
    view = board.view
    waiting = board.driver_waits_s
    interval_s = view.hello.interval_s if view.hello else connection.interval_s
    if connection.ended:
        spans.append((f"stream ended: {connection.ended}" if width >= 110 else "stream ended", "warn"))
    elif connection.paused:
        spans.append(("paused", "warn"))
    elif connection.silent_s is not None and connection.silent_s >= max(STALE_AFTER_S, 3 * interval_s):
        spans.append((f"no answer for {figures.duration(connection.silent_s)}", "critical"))
    elif waiting is not None and waiting >= STALE_AFTER_S:
        words = "no answer from the driver for" if width >= 100 else "driver silent for"
        spans.append((f"{words} {figures.duration(waiting)}", "critical"))
    if connection.kind == "replay":
        title = f"{connection.title} " if width >= 140 and connection.title else ""
        spans.append((f"{'  ' if spans else ''}replay {title}{connection.speed:g}×", "key"))
    elif not connection.ended:
        kind = "" if connection.kind in ("live", "demo") or width < 100 else f"{connection.kind} · "
        spans.append((f"{'  ' if spans else ''}{kind}{interval_s:g} s", "label"))
    if view.taken_s is not None and view.hello is not None:
        hello = view.hello
        day = _time("%a ", view.taken_s, hello.utc_offset_s) if width >= 100 else ""
        zone = f" {hello.zone}" if hello.zone else ""
        spans.append((" · ", "faint"))
        spans.append((day + _time("%H:%M:%S", view.taken_s, hello.utc_offset_s) + zone, "text"))
    return spans


def _time(form: str, wall_s: float, utc_offset_s: int) -> str:
    return time.strftime(form, figures.calendar(wall_s, utc_offset_s))
