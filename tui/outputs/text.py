"""The plain picture of a View: what `once` prints and what the live screen shows first."""

from __future__ import annotations

from monitor.types.gpu import GpuIdentity, GpuSample
from monitor.types.messages import Hello
from monitor.types.run import Run
from tui import figures
from tui.outputs.paint import Column, Line, Span, cut_line, line, table, wrapped
from tui.view import View

_QUIET_THROTTLE = frozenset({"idle", "application_clocks", "display_clocks", "sync_boost"})
"""Reasons for low clocks that are no trouble by themselves."""

_GPU_COLUMNS = (
    Column("#", right=True),
    Column("name", keep=2, most=24, least=10),
    Column("util", right=True),
    Column("memory GiB", right=True, keep=8),
    Column("mem", right=True, keep=4),
    Column("power W", right=True, keep=3),
    Column("°C", right=True, keep=6),
    Column("MHz", right=True, keep=1),
    Column("state", keep=7, most=30, least=6),
    Column("run", most=24, least=4),
)

_RUN_COLUMNS = (
    Column("", most=3),
    Column("name", most=44, least=12),
    Column("user", keep=3, most=12, least=4),
    Column("GPUs", keep=4, most=14),
    Column("step", right=True),
    Column("a step", right=True, keep=6),
    Column("loss", right=True, keep=2),
    Column("left", right=True, keep=8),
    Column("finishes", keep=5, most=24),
    Column("state", keep=7, most=24, least=8),
)

_ENDED_SHOWN = 5
"""Ended runs come last in a view; a plain picture shows the first few of them."""


def run_letter(index: int) -> str:
    """A, B, … Z, AA, AB…: the sign that links a GPU's row to its run."""
    letters = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def picture(view: View, width: int, height: int | None = None) -> list[Line]:
    """The whole view in lines of at most `width` cells; with `height`, what is cut off is counted in the last line."""
    lines = [_header(view)]
    lines += _driver(view.hello, width)
    lines += _gpus(view, width)
    lines += _runs(view, width)
    for fault in view.faults:
        lines += wrapped(Span(" ! ", "bad"), fault.sentence, width)
    lines = [cut_line(one, width) for one in lines]
    if height is not None and len(lines) > height:
        hidden = len(lines) - height + 1
        lines = [*lines[: height - 1], line(Span(f" … {hidden} more lines", "dim"))]
    return lines


def _header(view: View) -> Line:
    hello = view.hello
    if hello is None:
        return line(Span(" traintop", "strong"), "  no answer yet")
    parts = [hello.host or "this machine"]
    if hello.gpus:
        parts.append(_kinds(hello.gpus))
    if hello.driver_version:
        parts.append(f"driver {hello.driver_version}")
    free = sum(1 for holding in view.holdings.values() if holding.state == "free")
    if view.holdings:
        parts.append(f"free: {free}")
    if hello.simulated:
        parts.append("simulated GPUs")
    if view.taken_s is not None:
        zone = f" {hello.zone}" if hello.zone else ""
        parts.append(figures.clock(view.taken_s, hello.utc_offset_s) + zone)
    return line(Span(" traintop", "strong"), "  " + " · ".join(parts))


def _kinds(gpus: tuple[GpuIdentity, ...]) -> str:
    counts: dict[str, int] = {}
    for gpu in gpus:
        if gpu.mig_parent_uuid is None:
            nameless = gpu.name == f"GPU {gpu.index}"
            name = "that does not answer" if nameless else f"× {gpu.name.removeprefix('NVIDIA ')}"
            counts[name] = counts.get(name, 0) + 1
    return " + ".join(f"{count} {name}" for name, count in counts.items())


def _driver(hello: Hello | None, width: int) -> list[Line]:
    if hello is None or hello.driver_state == "ok":
        return []
    fallback = {
        "asking": "The driver has not answered yet.",
        "absent": "There is no NVIDIA driver here.",
        "failed": "The NVIDIA driver does not work.",
        "released": "The GPUs were let go on request.",
    }
    sentence = hello.driver_detail or fallback.get(hello.driver_state, hello.driver_state)
    return wrapped(Span(" ! ", "bad" if hello.driver_state == "failed" else "warn"), sentence, width)


