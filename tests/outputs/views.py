"""Invented views to print: everything known, everything unknown, no driver."""

from __future__ import annotations

from advisor.assessment import Assessment
from monitor.history.holders import Holding
from monitor.types.facts import ProcessFacts
from monitor.types.gpu import GpuIdentity, GpuProcess, GpuSample, XidEvent
from monitor.types.identity import ProcessIdentity
from monitor.types.messages import Fault, Hello, Snapshot
from monitor.types.process import Pairing, ProcessSample
from monitor.types.record import Missing, Range
from monitor.types.run import Checkpoint, Run, RunMember, SourceReading
from monitor.types.steps import StepValue
from tui.view import View

NOW_S = 1_800_000_000.0
GIB = 1024**3
MINE = ProcessIdentity(pid=4711, start_ticks=100)
OTHERS = ProcessIdentity(pid=4800, start_ticks=200)


def hello(**changes: object) -> Hello:
    fields: dict[str, object] = {
        "taken_s": NOW_S,
        "boot_s": 10.0,
        "host": "node07",
        "zone": "CET",
        "utc_offset_s": 3600,
        "driver_state": "ok",
        "driver_version": "580.95",
        "gpus": tuple(
            GpuIdentity(
                uuid=f"GPU-{index}",
                index=index,
                name="NVIDIA H100 80GB HBM3",
                memory_total_bytes=80 * GIB,
                power_limit_w=700.0,
            )
            for index in range(3)
        ),
    }
    return Hello(**{**fields, **changes})  # type: ignore[arg-type]


def full_view() -> View:
    """Three GPUs: one of ours, one of somebody else's, one lost."""
    gpus = (
        GpuSample(
            uuid="GPU-0",
            gpu_util_ratio=0.94,
            memory_busy_ratio=0.4,
            memory_used_bytes=70 * GIB,
            memory_reserved_bytes=GIB // 2,
            power_w=634.0,
            temperature_c=62.0,
            sm_mhz=1980,
            throttle=("hw_thermal",),
            xids=(XidEvent(xid=31, seen_s=NOW_S),),
            processes=(GpuProcess(pid=4711, used_memory_bytes=70 * GIB),),
        ),
        GpuSample(
            uuid="GPU-1",
            gpu_util_ratio=0.5,
            memory_used_bytes=20 * GIB,
            processes=(GpuProcess(pid=4800, used_memory_bytes=None),),
        ),
        GpuSample(
            uuid="GPU-2",
            state="lost",
            state_detail="This GPU has fallen off the bus.",
            processes_known=False,
            missing=(Missing(field="power_w", reason="lost"),),
        ),
    )
    run = Run(
        run_id="r1",
        name="llama3-8b-sft",
        user="ann",
        mine=True,
        members=(RunMember(process=MINE, role="trainer"),),
        gpu_uuids=("GPU-0",),
        step=12_400.0,
        unit="optimizer_step",
        total=40_000.0,
        total_source="tqdm",
        step_seconds=1.84,
        rate_clock="source",
        phase="training",
        values=(StepValue(name="loss", value=1.73),),
        sources=(SourceReading(source="tqdm", where="stderr → logs/train.err", used=True, confidence=0.9),),
        checkpoint=Checkpoint(step=12_000, path="out/checkpoint-12000", written_s=NOW_S - 720, whole=True),
    )
    other = Run(
        run_id="r2",
        name="日本語-run",
        user="bob",
        members=(RunMember(process=OTHERS, role="trainer"),),
        gpu_uuids=("GPU-1",),
        phase="starting",
        missing=(Missing(field="step", reason="no_permission", detail="its files belong to another user"),),
    )
    facts = {
        MINE: ProcessFacts(
            process=MINE, name="python", user="ann", mine=True, argv=("python", "train.py"), started_s=NOW_S - 9000
        ),
        OTHERS: ProcessFacts(
            process=OTHERS, name="python", user="bob", argv=("python", "secret_data.py"), started_s=NOW_S - 500
        ),
    }
    left = Range(low=40_000.0, likely=50_784.0, high=60_000.0)
    return View(
        hello=hello(),
        snapshot=Snapshot(
            taken_s=NOW_S,
            boot_s=10.0,
            sequence=1,
            gpus=gpus,
            processes=(
                ProcessSample(process=MINE, cpu_ratio=1.02, rss_bytes=3 * GIB),
                ProcessSample(process=OTHERS, state="S"),
            ),
            pairings=(
                Pairing(gpu_uuid="GPU-0", driver_pid=4711, process=MINE),
                Pairing(gpu_uuid="GPU-1", driver_pid=4800, process=OTHERS),
            ),
        ),
        facts=facts,
        runs=(run, other),
        assessments={
            "r1": Assessment(
                run_id="r1",
                framework="transformers",
                remaining_s=left,
                finish_s=Range(low=NOW_S + left.low, likely=NOW_S + left.likely, high=NOW_S + left.high),
            ),
            "r2": Assessment(run_id="r2", unknown_because="no step is known"),
        },
        faults=(Fault(taken_s=NOW_S, boot_s=10.0, key="gpu-2", source="driver", sentence="GPU 2 does not answer."),),
        holdings={
            "GPU-0": Holding(
                state="held", since_s=NOW_S - 9000, since_kind="process_start", pids=(4711,), users=("ann",)
            ),
            "GPU-1": Holding(state="held", since_s=NOW_S, since_kind="at_least", pids=(4800,), users=("bob",)),
            "GPU-2": Holding(why="This GPU has fallen off the bus."),
        },
        first_s=NOW_S - 4,
    )


def free_view() -> View:
    """Two free GPUs of different room and a held one."""
    samples = (
        GpuSample(uuid="GPU-0", memory_used_bytes=60 * GIB, processes=(GpuProcess(pid=4800),)),
        GpuSample(uuid="GPU-1", memory_used_bytes=0, memory_free_bytes=10 * GIB),
        GpuSample(uuid="GPU-2", memory_used_bytes=0, memory_free_bytes=79 * GIB),
    )
    return View(
        hello=hello(),
        snapshot=Snapshot(taken_s=NOW_S, boot_s=10.0, gpus=samples),
        holdings={
            "GPU-0": Holding(state="held", since_s=NOW_S - 60, since_kind="watched", pids=(4800,)),
            "GPU-1": Holding(state="free", since_s=NOW_S, since_kind="at_least"),
            "GPU-2": Holding(state="free", since_s=NOW_S - 30, since_kind="watched"),
        },
        first_s=NOW_S,
    )


def unknown_view() -> View:
    """One GPU of which nothing is known but that it is there, and a run of which nothing is known."""
    return View(
        hello=hello(driver_version=None, gpus=(), zone="", host=""),
        snapshot=Snapshot(taken_s=NOW_S, boot_s=10.0, gpus=(GpuSample(uuid="GPU-x"),)),
        runs=(Run(run_id="r", name="", values=(StepValue(name="loss", value="nan"),)),),
        first_s=NOW_S,
    )


def no_driver_view() -> View:
    """A laptop."""
    sentence = "There is no NVIDIA driver here: libnvidia-ml.so.1 was not found."
    return View(
        hello=hello(driver_state="absent", driver_detail=sentence, driver_version=None, gpus=()),
        snapshot=Snapshot(taken_s=NOW_S, boot_s=10.0),
        first_s=NOW_S,
    )
