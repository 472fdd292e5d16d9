"""Which GPUs are free, who holds the others and since when: `traintop free`."""

from __future__ import annotations

from dataclasses import dataclass

from monitor.history.holders import Holding
from monitor.history.least_free import free_memory_bytes
from monitor.types.gpu import GpuIdentity, GpuSample
from monitor.types.messages import Hello
from tui import figures
from tui.outputs.output import Output, moment
from tui.outputs.paint import Column, Line, Span, line, table
from tui.view import View

SCHEMA = "traintop.free/1"


class HolderOut(Output, frozen=True, kw_only=True):
    """One process that holds a GPU, as the driver names it."""

    pid: int
    user: str | None
    name: str | None
    used_memory_bytes: int | None


class FreeGpuOut(Output, frozen=True, kw_only=True):
    """One GPU: whether a run could start on it."""

    uuid: str
    index: int | None
    mig_parent_index: int | None
    """For a MIG instance: the index of its GPU; `index` then counts within that."""
    name: str | None
    state: str
    """free, held, too_small (free, but less memory than was asked for) or unknown."""
    why: str | None
    memory_free_bytes: int | None
    since: str | None
    since_kind: str | None
    """watched, process_start, or at_least (already so when watching began)."""
    holders: tuple[HolderOut, ...]


class FreeOutput(Output, frozen=True, kw_only=True):
    """`traintop free --json`."""

    schema: str
    error: str | None
    taken_at: str | None
    host: str | None
    asked_count: int | None
    asked_free_bytes: int | None
    enough: bool | None
    free_count: int
    cuda_visible_devices: str | None
    """UUIDs, which hold in every device order; null when there are not enough. Whole GPUs, or one MIG instance: CUDA
    gives a process no more than one instance, and none beside a GPU."""
    gpus: tuple[FreeGpuOut, ...]


@dataclass(frozen=True)
class FreeQuestion:
    """What is asked for."""

    count: int | None = None
    min_free_bytes: int | None = None


def failed(sentence: str) -> FreeOutput:
    """The object for when nothing could be read."""
    return FreeOutput(
        schema=SCHEMA,
        error=sentence,
        taken_at=None,
        host=None,
        asked_count=None,
        asked_free_bytes=None,
        enough=None,
        free_count=0,
        cuda_visible_devices=None,
        gpus=(),
    )