def _gpus(view: View, width: int) -> list[Line]:
    snapshot, hello = view.snapshot, view.hello
    if snapshot is None or hello is None or not snapshot.gpus:
        return []
    known = {gpu.uuid: gpu for gpu in hello.gpus}
    rows = [_gpu_row(view, sample, known.get(sample.uuid)) for sample in snapshot.gpus]
    lines, _ = table(_GPU_COLUMNS, rows, width)
    for sample in snapshot.gpus:
        if sample.state != "ok" and sample.state_detail:
            label = gpu_label(view, known.get(sample.uuid))
            lines += wrapped(Span(" ! ", "warn"), f"GPU {label}: {sample.state_detail}", width)
    strange = next((one.detail for one in snapshot.pairings if one.how == "other_namespace" and one.detail), "")
    return lines + (wrapped(Span(" ! ", "warn"), strange, width) if strange else [])


def _gpu_row(view: View, sample: GpuSample, gpu: GpuIdentity | None) -> tuple[Span, ...]:
    total = sample.memory_total_bytes or (gpu.memory_total_bytes if gpu else None)
    used = sample.memory_used_bytes
    share = None if not total or used is None else used / total
    limit = sample.power_limit_w or (gpu.power_limit_w if gpu else None)
    watts = "–" if sample.power_w is None else f"{sample.power_w:.0f}" + (f"/{limit:.0f}" if limit else "")
    word, role = ("split", "") if gpu is not None and gpu.mig_enabled else _gpu_state(sample)
    return (
        Span(gpu_label(view, gpu)),
        Span(gpu.name.removeprefix("NVIDIA ") if gpu else "–", "dim"),
        Span(figures.percent(sample.gpu_util_ratio)),
        Span(f"{figures.gib(used)}/{figures.gib(total)}"),
        Span(figures.percent(share), "warn" if share is not None and share >= 0.95 else ""),
        Span(watts),
        Span("–" if sample.temperature_c is None else f"{sample.temperature_c:.0f}"),
        Span("–" if sample.sm_mhz is None else str(sample.sm_mhz)),
        Span(word, role),
        Span("its MIG instances", "dim") if word == "split" else _gpu_use(view, sample),
    )


def gpu_label(view: View, gpu: GpuIdentity | None) -> str:
    """Its index in the driver's order; a MIG instance is "1:0", the first of GPU 1."""
    if gpu is None:
        return "?"
    if gpu.mig_parent_uuid is None or view.hello is None:
        return str(gpu.index)
    parent = next((one.index for one in view.hello.gpus if one.uuid == gpu.mig_parent_uuid), None)
    return f"{'?' if parent is None else parent}:{gpu.index}"


def _gpu_state(sample: GpuSample) -> tuple[str, str]:
    if sample.state != "ok":
        return sample.state.replace("_", " "), "bad"
    held = [reason for reason in sample.throttle if reason not in _QUIET_THROTTLE]
    if held == ["power_cap"]:
        return "power cap", ""  # normal under load
    if held:
        return "▲ " + ", ".join(reason.replace("_", " ") for reason in held), "warn"
    if sample.xids:
        return f"▲ XID {sample.xids[-1].xid}", "bad"
    return "ok", "good"


def _gpu_use(view: View, sample: GpuSample) -> Span:
    letters = [
        run_letter(position)
        for position, run in enumerate(view.runs)
        if sample.uuid in run.gpu_uuids and run.ended is None
    ]
    if letters:
        return Span(" ".join(letters), "strong")
    holding = view.holdings.get(sample.uuid)
    if holding is None or holding.state == "unknown":
        return Span("–", "dim")
    if holding.state == "free":
        return Span("free", "good")
    return Span("held: " + (", ".join(holding.users) or "not seen by whom"))


def _runs(view: View, width: int) -> list[Line]:
    if view.snapshot is None:
        return []
    if not view.runs:
        return [line(Span(" No training run is to be seen here yet.", "dim"))]
    living = sum(1 for run in view.runs if run.ended is None)
    shown = list(enumerate(view.runs[: living + _ENDED_SHOWN]))
    lines, _ = table(_RUN_COLUMNS, [_run_row(view, position, run) for position, run in shown], width)
    if len(view.runs) > len(shown):
        lines.append(line(Span(f" … {len(view.runs) - len(shown)} more that have ended", "dim")))
    return lines + [found for position, run in shown if (found := _source(position, run))]


