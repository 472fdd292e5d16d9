"""Who holds a GPU and since when: as watched, or by the start of a process. Never a duration that was not seen."""

from __future__ import annotations

from typing import Literal, NamedTuple

from monitor.newest import put_newest
from monitor.types.facts import ProcessFacts
from monitor.types.gpu import GpuIdentity, GpuSample
from monitor.types.identity import ProcessIdentity
from monitor.types.messages import Facts, Hello, Message, Snapshot
from monitor.types.process import Pairing
from monitor.types.record import Record

HoldState = Literal["free", "held", "unknown"]
SinceKind = Literal["watched", "process_start", "at_least"]

IDLE_UTIL_RATIO = 0.05
IDLE_BYTES = 128 * 1024**2
"""What an idle GPU may have in use. A CUDA context alone takes more (about 300 MiB and up)."""
IDLE_WITH_RESERVE_BYTES = 768 * 1024**2
"""The same where the driver counts its own reserve as used (memory figures of version 1)."""
MAX_GAP_INTERVALS = 5.0
"""After a longer silence of the stream nothing is said of the time in between."""
MAX_GPUS = 192
MAX_FACTS = 8192


class Holding(Record, frozen=True, kw_only=True):
    """Whether a GPU is free, who holds it and since when."""

    state: HoldState = "unknown"
    since_s: float | None = None
    """Wall clock."""
    since_kind: SinceKind = "at_least"
    """watched: the change was seen. process_start: already so when watching began, and the oldest holder was started
    then (it may have taken the GPU later). at_least: already so when watching began, which is `since_s`."""
    pids: tuple[int, ...] = ()
    """As the driver names them."""
    processes: tuple[ProcessIdentity, ...] = ()
    """Those of the holders that are known here."""
    users: tuple[str, ...] = ()
    unseen_bytes: int | None = None
    """Memory held by a process that cannot be seen (dead, zombie or in another container)."""
    why: str = ""
    """For unknown, and for a holder that cannot be seen: a plain sentence."""


class _Since(NamedTuple):
    at_s: float
    kind: SinceKind


class _Holder(NamedTuple):
    driver_pid: int
    process: ProcessIdentity | None


UNSEEN = _Holder(0, None)


class _Seen:
    """One GPU's memory: what was true last, and since when each holder was there."""

    def __init__(self) -> None:
        self.state: HoldState = "unknown"
        self.free_since: _Since | None = None
        self.since: dict[_Holder, _Since] = {}
        self.holding = Holding()


