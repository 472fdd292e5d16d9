"""One moment as one JSON object: `traintop once --json`."""

from __future__ import annotations

from monitor.types.gpu import GpuIdentity, GpuSample
from monitor.types.identity import ProcessIdentity
from monitor.types.messages import Fault
from monitor.types.process import ProcessSample
from monitor.types.run import Checkpoint, Run
from tui.outputs.output import Output, RangeOut, Refusal, finite, moment, range_out, reasons
from tui.view import View

SCHEMA = "traintop.once/1"


class GpuProcessOut(Output, frozen=True, kw_only=True):
    """A process as the driver lists it. The pid may belong to another pid namespace."""

    pid: int
    used_memory_bytes: int | None
    gpu_util_ratio: float | None


class GpuOut(Output, frozen=True, kw_only=True):
    """One GPU or MIG instance."""

    uuid: str
    index: int | None
    name: str | None
    mig_parent_uuid: str | None
    memory_total_bytes: int | None
    memory_used_bytes: int | None
    memory_reserved_bytes: int | None
    gpu_util_ratio: float | None
    memory_busy_ratio: float | None
    power_w: float | None
    power_limit_w: float | None
    temperature_c: float | None
    sm_mhz: int | None
    throttle: tuple[str, ...]
    xid: int | None
    state: str
    state_detail: str
    missing: dict[str, str]
    processes: tuple[GpuProcessOut, ...] | None
    """null when the driver gave no list at all."""


class ProcessOut(Output, frozen=True, kw_only=True):
    """A process that is watched."""

    pid: int
    user: str | None
    name: str
    command: str | None
    """null for other users' processes, unless --show-arguments asks."""
    kind: str
    run_id: str | None
    cpu_ratio: float | None
    rss_bytes: int | None
    threads: int | None
    state: str
    started_at: str | None
    missing: dict[str, str]


class CheckpointOut(Output, frozen=True, kw_only=True):
    """The newest checkpoint that was seen."""

    step: int | None
    path: str
    written_at: str | None
    whole: bool | None


class RunOut(Output, frozen=True, kw_only=True):
    """One run."""

    run_id: str
    name: str
    kind: str
    user: str | None
    mine: bool
    pids: tuple[int, ...]
    gpu_uuids: tuple[str, ...]
    gpus_inferred: bool
    framework: str | None
    step: float | None
    unit: str
    total_steps: float | None
    total_source: str | None
    epoch: float | None
    step_seconds: float | None
    wall_seconds_per_step: float | None
    rate_clock: str | None
    rate_window_seconds: float | None
    loss: float | str | None
    phase: str
    remaining_seconds: RangeOut | None
    finish_at: str | None
    checkpoint: CheckpointOut | None
    source: str | None
    ended: str | None
    missing: dict[str, str]


class FindingOut(Output, frozen=True, kw_only=True):
    """One finding. There are none before there are rules; the key is promised already."""

    rule: str
    severity: str
    claim: str


class OnceOutput(Output, frozen=True, kw_only=True):
    """`traintop once --json`: one object at every exit status."""

    schema: str
    error: str | None
    """A sentence where nothing could be read; then the rest is null or empty."""
    taken_at: str | None
    host: str | None
    simulated: bool | None
    driver_state: str | None
    driver_detail: str | None
    driver_version: str | None
    gpus: tuple[GpuOut, ...]
    processes: tuple[ProcessOut, ...]
    runs: tuple[RunOut, ...]
    findings: tuple[FindingOut, ...]
    not_judged: tuple[Refusal, ...]
    faults: tuple[str, ...]


def failed(sentence: str) -> OnceOutput:
    """The object for when nothing could be read."""
    return OnceOutput(
        schema=SCHEMA,
        error=sentence,
        taken_at=None,
        host=None,
        simulated=None,
        driver_state=None,
        driver_detail=None,
        driver_version=None,
        gpus=(),
        processes=(),
        runs=(),
        findings=(),
        not_judged=(),
        faults=(),
    )


def once_output(view: View, *, show_arguments: bool = False) -> OnceOutput:
    """The view as typed output."""
    snapshot, hello = view.snapshot, view.hello
    if snapshot is None or hello is None:
        return failed("The agent has not answered.")
    known = {gpu.uuid: gpu for gpu in hello.gpus}
    run_of = {member.process: run.run_id for run in view.runs for member in run.members}
    return OnceOutput(
        schema=SCHEMA,
        error=None,
        taken_at=moment(snapshot.taken_s, hello.utc_offset_s),
        host=hello.host or None,
        simulated=hello.simulated,
        driver_state=hello.driver_state,
        driver_detail=hello.driver_detail or None,
        driver_version=hello.driver_version,
        gpus=tuple(gpu_out(sample, known.get(sample.uuid)) for sample in snapshot.gpus),
        processes=tuple(_process(view, sample, run_of, show_arguments) for sample in snapshot.processes),
        runs=tuple(run_out(view, run) for run in view.runs),
        findings=(),
        not_judged=(Refusal(subject="findings", reason="this version of traintop has no advice rules yet"),),
        faults=tuple(_fault(fault) for fault in view.faults),
    )