def _run_row(view: View, position: int, run: Run) -> tuple[Span, ...]:
    judged = view.assessments.get(run.run_id)
    left = judged.remaining_s if judged else None
    word, role = run_state(run)
    return (
        Span(run_letter(position), "strong"),
        Span(run.name),
        Span("you" if run.mine else run.user or "?", "dim"),
        Span(gpu_list(view, run)),
        Span(progress(run)),
        Span(figures.step_time(run.step_seconds)),
        Span(value_text(run, "loss")),
        Span("–" if left is None else figures.duration(left.likely)),
        Span(finish_text(view, run)),
        Span(word, role),
    )


def run_state(run: Run) -> tuple[str, str]:
    """What a run does now in a word or two, and how serious it is."""
    if run.ended is not None:
        word = {"out_of_memory": "out of memory"}.get(run.ended.how, run.ended.how.replace("_", " "))
        if run.ended.how == "unknown":
            word = "ended"
        return word, "good" if run.ended.how == "finished" else "bad"
    if run.waits_for_disk:
        return "waits for disk", "warn"
    if run.kind != "training":
        return f"{run.kind} {run.server or ''}".strip(), ""
    word = run.phase.replace("_", " ")
    return word, "bad" if run.phase == "stalled" else ""


def progress(run: Run) -> str:
    """Step and total: "12,400 / 40,000"; a dash where there is no step."""
    if run.step is None:
        return "–"
    return figures.count(run.step) + (f" / {figures.count(run.total)}" if run.total is not None else "")


def value_text(run: Run, name: str) -> str:
    """A figure that came with the step, four significant digits."""
    for value in run.values:
        if value.name == name:
            return value.value[:8] if isinstance(value.value, str) else f"{value.value:.4g}"
    return "–"


def finish_text(view: View, run: Run) -> str:
    """When the run will finish, as a range; why not where that cannot be known is in `Assessment.unknown_because`."""
    judged = view.assessments.get(run.run_id)
    if judged is None or judged.finish_s is None or run.ended is not None:
        return "–"
    offset = view.hello.utc_offset_s if view.hello else None
    low = figures.clock(judged.finish_s.low, offset, view.taken_s)
    high = figures.clock(judged.finish_s.high, offset, view.taken_s)
    if low == high:
        return low
    same_day = low.rpartition(" ")[0] == high.rpartition(" ")[0]
    return f"{low}–{high.rpartition(' ')[2] if same_day else high}"


def gpu_list(view: View, run: Run) -> str:
    """The indices of a run's GPUs, runs of them joined, then its MIG instances: "0–3,6", "1:0"."""
    known = {gpu.uuid: gpu for gpu in view.hello.gpus} if view.hello else {}
    if not run.gpu_uuids:
        return "–"
    mine = [known[uuid] for uuid in run.gpu_uuids if uuid in known]
    if not mine:
        return f"{len(run.gpu_uuids)}×"
    instances = [gpu_label(view, gpu) for gpu in mine if gpu.mig_parent_uuid is not None]
    numbers = sorted({gpu.index for gpu in mine if gpu.mig_parent_uuid is None})
    return ",".join([*_joined(numbers), *sorted(instances)]) + ("?" if run.gpus_inferred else "")


def _joined(numbers: list[int]) -> list[str]:
    """Neighbours as "0–3"."""
    if not numbers:
        return []
    pieces: list[str] = []
    first = last = numbers[0]
    for number in [*numbers[1:], -2]:
        if number == last + 1:
            last = number
            continue
        pieces.append(str(first) if first == last else f"{first}–{last}" if last > first + 1 else f"{first},{last}")
        first = last = number
    return pieces


def _source(position: int, run: Run) -> Line | None:
    """Where a run's step was read, or why there is none."""
    used = next((source for source in run.sources if source.used), None)
    letter = run_letter(position)
    if used is not None:
        return line(Span(f" {letter}  step read from {used.source} in {used.where or 'its output'}", "dim"))
    reason = next((missing for missing in run.missing if missing.field == "step"), None)
    if reason is None or run.ended is not None:
        return None
    return line(Span(f" {letter}  no step: {reason.detail or reason.reason.replace('_', ' ')}", "dim"))