def free_output(view: View, question: FreeQuestion) -> FreeOutput:
    """Every GPU judged, and a line to start a run with."""
    snapshot, hello = view.snapshot, view.hello
    if snapshot is None or hello is None:
        return failed("The agent has not answered.")
    known = {gpu.uuid: gpu for gpu in hello.gpus}
    rows = tuple(
        _gpu(view, sample, known.get(sample.uuid), view.holdings.get(sample.uuid, Holding()), question)
        for sample in snapshot.gpus
        # A GPU that is split into MIG instances takes no run itself: its instances do.
        if not (sample.uuid in known and known[sample.uuid].mig_enabled)
    )
    free = [row for row in rows if row.state == "free"]
    # The emptiest first, then the driver's order.
    free.sort(key=lambda row: -(row.memory_free_bytes or 0) // figures.GIB)
    usable = [row for row in free if row.mig_parent_index is None] or free[:1]
    wanted = len(usable) if question.count is None else question.count
    enough = len(usable) >= max(1, wanted)
    return FreeOutput(
        schema=SCHEMA,
        error=None if rows else _why_none(view, hello),
        taken_at=moment(snapshot.taken_s, hello.utc_offset_s),
        host=hello.host or None,
        asked_count=question.count,
        asked_free_bytes=question.min_free_bytes,
        enough=enough if rows else None,
        free_count=len(free),
        cuda_visible_devices=",".join(row.uuid for row in usable[:wanted]) if enough else None,
        gpus=rows,
    )


def _why_none(view: View, hello: Hello) -> str:
    if hello.driver_state == "asking":
        told = next((fault.sentence for fault in view.faults if fault.source == "driver"), "")
        return f"It is not known which GPUs are here: {told or 'the driver has not answered yet'}."
    return hello.driver_detail or "There is no GPU here."


def _gpu(
    view: View, sample: GpuSample, gpu: GpuIdentity | None, holding: Holding, question: FreeQuestion
) -> FreeGpuOut:
    free_bytes = free_memory_bytes(sample, gpu)
    state, why = str(holding.state), holding.why
    if state == "free" and question.min_free_bytes is not None:
        if free_bytes is None:
            state, why = "unknown", "its free memory cannot be read"
        elif free_bytes < question.min_free_bytes:
            state, why = "too_small", f"{figures.size(free_bytes)} free"
    offset = view.hello.utc_offset_s if view.hello else None
    return FreeGpuOut(
        uuid=sample.uuid,
        index=gpu.index if gpu else None,
        mig_parent_index=_parent_index(view, gpu),
        name=gpu.name if gpu else None,
        state=state,
        why=why or None,
        memory_free_bytes=free_bytes,
        since=moment(holding.since_s, offset),
        since_kind=holding.since_kind if holding.since_s is not None else None,
        holders=_holders(view, sample),
    )


def _parent_index(view: View, gpu: GpuIdentity | None) -> int | None:
    if gpu is None or gpu.mig_parent_uuid is None or view.hello is None:
        return None
    return next((one.index for one in view.hello.gpus if one.uuid == gpu.mig_parent_uuid), None)


_ELSEWHERE = {"other_namespace": "in another container", "hidden": "hidden by the system", "gone": "gone"}
"""What stands for a name, by how the driver's pid was paired."""


def _holders(view: View, sample: GpuSample) -> tuple[HolderOut, ...]:
    pairings = view.snapshot.pairings if view.snapshot else ()
    paired = {one.driver_pid: one.process for one in pairings if one.gpu_uuid == sample.uuid}
    elsewhere = {one.driver_pid: _ELSEWHERE.get(one.how) for one in pairings if one.gpu_uuid == sample.uuid}
    run_names = {member.process: run.name for run in view.runs for member in run.members}
    found: list[HolderOut] = []
    for process in sample.processes:
        identity = paired.get(process.pid)
        facts = view.facts.get(identity) if identity is not None else None
        name = run_names.get(identity) if identity is not None else None
        found.append(
            HolderOut(
                pid=process.pid,
                user=facts.user if facts else None,
                name=name or (facts.name if facts else None) or elsewhere.get(process.pid),
                used_memory_bytes=process.used_memory_bytes,
            )
        )
    return tuple(found)


_COLUMNS = (
    Column("#", right=True),
    Column("name", keep=2, most=26, least=8),
    Column("free GiB", right=True),
    Column("state", keep=4, most=9),
    Column("holder", most=90, least=8),
    Column("since", keep=6, most=40),
)


def free_text(output: FreeOutput, width: int) -> list[Line]:
    """The table, and the line to paste."""
    rows = [_row(gpu) for gpu in output.gpus]
    lines, _ = table(_COLUMNS, rows, width)
    lines += [line(f"{_label(gpu)}: {gpu.why}") for gpu in output.gpus if gpu.state == "unknown" and gpu.why]
    if output.cuda_visible_devices is None:
        asked = "" if output.asked_free_bytes is None else f" with {figures.size(output.asked_free_bytes)} or more"
        if output.asked_count is None or not output.free_count:
            return [*lines, line(f"There is no free GPU{asked}.")]
        return [
            *lines,
            line(f"Free: {output.free_count} of the {output.asked_count} GPUs{asked} that were asked for."),
        ]
    chosen = output.cuda_visible_devices.split(",")
    gpus = {gpu.uuid: gpu for gpu in output.gpus}
    numbers = ",".join("?" if gpus[uuid].index is None else str(gpus[uuid].index) for uuid in chosen)
    note = f"  that is {numbers} in the driver's order (CUDA_DEVICE_ORDER=PCI_BUS_ID)"
    if gpus[chosen[0]].mig_parent_index is not None:
        note = "  one MIG instance: CUDA gives no process more than one"
    return [
        *lines,
        line(Span(f"CUDA_VISIBLE_DEVICES={output.cuda_visible_devices}", "strong")),
        line(Span(note, "dim")),
    ]


def _row(gpu: FreeGpuOut) -> tuple[Span, ...]:
    role = {"free": "good", "held": "", "too_small": "warn"}.get(gpu.state, "warn")
    return (
        Span(_label(gpu)),
        Span((gpu.name or "–").removeprefix("NVIDIA "), "dim"),
        Span(figures.gib(gpu.memory_free_bytes)),
        Span(gpu.state.replace("_", " "), role),
        Span(_holder_text(gpu)),
        Span(_since_text(gpu), "dim"),
    )


def _label(gpu: FreeGpuOut) -> str:
    index = "?" if gpu.index is None else str(gpu.index)
    return index if gpu.mig_parent_index is None else f"{gpu.mig_parent_index}:{index}"


def _holder_text(gpu: FreeGpuOut) -> str:
    if gpu.state == "too_small":
        return gpu.why or ""
    if gpu.state != "held":
        return ""
    if not gpu.holders:
        return gpu.why or "a process that cannot be seen"
    first = gpu.holders[0]
    more = f" +{len(gpu.holders) - 1}" if len(gpu.holders) > 1 else ""
    if first.user is None:
        return f"pid {first.pid}, {first.name or 'nothing is known of it'}{more}"
    return f"{first.user}: {first.name or 'unknown program'} (pid {first.pid}){more}"


def _since_text(gpu: FreeGpuOut) -> str:
    """Never a duration that was not seen: the words say how the time is known."""
    if gpu.since is None or gpu.since_kind is None:
        return ""
    day, _, rest = gpu.since.partition("T")
    when = f"{day} {rest[:5]}"
    return {
        "watched": f"{when}, as watched",
        "process_start": f"its process started {when}",
        "at_least": "",
    }.get(gpu.since_kind, "")
