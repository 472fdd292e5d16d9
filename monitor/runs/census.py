"""Who is there: live processes with their facts and figures, who is on which GPU, and who has gone."""

from __future__ import annotations

from monitor.newest import put_newest
from monitor.runs.state import OnGpu
from monitor.types.facts import ProcessFacts
from monitor.types.gpu import GpuProcess
from monitor.types.identity import ProcessIdentity
from monitor.types.messages import Facts, Snapshot
from monitor.types.process import ProcessEnd, ProcessSample

ABSENT_TICKS = 3
"""A process that is missing in so many snapshots, and of which no end was told, is gone."""
MAX_PROCESSES = 8192
MAX_ENDS = 512


class Census:
    """The processes of the node as of the last snapshot."""

    def __init__(self) -> None:
        self.facts: dict[ProcessIdentity, ProcessFacts] = {}
        self.samples: dict[ProcessIdentity, ProcessSample] = {}
        self.on_gpu: dict[ProcessIdentity, list[OnGpu]] = {}
        self.ends: dict[ProcessIdentity, ProcessEnd] = {}
        self._absent: dict[ProcessIdentity, int] = {}
        self._nameless: dict[ProcessIdentity, int] = {}
        self._changed = False

    def note_facts(self, message: Facts) -> None:
        """Take facts; the newest about a process hold."""
        for fact in message.processes:
            put_newest(self.facts, fact.process, fact, MAX_PROCESSES)
        self._changed = True

    def take(self, snapshot: Snapshot) -> bool:
        """Take a snapshot. True when somebody came, went, changed or took a GPU: the runs may be others now."""
        before = set(self.samples) | set(self._absent)
        on_gpu_before = set(self.on_gpu)
        self._note_gpus(snapshot)
        # a zombie has ended: only its parent has not asked how
        now = {sample.process: sample for sample in snapshot.processes if sample.state != "Z"}
        zombies = {sample.process for sample in snapshot.processes if sample.state == "Z"}
        for process in zombies:
            self.on_gpu.pop(process, None)
        for process in self.on_gpu:
            self._absent.pop(process, None)
        for end in snapshot.ended:
            now.pop(end.process, None)
            self.on_gpu.pop(end.process, None)
            self._absent.pop(end.process, None)
            put_newest(self.ends, end.process, end, MAX_ENDS)
        gone = {end.process for end in snapshot.ended} | zombies
        for process in zombies:
            self._absent.pop(process, None)
        for process in before - now.keys() - gone:
            ticks = self._absent.get(process, 0) + 1
            if ticks >= ABSENT_TICKS:
                self._absent.pop(process, None)
                gone.add(process)
            else:
                self._absent[process] = ticks
        for process in now:
            self._absent.pop(process, None)
        for process in gone:
            self.facts.pop(process, None)
        self.samples = now
        self._name_the_nameless()
        changed = self._changed or before != set(now) | set(self._absent) or on_gpu_before != set(self.on_gpu)
        self._changed = False
        return changed

    def lives(self, process: ProcessIdentity) -> bool:
        """Whether it is there, or missing for a moment only."""
        return process in self.samples or process in self._absent or process in self.on_gpu

    def present(self) -> list[ProcessFacts]:
        """The facts of all live processes."""
        return [fact for process, fact in self.facts.items() if self.lives(process)]

    def _note_gpus(self, snapshot: Snapshot) -> None:
        figures: dict[tuple[str, int], GpuProcess] = {
            (gpu.uuid, process.pid): process for gpu in snapshot.gpus for process in gpu.processes
        }
        self.on_gpu = {}
        for pairing in snapshot.pairings:
            if pairing.process is not None:
                held = OnGpu(pairing, figures.get((pairing.gpu_uuid, pairing.driver_pid)))
                self.on_gpu.setdefault(pairing.process, []).append(held)

    def _name_the_nameless(self) -> None:
        """A process on a GPU is shown even if nothing is known of it; facts usually come with the next message."""
        waiting = {process: self._nameless.get(process, 0) + 1 for process in self.on_gpu if process not in self.facts}
        self._nameless = waiting
        for process, ticks in waiting.items():
            if ticks >= ABSENT_TICKS:
                self.facts[process] = ProcessFacts(process=process)
                self._changed = True