class GpuHolders:
    """Follows every GPU through the stream. Same messages, same answers."""

    def __init__(self) -> None:
        self._seen: dict[str, _Seen] = {}
        self._facts: dict[ProcessIdentity, ProcessFacts] = {}
        self._identities: dict[str, GpuIdentity] = {}
        self._boot_id = ""
        self._interval_s = 1.0
        self._boot_s: float | None = None

    def update(self, message: Message) -> None:
        """Take one message."""
        if isinstance(message, Snapshot):
            self._take(message)
        elif isinstance(message, Facts):
            for fact in message.processes:
                put_newest(self._facts, fact.process, fact, MAX_FACTS)
        elif isinstance(message, Hello):
            self._interval_s = message.interval_s
            self._identities = {identity.uuid: identity for identity in message.gpus}
            if message.boot_id != self._boot_id and self._boot_id:
                self._seen.clear()
                self._facts.clear()
                self._boot_s = None
            self._boot_id = message.boot_id

    def holding(self, uuid: str) -> Holding:
        """What is known of one GPU; of a GPU that was never seen: unknown."""
        seen = self._seen.get(uuid)
        return Holding(why="this GPU has not been seen") if seen is None else seen.holding

    def free(self) -> tuple[str, ...]:
        """The UUIDs of the GPUs that are free now, in the driver's order."""
        return tuple(uuid for uuid, seen in self._seen.items() if seen.holding.state == "free")

    def _take(self, snapshot: Snapshot) -> None:
        broken = self._boot_s is not None and snapshot.boot_s - self._boot_s > max(
            10.0, MAX_GAP_INTERVALS * self._interval_s
        )
        self._boot_s = snapshot.boot_s
        for end in snapshot.ended:
            self._facts.pop(end.process, None)
        paired: dict[str, dict[int, Pairing]] = {}
        for pairing in snapshot.pairings:
            paired.setdefault(pairing.gpu_uuid, {})[pairing.driver_pid] = pairing
        present = {sample.uuid for sample in snapshot.gpus}
        for uuid in self._seen.keys() - present:
            if broken or len(self._seen) > MAX_GPUS:
                del self._seen[uuid]
            else:
                self._note_unknown(self._seen[uuid], "the driver names this GPU no more")
        for sample in snapshot.gpus[:MAX_GPUS]:
            seen = self._seen.setdefault(sample.uuid, _Seen())
            if broken:
                self._note_unknown(seen, "")
            self._take_gpu(seen, sample, paired.get(sample.uuid, {}), snapshot.taken_s)
        self._sum_up_instances(snapshot)

    def _take_gpu(self, seen: _Seen, sample: GpuSample, paired: dict[int, Pairing], now_s: float) -> None:
        state, holders, why = _judge(sample, paired, self._identities.get(sample.uuid))
        if state == "unknown":
            self._note_unknown(seen, why)
            return
        if state == "free":
            if seen.state != "free" or seen.free_since is None:
                seen.free_since = _Since(now_s, "watched" if seen.state == "held" else "at_least")
            seen.since.clear()
            seen.state = "free"
            seen.holding = Holding(state="free", since_s=seen.free_since.at_s, since_kind=seen.free_since.kind)
            return
        change_seen = seen.state in ("free", "held")
        since: dict[_Holder, _Since] = {}
        for holder in holders:
            before = seen.since.get(holder)
            if before is None:
                before = self._arrival(holder, change_seen=change_seen, now_s=now_s)
            elif before.kind == "at_least":  # its facts may have come since
                started = self._arrival(holder, change_seen=False, now_s=now_s)
                before = started if started.kind == "process_start" else before
            since[holder] = before
        seen.since = since
        seen.state, seen.free_since = "held", None
        oldest = min(seen.since.values(), key=lambda since: since.at_s)
        facts = [self._facts[one.process] for one in holders if one.process is not None and one.process in self._facts]
        seen.holding = Holding(
            state="held",
            since_s=oldest.at_s,
            since_kind=oldest.kind,
            pids=tuple(holder.driver_pid for holder in holders if holder is not UNSEEN),
            processes=tuple(dict.fromkeys(holder.process for holder in holders if holder.process is not None)),
            users=tuple(dict.fromkeys(fact.user for fact in facts if fact.user)),
            unseen_bytes=_unseen_bytes(sample) if UNSEEN in holders else None,
            why=why,
        )

    def _arrival(self, holder: _Holder, *, change_seen: bool, now_s: float) -> _Since:
        if change_seen:
            return _Since(now_s, "watched")
        fact = None if holder.process is None else self._facts.get(holder.process)
        if fact is not None and fact.started_s is not None and fact.started_s <= now_s:
            return _Since(fact.started_s, "process_start")
        return _Since(now_s, "at_least")

    def _note_unknown(self, seen: _Seen, why: str) -> None:
        # Holders keep their time if the very same process is there again; free time in between was not seen.
        seen.state, seen.free_since = "unknown", None
        seen.since.pop(UNSEEN, None)
        seen.holding = Holding(why=why)

    def _sum_up_instances(self, snapshot: Snapshot) -> None:
        """A GPU that is split into MIG instances is free when all of them are, and held when one is."""
        parts: dict[str, list[Holding]] = {}
        for sample in snapshot.gpus[:MAX_GPUS]:
            identity = self._identities.get(sample.uuid)
            if identity is not None and identity.mig_parent_uuid is not None:
                parts.setdefault(identity.mig_parent_uuid, []).append(self._seen[sample.uuid].holding)
        for parent, holdings in parts.items():
            seen = self._seen.get(parent)
            if seen is None:
                continue
            held = [holding for holding in holdings if holding.state == "held"]
            if held:
                first = min(held, key=lambda one: one.since_s or 0.0)
                seen.holding = Holding(
                    state="held",
                    since_s=first.since_s,
                    since_kind=first.since_kind,
                    pids=tuple(dict.fromkeys(pid for one in held for pid in one.pids)),
                    processes=tuple(dict.fromkeys(process for one in held for process in one.processes)),
                    users=tuple(dict.fromkeys(user for one in held for user in one.users)),
                )
            elif all(holding.state == "free" for holding in holdings):
                last = max(holdings, key=lambda one: one.since_s or 0.0)
                seen.holding = Holding(state="free", since_s=last.since_s, since_kind=last.since_kind)
            else:
                seen.holding = Holding(why="not known of all its MIG instances")


def _judge(
    sample: GpuSample, paired: dict[int, Pairing], identity: GpuIdentity | None
) -> tuple[HoldState, tuple[_Holder, ...], str]:
    if sample.state != "ok":
        return "unknown", (), sample.state_detail or f"the GPU is {sample.state.replace('_', ' ')}"
    holders = tuple(
        _Holder(process.pid, None if process.pid not in paired else paired[process.pid].process)
        for process in sample.processes
        if process.kind != "G"  # a desktop draws; that is no reason not to train here
    )
    if holders:
        return "held", holders, ""
    unified = identity is not None and identity.unified_memory
    used = None if unified else sample.memory_used_bytes
    if used is None and not (unified and sample.processes_known):
        return "unknown", (), "its memory figure cannot be read"
    drawn = sum(process.used_memory_bytes or 0 for process in sample.processes)
    allowed = IDLE_BYTES if sample.memory_reserved_bytes is not None else IDLE_WITH_RESERVE_BYTES
    busy = not sample.processes and sample.gpu_util_ratio is not None and sample.gpu_util_ratio > IDLE_UTIL_RATIO
    if busy or (used is not None and used - drawn > allowed):
        return "held", (UNSEEN,), "a process that cannot be seen (dead, zombie or in another container)"
    if not sample.processes_known:
        return "unknown", (), "the driver gives no process list"
    return "free", (), ""


def _unseen_bytes(sample: GpuSample) -> int | None:
    return sample.memory_used_bytes if sample.unattributed_bytes is None else sample.unattributed_bytes
