"""The detail of a selected GPU: who holds it and since when, its limits, links, errors and clocks."""

from __future__ import annotations

from monitor.history.series import SeriesKey
from monitor.history.throttling import HARMLESS
from monitor.types.gpu import GpuSample
from tui import figures
from tui.widgets.advice_tab import problem_lines
from tui.widgets.board import Board, GpuRow
from tui.widgets.charts import Plot, gib_words, paint_plots, percent_of, up_to
from tui.widgets.detail import pieces
from tui.widgets.gpu_figures import THROTTLES, flag, memory_words, power_words, span, state_words
from tui.widgets.gpu_rows import GpuEntry, history_strip, memory_strip
from tui.widgets.ink import Line, Pen, cut, plain
from tui.widgets.looking import Looking
from tui.widgets.looking_back import since_words
from tui.widgets.problems import gpu_problems

CHART_LEAST = 5
STRIP_LEAST = 15

REASONS = {
    "not_supported": "not supported",
    "driver_too_old": "driver too old",
    "no_permission": "no permission",
    "lost": "lost",
    "timeout": "no answer in time",
    "not_yet": "not yet",
    "hidden": "hidden",
    "failed": "failed",
}


def paint_gpu_detail(board: Board, entry: GpuEntry, looking: Looking, width: int, room: int) -> list[Line]:
    """One GPU in full, or a line for each of several folded ones, with load and memory over time."""
    if len(entry.rows) > 1:
        return [_short(board, row, looking, width) for row in entry.rows]
    row = entry.rows[0]
    lines = _holders(board, row, width)
    if row.sample is None:
        return lines
    if row.sample.state in ("no_permission", "asleep"):
        lines.append(plain(state_words(row.sample), width, "warn", 2))
    lines += problem_lines(gpu_problems(board, row), width)
    blocks = (_power(row), _clocks(row), _link(row), _errors(board, row), _activity(row.sample), _identity(row))
    for block in (*blocks, since_words(board, row)):
        lines += pieces(block, width)
    missing = [f"{one.field} ({one.detail or REASONS.get(one.reason, one.reason)})" for one in row.sample.missing]
    if missing:
        lines.append(plain("not told: " + ", ".join(missing), width, "note", 2))
    height = room - len(lines) - 1
    if row.well and height >= CHART_LEAST:
        lines += [Pen().line(width), *paint_plots(board, _plots(row, row.sample), looking, width, height)]
    return lines


def _plots(row: GpuRow, sample: GpuSample) -> list[Plot]:
    """Load, power, memory, temperature: each up to its limit, where this GPU tells it."""
    subject = f"gpu:{row.uuid}"
    plots = []
    if sample.gpu_util_ratio is not None:
        plots.append(Plot("util", SeriesKey(subject, "gpu_util_ratio"), "history", percent_of))
    if row.limit_w and sample.power_w is not None:
        plots.append(Plot("power", SeriesKey(subject, "power_w"), "pace", up_to(row.limit_w, _watts)))
    if row.memory_ratio is not None and not row.identity.unified_memory:
        top = up_to(float(row.total_bytes or 1), gib_words)
        plots.append(Plot("memory", SeriesKey(subject, "memory_used_bytes:max"), "memory", top))
    if sample.temperature_c is not None:
        top = up_to(row.identity.temperature_slowdown_c or 100.0, _degrees)
        plots.append(Plot("temperature", SeriesKey(subject, "temperature_c"), "loss", top))
    return plots


def _watts(value: float) -> str:
    return f"{value:.0f} W"


def _degrees(value: float) -> str:
    return f"{value:.0f} °C"