def gpu_out(sample: GpuSample, gpu: GpuIdentity | None) -> GpuOut:
    """One GPU; what it refused is in `missing`."""
    first = None if gpu is None else gpu.power_limit_w
    total = None if gpu is None else gpu.memory_total_bytes
    return GpuOut(
        uuid=sample.uuid,
        index=None if gpu is None else gpu.index,
        name=None if gpu is None else gpu.name,
        mig_parent_uuid=None if gpu is None else gpu.mig_parent_uuid,
        memory_total_bytes=total if sample.memory_total_bytes is None else sample.memory_total_bytes,
        memory_used_bytes=sample.memory_used_bytes,
        memory_reserved_bytes=sample.memory_reserved_bytes,
        gpu_util_ratio=finite(sample.gpu_util_ratio),
        memory_busy_ratio=finite(sample.memory_busy_ratio),
        power_w=finite(sample.power_w),
        power_limit_w=finite(first if sample.power_limit_w is None else sample.power_limit_w),
        temperature_c=finite(sample.temperature_c),
        sm_mhz=sample.sm_mhz,
        throttle=sample.throttle,
        xid=sample.xids[-1].xid if sample.xids else None,
        state=sample.state,
        state_detail=sample.state_detail,
        missing=reasons((*(gpu.missing if gpu else ()), *sample.missing)),
        processes=tuple(
            GpuProcessOut(
                pid=process.pid,
                used_memory_bytes=process.used_memory_bytes,
                gpu_util_ratio=finite(process.gpu_util_ratio),
            )
            for process in sample.processes
        )
        if sample.processes_known
        else None,
    )


def _process(view: View, sample: ProcessSample, run_of: dict[ProcessIdentity, str], show_arguments: bool) -> ProcessOut:
    facts = view.facts.get(sample.process)
    command = None
    if facts is not None and facts.argv and (facts.mine or show_arguments):
        command = " ".join(facts.argv)
    return ProcessOut(
        pid=sample.process.pid,
        user=facts.user if facts else None,
        name=facts.name if facts else "",
        command=command,
        kind=facts.kind if facts else "other",
        run_id=run_of.get(sample.process),
        cpu_ratio=finite(sample.cpu_ratio),
        rss_bytes=sample.rss_bytes,
        threads=sample.threads,
        state=sample.state,
        started_at=moment(facts.started_s, view.hello.utc_offset_s if view.hello else None) if facts else None,
        missing=reasons(facts.missing) if facts else {},
    )


def run_out(view: View, run: Run) -> RunOut:
    """One run with what is judged of it."""
    judged = view.assessments.get(run.run_id)
    offset = view.hello.utc_offset_s if view.hello else None
    missing = reasons(run.missing)
    if judged is not None and judged.remaining_s is None and judged.unknown_because:
        missing["remaining_seconds"] = judged.unknown_because
    used = next((source for source in run.sources if source.used), None)
    finish = judged.finish_s if judged else None
    return RunOut(
        run_id=run.run_id,
        name=run.name,
        kind=run.kind,
        user=run.user,
        mine=run.mine,
        pids=tuple(member.process.pid for member in run.members),
        gpu_uuids=run.gpu_uuids,
        gpus_inferred=run.gpus_inferred,
        framework=judged.framework if judged else None,
        step=finite(run.step),
        unit=run.unit,
        total_steps=finite(run.total),
        total_source=run.total_source or None,
        epoch=finite(run.epoch),
        step_seconds=finite(run.step_seconds),
        wall_seconds_per_step=finite(run.wall_seconds_per_step),
        rate_clock=run.rate_clock,
        rate_window_seconds=finite(run.rate_window_s),
        loss=loss(run),
        phase=run.phase,
        remaining_seconds=range_out(judged.remaining_s if judged else None),
        finish_at=moment(finish.likely, offset) if finish else None,
        checkpoint=checkpoint_out(run.checkpoint, offset),
        source=None if used is None else f"{used.source}: {used.where}",
        ended=run.ended.how if run.ended else None,
        missing=missing,
    )


def loss(run: Run) -> float | str | None:
    """The latest loss: a number, "nan" or "inf" where the text says so, else null."""
    for value in run.values:
        if value.name == "loss":
            return value.value if isinstance(value.value, str) else finite(value.value)
    return None


def checkpoint_out(checkpoint: Checkpoint | None, utc_offset_s: int | None) -> CheckpointOut | None:
    """The newest checkpoint, where one was seen."""
    if checkpoint is None:
        return None
    return CheckpointOut(
        step=checkpoint.step,
        path=checkpoint.path,
        written_at=moment(checkpoint.written_s, utc_offset_s),
        whole=checkpoint.whole,
    )


def _fault(fault: Fault) -> str:
    return f"{fault.source}: {fault.sentence}"
