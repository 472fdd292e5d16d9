"""From the newest readings to messages. No threads here: the same readings at the same time give the same messages."""

from __future__ import annotations

from monitor.agent.faults import FAILED, SILENT, SILENT_S, FaultBook, failure, silence
from monitor.agent.greeting import hello_with
from monitor.agent.rounding import rounded_all, rounded_gpu, rounded_host, rounded_step
from monitor.agent.sampling import Latest, SourceState
from monitor.clock import Clock
from monitor.sources import DriverInfo, TailReading
from monitor.types.facts import ProcessFacts
from monitor.types.gpu import GpuSample
from monitor.types.identity import ProcessIdentity
from monitor.types.messages import Bye, Facts, Fault, Hello, Message, Snapshot, Text
from monitor.types.process import HostSample, ProcessSample


class Composer:
    """Knows what was sent, so that only news is sent again."""

    def __init__(self, hello: Hello, clock: Clock) -> None:
        self.first_hello = hello
        self._clock = clock
        self._sequence = 0
        self._info: DriverInfo | None = None
        self._facts: dict[ProcessIdentity, ProcessFacts] = {}
        self._texts: dict[ProcessIdentity, TailReading] = {}
        self._faults = FaultBook()
        self._rounded_from: tuple[object, ...] = (None, None, None)
        self._gpus: tuple[GpuSample, ...] = ()
        self._processes: tuple[ProcessSample, ...] = ()
        self._host: HostSample | None = None

    def greet_again(self, info: DriverInfo | None) -> tuple[Message, ...]:
        """A new `Hello` when the driver has said something else of itself."""
        if info is None or info is self._info:
            return ()
        before, self._info = self._info, info
        if info == before:  # a source may have put together the same once more
            return ()
        taken_s, boot_s = self._now()
        return (hello_with(self.first_hello, info, taken_s, boot_s),)

    def tick(self, latest: Latest) -> tuple[Message, ...]:
        """Everything there is to say now, the snapshot after the facts that it needs."""
        taken_s, boot_s = self._now()
        messages: list[Message] = [*self.greet_again(latest.info)]
        changed = self._changed_facts(latest.processes.facts)
        if changed:
            messages.append(Facts(taken_s=taken_s, boot_s=boot_s, processes=changed))
        messages.append(self._snapshot(latest, taken_s, boot_s))
        messages.extend(self._changed_texts(latest.tails, taken_s, boot_s))
        for source in latest.sources:
            messages.extend(self._source_faults(source, taken_s, boot_s))
        return tuple(messages)

    def fault(
        self, key: str, source: str, sentence: str, process: ProcessIdentity | None = None
    ) -> tuple[Message, ...]:
        """A fault that has nothing to do with a source of figures."""
        taken_s, boot_s = self._now()
        return self._faults.note(
            Fault(taken_s=taken_s, boot_s=boot_s, key=key, source=source, sentence=sentence, process=process)
        )

    def bye(self, reason: str, exit_status: int = 0) -> Bye:
        """The last message."""
        taken_s, boot_s = self._now()
        return Bye(taken_s=taken_s, boot_s=boot_s, reason=reason, exit_status=exit_status)

    def _now(self) -> tuple[float, float]:
        return round(self._clock.wall_s(), 3), round(self._clock.boot_s(), 3)

    def _snapshot(self, latest: Latest, taken_s: float, boot_s: float) -> Snapshot:
        self._round(latest)
        self._sequence += 1
        return Snapshot(
            taken_s=taken_s,
            boot_s=boot_s,
            sequence=self._sequence,
            gpus=self._gpus,
            processes=self._processes,
            pairings=latest.pairings,
            host=self._host,
            steps=tuple([rounded_step(event) for event in latest.events]),
            ended=latest.ended,
            timings=tuple([source.timing for source in latest.sources]),
        )

    def _round(self, latest: Latest) -> None:
        """Round what is new; a source that is silent or backs off leaves the very same objects in its box."""
        new = (latest.gpus, latest.processes.samples, latest.host)
        if new[0] is not self._rounded_from[0]:
            self._gpus = tuple([rounded_gpu(gpu) for gpu in latest.gpus])
        if new[1] is not self._rounded_from[1]:
            self._processes = rounded_all(latest.processes.samples)
        if new[2] is not self._rounded_from[2]:
            self._host = None if latest.host is None else rounded_host(latest.host)
        self._rounded_from = new

    def _changed_facts(self, facts: tuple[ProcessFacts, ...]) -> tuple[ProcessFacts, ...]:
        before = self._facts
        self._facts = {fact.process: fact for fact in facts}
        return tuple([fact for fact in facts if before.get(fact.process) is not fact])

    def _changed_texts(
        self, tails: dict[ProcessIdentity, TailReading], taken_s: float, boot_s: float
    ) -> tuple[Text, ...]:
        before, self._texts = self._texts, tails
        return tuple(
            Text(
                taken_s=taken_s,
                boot_s=boot_s,
                process=process,
                path=tail.path,
                lines=tail.lines,
                skipped_bytes=tail.skipped_bytes,
                refused=tail.refused,
            )
            for process, tail in tails.items()
            if before.get(process) != tail
        )

    def _source_faults(self, source: SourceState, taken_s: float, boot_s: float) -> tuple[Fault, ...]:
        waiting_s = source.timing.waiting_s
        wrong = {
            f"{source.name}{SILENT}": silence(source.name, waiting_s)
            if waiting_s is not None and waiting_s > SILENT_S
            else None,
            f"{source.name}{FAILED}": None if source.failure is None else failure(source.name, source.failure),
        }
        found: list[Fault] = []
        for key, sentence in wrong.items():
            if sentence is None:
                found.extend(self._faults.over(key, taken_s, boot_s))
            else:
                fault = Fault(taken_s=taken_s, boot_s=boot_s, key=key, source=source.name, sentence=sentence)
                found.extend(self._faults.note(fault))
        return tuple(found)
