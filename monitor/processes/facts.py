"""Facts of one process: what rarely changes, read from /proc, cleaned and redacted."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from monitor.clean import clean
from monitor.clock import Clock
from monitor.processes.containers import container_of
from monitor.processes.counters import TICKS_PER_S, Counters
from monitor.processes.environment import MAX_BLOCK_BYTES, allowed_environment
from monitor.processes.names import Names
from monitor.processes.open_files import Descriptors, read_descriptors
from monitor.processes.proc import ProcDirectory
from monitor.processes.selection import Choice
from monitor.redact import redact_argv
from monitor.types.facts import Container, EnvironmentVariable, ProcessFacts
from monitor.types.identity import ProcessIdentity
from monitor.types.record import Missing

MAX_ARGUMENTS = 256
MAX_ARGUMENT = 1024
MAX_COMMAND_BYTES = MAX_ARGUMENTS * MAX_ARGUMENT


def raw_argv(block: bytes) -> tuple[str, ...]:
    """The arguments of a /proc/PID/cmdline, cleaned and bounded but with their secrets: for judging, not for showing.

    A process that renamed itself (setproctitle) has one argument with spaces and a tail of zero bytes.
    """
    words = block.rstrip(b"\0").split(b"\0", MAX_ARGUMENTS)[:MAX_ARGUMENTS]
    return tuple(clean(word, 4 * MAX_ARGUMENT) for word in words) if words != [b""] else ()


def shown_argv(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The arguments as they may be shown. Secrets go before the cut, so that none is left by half."""
    return tuple(clean(word, MAX_ARGUMENT) for word in redact_argv(argv))


@dataclass(frozen=True, slots=True)
class Status:
    """What /proc/PID/status holds for us."""

    uid: int | None = None
    namespace_pids: tuple[int, ...] = ()


def parse_status(text: bytes) -> Status:
    """The effective user and the pids in nested namespaces."""
    uid = _numbers(text, b"\nUid:")[1:2]  # real, effective, saved, file system
    return Status(uid[0] if uid else None, _numbers(text, b"\nNSpid:")[:32])


def _numbers(text: bytes, name: bytes) -> tuple[int, ...]:
    at = text.find(name)
    if at < 0:
        return ()
    words = text[at + len(name) : at + 512].split(b"\n", 1)[0].split()
    return tuple(int(word) for word in words if word.isdigit())


class FactsReader:
    """Builds the facts of processes."""

    def __init__(self, proc: ProcDirectory, clock: Clock, uid: int) -> None:
        self._proc = proc
        self._clock = clock
        self._uid = uid
        self._names = Names(clock)
        self._environments: dict[ProcessIdentity, tuple[bytes, tuple[EnvironmentVariable, ...]]] = {}

    def read(
        self,
        identity: ProcessIdentity,
        counters: Counters,
        choice: Choice,
        parent: ProcessIdentity | None,
        children: tuple[int, ...],
        before: ProcessFacts | None,
    ) -> tuple[ProcessFacts, bool | None]:
        """The facts, and whether it holds a GPU open. What cannot be read is named in `missing`.

        Returns the very object `before` when nothing has changed.
        """
        pid = identity.pid
        missing: list[Missing] = []
        status = parse_status(self._bytes(pid, "status", missing, "uid"))
        mine = status.uid is not None and status.uid == self._uid
        command = self._bytes(pid, "cmdline", missing, "argv", MAX_COMMAND_BYTES)
        if not command and before is not None:
            return before, None  # it is ending: a dead process has no command line, and what was known is still true
        descriptors = self._descriptors(pid, mine or self._uid == 0, missing)
        facts = ProcessFacts(
            process=identity,
            name=clean(counters.name, 64),
            parent=parent,
            uid=status.uid,
            user=None if status.uid is None else self._names.user(status.uid),
            mine=mine,
            argv=shown_argv(raw_argv(command)),
            cwd=self._link(pid, "cwd", missing),
            executable=self._link(pid, "exe", missing),
            environment=self._environment(identity, command, missing) if mine else (),
            container=self._container(pid),
            started_s=before.started_s if before is not None else self._started_s(identity),
            namespace_pids=status.namespace_pids,
            open_files=descriptors.files if mine else (),
            children=children,
            kind=choice.kind,
            why=clean(choice.why, 200),
            missing=tuple(missing),
        )
        return (before if before is not None and before == facts else facts), descriptors.gpu

    def forget(self, identity: ProcessIdentity) -> None:
        """Drop what is kept of a process that ended."""
        self._environments.pop(identity, None)

    def _started_s(self, identity: ProcessIdentity) -> float:
        """Wall clock of the start. Worked out once a process: later the wall clock may be set."""
        age_s = self._clock.boot_s() - identity.start_ticks / TICKS_PER_S
        return round(self._clock.wall_s() - age_s, 2)

    def _bytes(self, pid: int, name: str, missing: list[Missing], field: str, limit: int = 65536) -> bytes:
        try:
            return self._proc.read(pid, name, limit)
        except OSError as error:
            missing.append(_missing(field, error))
            return b""

    def _link(self, pid: int, name: str, missing: list[Missing]) -> str | None:
        try:
            return clean(self._proc.link(pid, name), 4096)
        except OSError as error:
            missing.append(_missing("executable" if name == "exe" else name, error))
            return None

    def _descriptors(self, pid: int, readable: bool, missing: list[Missing]) -> Descriptors:
        if not readable:
            missing.append(Missing(field="open_files", reason="no_permission"))
            return Descriptors()
        try:
            return read_descriptors(self._proc, pid)
        except OSError as error:
            missing.append(_missing("open_files", error))
            return Descriptors()

    def _environment(
        self, identity: ProcessIdentity, command: bytes, missing: list[Missing]
    ) -> tuple[EnvironmentVariable, ...]:
        """The allowed variables; read again only after an exec, which shows in the command line."""
        digest = hashlib.blake2b(command, digest_size=16).digest()
        known = self._environments.get(identity)
        if known is not None and known[0] == digest:
            return known[1]
        try:
            environment = allowed_environment(self._proc.read(identity.pid, "environ", MAX_BLOCK_BYTES))
        except OSError as error:
            missing.append(_missing("environment", error))
            return ()
        self._environments[identity] = (digest, environment)
        return environment

    def _container(self, pid: int) -> Container | None:
        try:
            text = self._proc.read(pid, "cgroup", 16384)
        except OSError:
            return None
        found = container_of(text.decode("utf-8", "replace"))
        if found is None or found.name is not None:
            return found
        name = self._names.container(found.runtime, found.container_id)
        if name is None:
            return found
        return Container(
            runtime=found.runtime, container_id=found.container_id, name=name, slurm_job_id=found.slurm_job_id
        )


def _missing(field: str, error: OSError) -> Missing:
    if isinstance(error, PermissionError):
        return Missing(field=field, reason="no_permission")
    if isinstance(error, (FileNotFoundError, ProcessLookupError)):
        return Missing(field=field, reason="lost")
    return Missing(field=field, reason="failed", detail=clean(error.strerror or "", 200))