def _short(board: Board, row: GpuRow, looking: Looking, width: int) -> Line:
    pen = Pen().gap(2).cell(row.label, 5, "strong")
    sample = row.sample
    if sample is None or not row.well:
        return pen.put(state_words(sample) if sample else "no figures yet", "warn").line(width)
    pen.cell(figures.percent(sample.gpu_util_ratio), 5, "text", "right").gap(2)
    pen.cell(f"{memory_words([row])} GiB", 15, "text", "right").gap(2)
    pen.cell(f"{power_words([row], limit=True)} W", 12, "text", "right").gap(2)
    pen.cell(f"{span([sample.temperature_c])} °C", 7, "text", "right").gap(2)
    pen.cell(f"{span([sample.sm_mhz])} MHz", 9, "text", "right").gap(2)
    word, style = flag(sample)
    pen.cell(word, 8, style)
    pen.cell(" ".join(row.letters[:3]) or ("free" if row.free else ""), 8, "free" if row.free else "letter").gap(2)
    room = (width - pen.column - 3) // 2
    if room >= STRIP_LEAST:
        pen.put(history_strip(board, [row], room, looking.span), "history").gap(2)
        pen.put(memory_strip(board, [row], room, looking.span), "memory")
    return pen.line(width)


def _holders(board: Board, row: GpuRow, width: int) -> list[Line]:
    lines = []
    holding = row.holding
    pen = Pen().gap(2)
    if row.free:
        pen.put("free", "free")
    elif holding is not None and holding.state == "held":
        pen.put("held", "strong")
        if holding.users:
            pen.put(" by ", "label").put(", ".join(holding.users), "text")
    else:
        pen.put(holding.why if holding is not None and holding.why else "not known who holds it", "label")
    if holding is not None and holding.since_s is not None:
        at = figures.clock(holding.since_s, board.utc_offset_s, board.now_s)
        words = {
            "watched": f"since {at}, as watched",
            "process_start": f"by a process that started {at}",
            "at_least": f"at least since {at}, when watching began",
        }[holding.since_kind]
        pen.put(f"   {words}", "label")
    lines.append(pen.line(width))
    for letter, run in zip(row.letters, row.runs, strict=True):
        pen = Pen().gap(2).cell(letter, 3, "letter").put(run.name, "own" if run.mine else "text")
        pen.put(f"   {'you' if run.mine else run.user or '?'}", "label")
        held = _bytes_of(board, row, run.run_id)
        if held is not None:
            pen.put(f"   {figures.size(held)} here", "text")
        lines.append(pen.line(width))
    for holder in row.others:
        pen = Pen().gap(2).cell("·", 3, "label").put(cut(holder.words, width - 30), "text")
        if holder.memory_bytes is not None:
            pen.put(f"   {figures.size(holder.memory_bytes)} here", "text")
        lines.append(pen.line(width))
    return lines


def _bytes_of(board: Board, row: GpuRow, run_id: str) -> int | None:
    run, snapshot = board.run(run_id), board.view.snapshot
    if run is None or snapshot is None or row.sample is None:
        return None
    members = {member.process for member in run.members}
    pids = {one.driver_pid for one in snapshot.pairings if one.gpu_uuid == row.uuid and one.process in members}
    sizes = [one.used_memory_bytes for one in row.sample.processes if one.pid in pids]
    known = [size for size in sizes if size is not None]
    return sum(known) if known and len(known) == len(sizes) else None


def _number(value: float | None, unit: str) -> str | None:
    return None if value is None else f"{value:.0f} {unit}"


def _some(label: str, value: str | None) -> tuple[str, str] | None:
    return None if value is None else (label, value)


def _power(row: GpuRow) -> list[tuple[str, str] | None]:
    sample, identity = row.sample, row.identity
    if sample is None:
        return []
    limits = _number(row.limit_w, "W")
    most = identity.power_limit_max_w
    if limits and most and row.limit_w and most > row.limit_w:
        limits += f" (up to {most:.0f} W)"
    slow = _number(identity.temperature_slowdown_c, "°C")
    return [
        _some("power", _number(sample.power_w, "W")),
        _some("limit", limits),
        _some("temperature", _number(sample.temperature_c, "°C")),
        _some("slows down at", slow),
        _some("memory temperature", _number(sample.memory_temperature_c, "°C")),
        _some("fan", None if sample.fan_ratio is None else figures.percent(sample.fan_ratio)),
        _some(
            "energy",
            None if sample.energy_j is None else f"{figures.energy(sample.energy_j)} since the driver was loaded",
        ),
    ]


