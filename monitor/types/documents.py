"""What lies beside a process and changes slowly: settings, documents, checkpoints, versions. Names no framework."""

from __future__ import annotations

from monitor.types.identity import ProcessIdentity
from monitor.types.record import Record


class Setting(Record, frozen=True, kw_only=True):
    """One value that a run was given, and where it was read."""

    name: str
    """As it is spelled there; nested keys are joined by dots."""
    value: str | float | bool | None
    source: str
    """For a person: "--max_steps", "sft.yaml line 12", "TrainingArguments in memory"."""
    document: str = ""
    """Path of the document, where it stands in one."""
    line: int | None = None


class Document(Record, frozen=True, kw_only=True):
    """One configuration file that belongs to a process."""

    path: str
    role: str = "config"
    """config, model, deepspeed, accelerate, hydra, arguments, trainer_state or other."""
    modified_s: float | None = None
    settings: tuple[Setting, ...] = ()
    cut: bool = False
    """True when not all of it was taken."""
    refused: str = ""


class SeenCheckpoint(Record, frozen=True, kw_only=True):
    """One checkpoint folder or file of a run."""

    path: str
    step: float | None = None
    epoch: float | None = None
    written_s: float | None = None
    """Wall clock of its newest file."""
    whole: bool | None = None
    """False while it is being written; `None` where that cannot be told."""
    size_bytes: int | None = None


class Version(Record, frozen=True, kw_only=True):
    """One installed distribution of the interpreter that runs, or a mapped library."""

    name: str
    version: str


class ProcessDocuments(Record, frozen=True, kw_only=True):
    """Everything of this kind for one process."""

    process: ProcessIdentity
    documents: tuple[Document, ...] = ()
    settings: tuple[Setting, ...] = ()
    """From the command line, the process's memory, the probe and event files; what wins comes first."""
    checkpoints: tuple[SeenCheckpoint, ...] = ()
    """The newest first, at most 16."""
    output_folders: tuple[str, ...] = ()
    versions: tuple[Version, ...] = ()
    mapped_libraries: tuple[str, ...] = ()
    job_limit_s: float | None = None
    """Wall clock at which the scheduler ends the job."""
