"""A run: the processes that train (or serve) one thing together, as observed. Nothing here is judged."""

from __future__ import annotations

from typing import Literal

from monitor.types.documents import Setting
from monitor.types.identity import ProcessIdentity
from monitor.types.record import Missing, Record
from monitor.types.steps import Phase, ProgressPoint, StepUnit, StepValue

RunKind = Literal["training", "serving", "notebook", "other"]

EndHow = Literal["finished", "out_of_memory", "error", "killed", "time_limit", "unknown"]


class RunMember(Record, frozen=True, kw_only=True):
    """One process of a run and its part in it."""

    process: ProcessIdentity
    role: str
    """trainer, launcher, worker, helper, server."""
    rank: int | None = None


class RunEnd(Record, frozen=True, kw_only=True):
    """How a run ended, as far as its text and the system tell."""

    how: EndHow
    seen_s: float
    evidence: str = ""


class Checkpoint(Record, frozen=True, kw_only=True):
    """The newest checkpoint that was seen."""

    step: int | None = None
    path: str = ""
    written_s: float | None = None
    whole: bool | None = None


class SourceReading(Record, frozen=True, kw_only=True):
    """One way the step was read, for the steps tab: what it says and how fresh it is."""

    source: str
    where: str
    step: float | None = None
    total: float | None = None
    seen_s: float = 0.0
    confidence: float = 0.0
    used: bool = False
    note: str = ""


class Run(Record, frozen=True, kw_only=True):
    """One run. `None` is unknown; no duration is claimed that was neither watched nor read from a clock."""

    run_id: str
    """Stable while the run lives, and the same for every front end that reads the stream."""
    name: str
    """What tells it from its siblings."""
    kind: RunKind = "training"
    server: str | None = None
    """For serving: vLLM, SGLang, TGI, ollama, llama.cpp…"""
    group_id: str | None = None
    """Siblings of a sweep share it."""
    group_name: str | None = None
    user: str | None = None
    mine: bool = False
    members: tuple[RunMember, ...] = ()
    gpu_uuids: tuple[str, ...] = ()
    gpus_inferred: bool = False
    gpu_memory_bytes: int | None = None
    command: str = ""
    cwd: str | None = None
    container: str | None = None
    job_id: str | None = None
    started_s: float | None = None
    """When its first process started, from /proc."""
    watched_since_s: float = 0.0
    step: float | None = None
    unit: StepUnit = "step"
    total: float | None = None
    total_source: str = ""
    epoch: float | None = None
    step_seconds: float | None = None
    """Steady state, stalls apart."""
    wall_seconds_per_step: float | None = None
    """Stalls in."""
    rate_clock: Literal["source", "watched"] | None = None
    """Whose clock the rate is from: the source's own, or ours while watching."""
    rate_window_s: float | None = None
    """Over how long the rate was taken."""
    rate_steps: float | None = None
    """Over how many steps."""
    rate_spread_ratio: float | None = None
    """Relative 80 % half-width of the mean rate, where several pieces were seen."""
    phase: Phase = "starting"
    phase_since_s: float | None = None
    waits_for_disk: bool = False
    waits_for: str = ""
    """What a stalled run waits for, where that is known: input, disk, network, collective, stopped, swap."""
    progress: tuple[ProgressPoint, ...] = ()
    """Points of the counter that is used, new since the snapshot before; all of them (thinned) when it is another."""
    progress_key: str = ""
    """Changes when another counter is used or the one used began anew (restart, resume)."""
    settings: tuple[Setting, ...] = ()
    """What the run was given, as far as it was read; of several of one name the one that wins comes first."""
    resume_flag: str = ""
    """How the program that runs spells "go on from this checkpoint"; empty where it is not known."""
    job_limit_s: float | None = None
    """Wall clock at which the scheduler ends the job."""
    notes: tuple[str, ...] = ()
    """What a person should know of these figures, a sentence each."""
    confidence: float = 0.0
    last_step_s: float | None = None
    """Wall clock at which the step last changed."""
    values: tuple[StepValue, ...] = ()
    sources: tuple[SourceReading, ...] = ()
    checkpoint: Checkpoint | None = None
    energy_j: float | None = None
    """Of its GPUs while watched; not claimed where a GPU is shared."""
    cpu_ratio: float | None = None
    rss_bytes: int | None = None
    ended: RunEnd | None = None
    missing: tuple[Missing, ...] = ()
    """For example field step_seconds: "one reading so far"."""
