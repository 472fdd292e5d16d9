"""The messages of the one stream. One JSON document a line; the same bytes are a pipe, a recording, a test fixture."""

from __future__ import annotations

from monitor.types.documents import ProcessDocuments
from monitor.types.facts import ProcessFacts
from monitor.types.gpu import GpuIdentity, GpuLink, GpuSample
from monitor.types.identity import ProcessIdentity
from monitor.types.process import HostSample, Pairing, ProcessEnd, ProcessSample
from monitor.types.record import Record
from monitor.types.steps import StepEvent

PROTOCOL_MAJOR = 1
PROTOCOL_MINOR = 0


class Stamped(Record, tag_field="type", frozen=True, kw_only=True):
    """What every message carries: when it was made, by two clocks."""

    taken_s: float
    """Wall clock (seconds since 1970): for showing."""
    boot_s: float
    """CLOCK_BOOTTIME: for rates and durations; never set back."""


class Ability(Record, frozen=True, kw_only=True):
    """One thing that works here or does not, and why; what `doctor` prints."""

    name: str
    works: bool
    detail: str = ""
    remedy: str = ""


class Hello(Stamped, tag="hello", frozen=True, kw_only=True):
    """What this node is. Sent first, and again whenever it changes (the driver has answered, a GPU was lost)."""

    protocol_major: int = PROTOCOL_MAJOR
    protocol_minor: int = PROTOCOL_MINOR
    version: str = ""
    host: str = ""
    boot_id: str = ""
    pid_namespace: str = ""
    user: str = ""
    interval_s: float = 1.0
    simulated: bool = False
    utc_offset_s: int = 0
    zone: str = ""
    driver_state: str = "asking"
    """asking (no answer yet), ok, absent, failed, released."""
    driver_detail: str = ""
    """One plain sentence when there is no driver to be had."""
    driver_version: str | None = None
    cuda_version: str | None = None
    gpus: tuple[GpuIdentity, ...] = ()
    links: tuple[GpuLink, ...] = ()
    in_container: bool = False
    clock_ticks_per_s: int = 100
    abilities: tuple[Ability, ...] = ()


class SourceTiming(Record, frozen=True, kw_only=True):
    """How late a source was in this tick and what it cost."""

    source: str
    """driver, processes, steps, host."""
    late_s: float = 0.0
    took_s: float = 0.0
    age_s: float = 0.0
    """How old its data is in this snapshot."""
    waiting_s: float | None = None
    """Set while a call has not returned: for how long."""


class Snapshot(Stamped, tag="snapshot", frozen=True, kw_only=True):
    """One tick."""

    sequence: int = 0
    gpus: tuple[GpuSample, ...] = ()
    processes: tuple[ProcessSample, ...] = ()
    pairings: tuple[Pairing, ...] = ()
    host: HostSample | None = None
    steps: tuple[StepEvent, ...] = ()
    ended: tuple[ProcessEnd, ...] = ()
    timings: tuple[SourceTiming, ...] = ()


class Facts(Stamped, tag="facts", frozen=True, kw_only=True):
    """Slow-changing facts about processes, sent when they change."""

    processes: tuple[ProcessFacts, ...] = ()


class Documents(Stamped, tag="documents", frozen=True, kw_only=True):
    """What lies beside processes, sent when it changes; each process named replaces what was known of it."""

    processes: tuple[ProcessDocuments, ...] = ()


class Text(Stamped, tag="text", frozen=True, kw_only=True):
    """A cleaned log tail that was asked for, at most 64 KiB."""

    process: ProcessIdentity
    path: str = ""
    lines: tuple[str, ...] = ()
    skipped_bytes: int = 0
    refused: str = ""
    """Why there is no text, as a sentence."""


class Fault(Stamped, tag="fault", frozen=True, kw_only=True):
    """Something went wrong beside the good part. The same `key` replaces the fault before; `over` takes it back."""

    key: str
    source: str
    sentence: str
    gpu_uuid: str | None = None
    process: ProcessIdentity | None = None
    over: bool = False


class Bye(Stamped, tag="bye", frozen=True, kw_only=True):
    """The stream ends here, and why."""

    reason: str = ""
    exit_status: int = 0


Message = Hello | Snapshot | Facts | Documents | Text | Fault | Bye
