"""The processes tab: who belongs to the run and what each does now."""

from __future__ import annotations

from collections.abc import Sequence

from monitor.types.process import ProcessSample
from monitor.types.run import Run, RunMember
from tui import figures
from tui.widgets.board import Board
from tui.widgets.ink import Line, Pen, cut, plain, wrapped
from tui.widgets.looking import Looking

STATES = {"R": "running", "S": "sleeping", "D": "waits for disk", "T": "stopped", "Z": "zombie", "I": "idle"}
ROLE_ORDER = ("trainer", "server", "launcher", "worker", "helper")


def members_of(run: Run) -> tuple[RunMember, ...]:
    """The members in the order of the table: trainers by rank first."""
    order = {role: place for place, role in enumerate(ROLE_ORDER)}
    return tuple(
        sorted(
            run.members,
            key=lambda one: (order.get(one.role, 9), 1 << 20 if one.rank is None else one.rank, one.process.pid),
        )
    )


def process_key(member: RunMember) -> str:
    """What names a process in a selection: a reused pid is another process."""
    return f"{member.process.pid}.{member.process.start_ticks}"


def selected_place(members: Sequence[RunMember], key: str) -> int:
    """Where the selected process stands; the first one where it is gone."""
    return next((place for place, one in enumerate(members) if process_key(one) == key), 0)


def paint_processes(
    board: Board, run: Run, looking: Looking, width: int, *, show_arguments: bool, signals: bool
) -> list[Line]:
    """A line a process, the selected one with its command below the table."""
    members = members_of(run)
    if not members:
        return [plain("No process of this run is seen any more.", width, "label", 2)]
    snapshot = board.view.snapshot
    samples = {one.process: one for one in snapshot.processes} if snapshot else {}
    pen = Pen().gap(2).cell("role", 12, "label").cell("pid", 8, "label", "right").gap(2)
    pen.cell("state", 14, "label").cell("cpu", 6, "label", "right").cell("memory", 10, "label", "right")
    if width >= 100:
        pen.cell("threads", 9, "label", "right").cell("read", 10, "label", "right").cell(
            "written", 10, "label", "right"
        )
    pen.gap(2).put("command", "label")
    lines = [pen.line(width)]
    at = selected_place(members, looking.process)
    for number, member in enumerate(members):
        lines.append(_paint(board, member, samples.get(member.process), number == at, looking, width, show_arguments))
    lines.append(Pen().line(width))
    facts = board.facts(members[at].process)
    if facts is not None:
        lines += _facts_lines(board, members[at], width, show_arguments)
    if signals:
        lines.append(Pen().gap(2).put("x", "key").put(" sends a signal to the selected process", "label").line(width))
    return lines


def command_words(board: Board, member: RunMember, *, show_arguments: bool) -> str:
    """The command line; of other users only the program's name unless asked for."""
    facts = board.facts(member.process)
    if facts is None:
        return ""
    if facts.mine or show_arguments:
        return " ".join(facts.argv) or facts.name
    return facts.name


def _paint(
    board: Board,
    member: RunMember,
    sample: ProcessSample | None,
    chosen: bool,
    looking: Looking,
    width: int,
    show_arguments: bool,
) -> Line:
    role = member.role if member.rank is None else f"{member.role} {member.rank}"
    pen = Pen().put(" ▸" if chosen else "  ", "own").cell(role, 12, "text")
    pen.cell(str(member.process.pid), 8, "text", "right").gap(2)
    if sample is None:
        pen.cell("gone", 14, "label")
    else:
        style = "warn" if sample.state in ("D", "Z", "T") else "text"
        pen.cell(STATES.get(sample.state, sample.state), 14, style)
    pen.cell(figures.percent(sample.cpu_ratio if sample else None), 6, "text", "right")
    pen.cell(figures.size(sample.rss_bytes if sample else None), 10, "text", "right")
    if width >= 100:
        threads = "–" if sample is None or sample.threads is None else str(sample.threads)
        pen.cell(threads, 9, "text", "right")
        pen.cell(figures.size(sample.read_bytes if sample else None), 10, "text", "right")
        pen.cell(figures.size(sample.written_bytes if sample else None), 10, "text", "right")
    command = command_words(board, member, show_arguments=show_arguments)
    pen.gap(2).put(cut(command, max(0, width - pen.column - 1)), "label")
    back = ("selected" if looking.area == "detail" else "marked") if chosen else ""
    return pen.line(width, back, f"process:{process_key(member)}")


def _facts_lines(board: Board, member: RunMember, width: int, show_arguments: bool) -> list[Line]:
    facts = board.facts(member.process)
    if facts is None:
        return []
    parts = [facts.user or "user ?"]
    if facts.started_s is not None:
        parts.append(f"started {figures.clock(facts.started_s, board.utc_offset_s, board.now_s)}")
    if facts.container is not None:
        runtime = "container" if facts.container.runtime == "other" else facts.container.runtime
        parts.append(f"{runtime} {facts.container.name or facts.container.container_id}".strip())
    if len(facts.namespace_pids) > 1:
        parts.append(f"pid {facts.namespace_pids[-1]} inside")
    if (facts.mine or show_arguments) and facts.cwd:
        parts.append(f"in {facts.cwd}")
    lines = [plain(" · ".join(parts), width, "label", 2)]
    if facts.mine or show_arguments:
        lines += wrapped(" ".join(facts.argv) or facts.name, width, "text", 2, most=6)
    if not (facts.mine or show_arguments):
        lines.append(plain("Arguments of other users are hidden; --show-arguments shows them.", width, "note", 2))
    return lines
