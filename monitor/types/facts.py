"""Slow-changing facts about a process, read beside it. No framework is named here."""

from __future__ import annotations

from monitor.types.identity import ProcessIdentity
from monitor.types.record import Missing, Record

ASKED_FOR = "asked for by its pid"
"""`ProcessFacts.why` of a process that looks like no run and is watched because somebody named it."""


class Container(Record, frozen=True, kw_only=True):
    """The container or job a process lives in, as its cgroup path tells."""

    runtime: str
    """docker, podman, containerd, kubernetes, lxc, systemd, slurm or other."""
    container_id: str = ""
    """Short form; empty where the path names none."""
    name: str | None = None
    slurm_job_id: str | None = None


class OpenFile(Record, frozen=True, kw_only=True):
    """One descriptor of an own process that text may come out of."""

    descriptor: int
    kind: str
    """file, deleted_file, pipe, terminal, socket, null, other."""
    path: str
    role: str = "log"
    """stdout, stderr or log."""


class EnvironmentVariable(Record, frozen=True, kw_only=True):
    """One variable of the allow-list; nothing else of an environment is kept."""

    name: str
    value: str


class ProcessFacts(Record, frozen=True, kw_only=True):
    """What is known of a process beside its figures. Sent when it changes. All text is cleaned and redacted."""

    process: ProcessIdentity
    name: str = ""
    """Short program name (comm)."""
    parent: ProcessIdentity | None = None
    uid: int | None = None
    user: str | None = None
    mine: bool = False
    """True when it belongs to the user that the agent runs as."""
    argv: tuple[str, ...] = ()
    """Empty where it cannot be read; secrets are shown as ***."""
    cwd: str | None = None
    executable: str | None = None
    environment: tuple[EnvironmentVariable, ...] = ()
    container: Container | None = None
    started_s: float | None = None
    """Wall clock."""
    namespace_pids: tuple[int, ...] = ()
    """NSpid: this pid as seen in each nested pid namespace, outermost first."""
    open_files: tuple[OpenFile, ...] = ()
    children: tuple[int, ...] = ()
    kind: str = "other"
    """How the agent chose it: training, serving, notebook, launcher, worker, other. A hint; runs decide."""
    why: str = ""
    """The evidence for `kind`, in a few words."""
    missing: tuple[Missing, ...] = ()
