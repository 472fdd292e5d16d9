"""Signals to own processes: only after a confirmation, only to the very process that was shown."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass

from monitor.types.identity import ProcessIdentity
from monitor.types.messages import Hello
from monitor.types.process import Pairing
from monitor.types.run import RunMember
from tui import figures
from tui.view import View

GENTLE = (signal.SIGINT, signal.SIGTERM)
HARD = signal.SIGKILL
WORDS = {
    signal.SIGINT: "SIGINT: stop as ^C does; most trainers end cleanly",
    signal.SIGTERM: "SIGTERM: ask it to end",
    signal.SIGKILL: "SIGKILL: end it at once; nothing is saved",
}


@dataclass(frozen=True)
class SignalTarget:
    """The process as the person saw it when asked."""

    process: ProcessIdentity
    user: str
    command: str
    age: str
    role: str


@dataclass(frozen=True)
class ThisHost:
    """Who and where the viewer is, read once."""

    uid: int
    boot_id: str
    pid_namespace: str


def this_host() -> ThisHost:
    """Read it from the system; what cannot be read is empty and matches nothing."""
    return ThisHost(os.getuid(), _text("/proc/sys/kernel/random/boot_id"), _link("/proc/self/ns/pid"))


def refusal(view: View, member: RunMember, kind: str, *, allowed: bool, host: ThisHost) -> str:
    """Why this process gets no signal from here, as a sentence; empty when it may be asked for."""
    hello = view.hello
    if not allowed:
        return "Reading only. Start traintop with --allow-signals to send signals."
    if kind != "live" or hello is None:
        return "Signals are sent only to processes of this machine, watched live."
    if hello.simulated:
        return "Processes of the demo get no signals."
    if not _same_place(hello, host):
        return "The stream is not from this machine and pid namespace."
    facts = view.facts.get(member.process)
    if facts is None or facts.uid is None:
        return "It is not known whose process this is."
    if facts.uid != host.uid:
        return f"It belongs to {facts.user or 'another user'}; signals go to own processes only."
    pairing = _pairing(view, member.process)
    if pairing is not None and pairing.how != "same_pid":
        return "Which process this is was inferred, so it gets no signal."
    if len(facts.namespace_pids) > 1:
        return "It lives in a container; send the signal from in there."
    return ""


def _same_place(hello: Hello, host: ThisHost) -> bool:
    if not host.boot_id or not host.pid_namespace:
        return False
    return hello.boot_id == host.boot_id and hello.pid_namespace == host.pid_namespace


def _pairing(view: View, process: ProcessIdentity) -> Pairing | None:
    pairings = view.snapshot.pairings if view.snapshot else ()
    return next((one for one in pairings if one.process == process), None)


def target_of(view: View, member: RunMember) -> SignalTarget:
    """What the confirmation shows."""
    facts = view.facts.get(member.process)
    age = "–"
    if facts is not None and facts.started_s is not None and view.taken_s is not None:
        age = figures.duration(max(0.0, view.taken_s - facts.started_s))
    command = (" ".join(facts.argv) or facts.name) if facts else ""
    return SignalTarget(member.process, (facts.user if facts else None) or "?", command, age, member.role)


Sender = Callable[[int, int], None]


def send(
    target: SignalTarget,
    number: signal.Signals,
    *,
    own_uid: int | None = None,
    proc: str = "/proc",
    sender: Sender | None = None,
) -> str:
    """Send a signal and say what happened, as a sentence.

    The process is pinned by a pidfd first; only then its start time and owner are read again and compared with what
    was shown. A newcomer with the same pid can therefore not be hit.
    """
    opener = getattr(os, "pidfd_open", None)
    sender = sender or getattr(signal, "pidfd_send_signal", None)
    if opener is None or sender is None:
        return "This system cannot pin a process (no pidfd), so no signal is sent."
    pid = target.process.pid
    try:
        descriptor = opener(pid)
    except ProcessLookupError:
        return f"Process {pid} has ended already."
    except OSError as error:
        return f"Process {pid} cannot be reached: {error.strerror}."
    try:
        if start_ticks(pid, proc) != target.process.start_ticks:
            return f"Process {pid} is another one by now; nothing was sent."
        if _uid(pid, proc) != (os.getuid() if own_uid is None else own_uid):
            return f"Process {pid} belongs to somebody else; nothing was sent."
        sender(descriptor, number)
    except ProcessLookupError:
        return f"Process {pid} has ended already."
    except OSError as error:
        return f"Process {pid} refused the signal: {error.strerror}."
    finally:
        os.close(descriptor)
    return f"{number.name} was sent to process {pid}."


def start_ticks(pid: int, proc: str = "/proc") -> int | None:
    """Field 22 of the process's stat, or `None` where it is gone."""
    text = _text(f"{proc}/{pid}/stat")
    fields = text.rpartition(")")[2].split()
    return int(fields[19]) if len(fields) > 19 and fields[19].isdigit() else None


def _uid(pid: int, proc: str) -> int | None:
    """Real user id."""
    for line in _text(f"{proc}/{pid}/status").splitlines():
        if line.startswith("Uid:"):
            return int(line.split()[1])
    return None


def _text(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(65536).decode("utf-8", "replace").strip()
    except OSError:
        return ""


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