def _clocks(row: GpuRow) -> list[tuple[str, str] | None]:
    sample, identity = row.sample, row.identity
    if sample is None:
        return []
    clock = _number(sample.sm_mhz, "MHz")
    if clock and identity.sm_max_mhz:
        clock = f"{sample.sm_mhz} of {identity.sm_max_mhz} MHz"
    named = {reason for reason, _, _ in THROTTLES}
    reasons = [one.replace("_", " ") for one in sample.throttle if one in named or one.startswith("0x")]
    return [
        _some("clock", clock),
        _some("memory clock", _number(sample.memory_mhz, "MHz")),
        _some("state", None if sample.performance_state is None else f"P{sample.performance_state}"),
        ("held down by", ", ".join(reasons) if reasons else "nothing now"),
        _some(
            "since the driver was loaded",
            ", ".join(
                f"{one.reason.replace('_', ' ')} {figures.duration(one.total_s)}"
                for one in sample.throttle_times
                if one.total_s >= 1 and one.reason not in HARMLESS
            )
            or None,
        ),
    ]


def _link(row: GpuRow) -> list[tuple[str, str] | None]:
    sample, identity = row.sample, row.identity
    pcie, nvlink = (sample.pcie, sample.nvlink) if sample else (None, None)
    items: list[tuple[str, str] | None] = []
    if pcie is not None and pcie.generation is not None:
        words = f"PCIe {pcie.generation} ×{pcie.width or '?'}"
        if identity.pcie_generation_max or identity.pcie_width_max:
            words += f" (at most {identity.pcie_generation_max or '?'} ×{identity.pcie_width_max or '?'})"
        items.append(("link", words))
    if pcie is not None and pcie.received_bytes_per_s is not None:
        sent = figures.size(pcie.transmitted_bytes_per_s)
        items.append(("traffic", f"{figures.size(pcie.received_bytes_per_s)}/s in, {sent}/s out"))
    if pcie is not None and pcie.replay_count:
        items.append(("replays", f"{pcie.replay_count:,}"))
    if nvlink is not None and nvlink.link_count:
        items.append(
            (
                "NVLink",
                f"{nvlink.active_count if nvlink.active_count is not None else '?'} of {nvlink.link_count} links up",
            )
        )
        if nvlink.error_count:
            items.append(("NVLink errors", f"{nvlink.error_count:,}"))
    if identity.numa_node is not None:
        items.append(("NUMA node", str(identity.numa_node)))
    return items


def _errors(board: Board, row: GpuRow) -> list[tuple[str, str] | None]:
    sample = row.sample
    if sample is None:
        return []
    items: list[tuple[str, str] | None] = []
    ecc = sample.ecc
    if ecc is not None and ecc.enabled is False:
        items.append(("ECC", "off"))
    elif ecc is not None:
        items.append(
            ("ECC since load", f"{_count(ecc.corrected_volatile)} corrected, {_count(ecc.uncorrected_volatile)} not")
        )
        remapped = (ecc.remapped_corrected or 0) + (ecc.remapped_uncorrected or 0)
        notes = [word for word, on in (("one pending", ecc.remap_pending), ("FAILED", ecc.remap_failed)) if on]
        if remapped or notes:
            items.append(("remapped rows", ", ".join([str(remapped), *notes])))
    if sample.xids:
        words = ", ".join(
            f"{one.xid} at {figures.clock(one.seen_s, board.utc_offset_s, board.now_s)}" for one in sample.xids[-4:]
        )
        items.append(("XID", words))
    else:
        items.append(("XID", "none seen while watching"))
    if sample.recovery_action and sample.recovery_action != "none":
        items.append(("the driver asks for", sample.recovery_action.replace("_", " ")))
    return items


def _count(value: int | None) -> str:
    return "?" if value is None else f"{value:,}"


def _activity(sample: GpuSample) -> list[tuple[str, str] | None]:
    gpm = sample.gpm
    if gpm is None:
        return []
    return [
        ("how full: SMs busy", figures.percent(gpm.sm_util_ratio)),
        ("occupancy", figures.percent(gpm.sm_occupancy_ratio)),
        ("tensor cores", figures.percent(gpm.tensor_ratio)),
        ("memory bandwidth", figures.percent(gpm.dram_ratio)),
    ]


def _identity(row: GpuRow) -> list[tuple[str, str] | None]:
    identity = row.identity
    return [
        _some("compute capability", identity.compute_capability),
        _some("bus", identity.pci_bus_id),
        ("uuid", identity.uuid),
    ]
