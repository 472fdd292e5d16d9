"""What is wrong with a run and with its GPUs, as sentences with their evidence; the gravest first. No advice yet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from monitor.history.series import SeriesKey
from monitor.types.gpu import GpuSample
from monitor.types.run import Run
from tui import figures
from tui.widgets.board import Board, GpuRow
from tui.widgets.gpu_figures import STATES, THROTTLES, known
from tui.widgets.header import fold_numbers
from tui.widgets.run_figures import is_tight, loss_words

SLOWED = {
    "hw_thermal": "the hardware slows it down because of heat",
    "sw_thermal": "the driver slows it down because of heat",
    "power_brake": "the power supply makes it brake",
    "hw_slowdown": "the hardware slows it down",
    "reliability": "its voltage is held down for reliability",
    "board_limit": "the board's limit holds it down",
}
ACTIONS = {
    "reset": "a reset of the GPU",
    "reboot": "a reboot of the machine",
    "drain_p2p": "a drain of its traffic to other GPUs",
    "drain_and_reset": "a drain of its work and a reset",
    "imex": "a restart of the IMEX service",
}
XIDS = {
    13: "an exception in a kernel: mostly the program's own fault",
    31: "a memory page fault: mostly the program's own fault",
    43: "a process's work was stopped after an error of its own",
    45: "work was cleared away after an earlier error or the end of its process",
    48: "an uncorrectable memory error",
    63: "a memory row was marked for remapping",
    64: "remapping a memory row failed",
    74: "an error on an NVLink connection",
    79: "the GPU has fallen off the bus",
    94: "an uncorrectable memory error that was contained: its process ends, others go on",
    95: "an uncorrectable memory error that was not contained",
    119: "the GPU's system processor does not answer",
    120: "an error of the GPU's system processor",
}
"""Short meanings of the driver's best known error numbers, after NVIDIA's list of Xid errors."""
SHARE_WINDOW_S = 600.0


@dataclass(frozen=True)
class Problem:
    """One thing to know. `style` says how grave: critical, warn, or label for a mere fact."""

    text: str
    style: str = "warn"
    more: str = ""
    gpu_uuid: str = ""

    @property
    def alarms(self) -> bool:
        """Whether it counts as trouble."""
        return self.style in ("critical", "warn")


def alarm_count(problems: Iterable[Problem]) -> int:
    """How many of them are trouble."""
    return sum(problem.alarms for problem in problems)


def problems_of(board: Board, run: Run) -> list[Problem]:
    """Of a run that is alive, with those of its GPUs; the gravest first."""
    if run.ended is not None:
        return []
    found = [problem for uuid in run.gpu_uuids if (row := board.row(uuid)) for problem in gpu_problems(board, row, run)]
    found += _progress(board, run) + _tight(board, run)
    order = {"critical": 0, "warn": 1}
    return sorted(found, key=lambda problem: order.get(problem.style, 2))


def gpu_problems(board: Board, row: GpuRow, run: Run | None = None) -> list[Problem]:
    """Of one GPU; seen from a run, what others hold on it is one too."""
    sample = row.sample
    if sample is None:
        return []
    found = [*_state(row, sample, run), *_errors(board, row, sample)]
    if sample.state == "ok":
        found += _slowed(board, row, sample)
        if run is not None:
            found += _shared(row, run)
    return found


def _state(row: GpuRow, sample: GpuSample, run: Run | None) -> list[Problem]:
    name, found = f"GPU {row.label}", []
    if sample.state in ("lost", "needs_reset", "error"):
        more = ""
        if sample.state == "lost":
            whose = "This run" if run is not None else "A run on it"
            more = (
                f"{whose} cannot go on: its processes wait for that GPU for ever, often at 100 % of a core each. "
                "Stop it and resume without this GPU, or after a reset or reboot by an administrator."
            )
        elif sample.state == "needs_reset":
            more = "An administrator can reset it once no process uses it."
        words = (sample.state_detail or STATES[sample.state]).rstrip(".")
        about = words.removeprefix("The GPU ")
        text = f"{name} {about}." if about != words else f"{name}: {words}."
        found.append(Problem(text, "critical", more, row.uuid))
    action = sample.recovery_action
    if action and action != "none" and sample.state != "needs_reset":
        asked = ACTIONS.get(action, action.replace("_", " "))
        found.append(Problem(f"{name}: the driver asks for {asked}.", "critical", "", row.uuid))
    return found


def _errors(board: Board, row: GpuRow, sample: GpuSample) -> list[Problem]:
    name, found = f"GPU {row.label}", []
    ecc = sample.ecc
    if ecc is not None and ecc.remap_failed:
        more = "The memory has no spare rows left there: a case for replacement."
        found.append(Problem(f"{name}: remapping a faulty memory row has failed.", "critical", more, row.uuid))
    if ecc is not None and ecc.uncorrected_volatile:
        count = f"{ecc.uncorrected_volatile:,} uncorrected memory errors since the driver was loaded"
        found.append(Problem(f"{name}: {count}.", "critical", "", row.uuid))
    if sample.xids:
        last = sample.xids[-1]
        at = figures.clock(last.seen_s, board.utc_offset_s, board.now_s)
        before = len(sample.xids) - 1
        more = "" if not before else f"{before} more before it: {fold_numbers(_numbers(sample))}."
        meaning = f" ({XIDS[last.xid]})" if last.xid in XIDS else ""
        text = f"{name}: the driver reported XID {last.xid} at {at}{meaning}."
        found.append(Problem(text, "critical", more, row.uuid))
    if ecc is not None and ecc.remap_pending:
        more = "It takes effect at the next reset of the GPU."
        found.append(Problem(f"{name}: a faulty memory row waits to be remapped.", "warn", more, row.uuid))
    return found


def _numbers(sample: GpuSample) -> list[str]:
    return list(dict.fromkeys(str(one.xid) for one in sample.xids[:-1]))


def _slowed(board: Board, row: GpuRow, sample: GpuSample) -> list[Problem]:
    for reason, _, style in THROTTLES:
        if reason in sample.throttle and reason in SLOWED:
            text = f"GPU {row.label}: {SLOWED[reason]}{_now(row, sample)}."
            return [Problem(text, style, _held_down(board, row, sample), row.uuid)]
    return []


def _now(row: GpuRow, sample: GpuSample) -> str:
    parts = []
    if sample.temperature_c is not None:
        parts.append(f"{sample.temperature_c:.0f} °C")
    if sample.sm_mhz is not None:
        most = row.identity.sm_max_mhz
        parts.append(f"{sample.sm_mhz} of {most} MHz" if most else f"{sample.sm_mhz} MHz")
    return f" ({', '.join(parts)} now)" if parts else ""


def _held_down(board: Board, row: GpuRow, sample: GpuSample) -> str:
    """For what share of the time: said only where heat or power alone are counted, not a power cap beside them."""
    if "power_cap" in sample.throttle:
        return ""
    series = board.view.history.series(SeriesKey(f"gpu:{row.uuid}", "throttle_ratio"), SHARE_WINDOW_S, 60)
    shares = known(series.values)
    if len(shares) < 3:
        return ""
    share = sum(shares) / len(shares)
    if share < 0.01:
        return ""
    watched_s = len(shares) * SHARE_WINDOW_S / 60
    return f"Its clocks were held down for {share:.0%} of the last {figures.duration(watched_s)}."


def _shared(row: GpuRow, run: Run) -> list[Problem]:
    others = [f"{one.name} of {'you' if one.mine else one.user or '?'}" for one in row.runs if one is not run]
    others += [
        f"{holder.words}{f' ({figures.size(holder.memory_bytes)})' if holder.memory_bytes else ''}"
        for holder in row.others
    ]
    if not others:
        return []
    shown = ", ".join(others[:3]) + (f" and {len(others) - 3} more" if len(others) > 3 else "")
    text = f"GPU {row.label} is shared with {shown}: their memory and load count against this run."
    return [Problem(text, "label", "", row.uuid)]


def _progress(board: Board, run: Run) -> list[Problem]:
    found: list[Problem] = []
    if run.phase == "stalled":
        since = run.phase_since_s if run.phase_since_s is not None else run.last_step_s
        long = "" if since is None else f" for {figures.duration(max(0.0, board.now_s - since))}"
        usual = "" if run.step_seconds is None else f"; a step usually takes {figures.step_time(run.step_seconds)}"
        step = "Its step" if run.step is None else f"Step {figures.count(run.step)}"
        cpu = "" if run.cpu_ratio is None else f"Its processes use {cpu_words(run.cpu_ratio)} now."
        found.append(Problem(f"{step} has not moved on{long}{usual}.", "warn", cpu))
    if run.waits_for_disk:
        found.append(Problem(*_disk(board, run)))
    loss = loss_words(run)
    if loss in ("nan", "inf", "-inf"):
        found.append(Problem(f"Its loss is {loss}.", "critical", "Steps from here on mostly teach it nothing more."))
    return found


def _tight(board: Board, run: Run) -> list[Problem]:
    """Little memory was left. Servers take nearly all on purpose."""
    least = board.view.least_free.get(run.run_id)
    if least is None or run.kind == "serving" or not is_tight(least):
        return []
    row = board.row(least.gpu_uuid)
    name = f"GPU {row.label}" if row is not None else "A GPU"
    text = f"{name} had only {figures.size(least.free_bytes)} of {figures.size(least.total_bytes)} free at its peak."
    more = "As sampled while watched. What the framework keeps in reserve for itself counts as used."
    return [Problem(text, "label", more, least.gpu_uuid)]


def _disk(board: Board, run: Run) -> tuple[str, str, str]:
    snapshot = board.view.snapshot
    states = {one.process: one.state for one in snapshot.processes} if snapshot else {}
    waiting = [str(member.process.pid) for member in run.members if states.get(member.process) == "D"]
    more = f"In state D now: pid {', '.join(waiting[:6])}." if waiting else ""
    host = snapshot.host if snapshot else None
    pressure = next((one for one in host.pressures if one.resource == "io"), None) if host else None
    if pressure is not None:
        more += f" Something on this machine waited for disk {pressure.some_ratio:.0%} of the last 10 s."
    return "Its processes wait for disk.", "warn", more.strip()


def cpu_words(ratio: float) -> str:
    """Cores in use; below a tenth of one as percent of a core."""
    return f"{ratio * 100:.0f} % of a core" if ratio < 0.095 else f"{ratio:.1f} cores"
