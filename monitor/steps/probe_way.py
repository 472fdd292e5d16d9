"""The counts of the probe that `traintop run` puts into a run: exact, with times, and the allocator's figures."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from monitor.clock import Clock
from monitor.probe.file import OptimizerCount, ProbeAbsentError, ProbeFacts, ProbeFileError, ProbeReading, read_probe
from monitor.probe.folder import MARK, probe_file, usual_folders
from monitor.probe.launch import deaf_flag
from monitor.steps.source import Refusal, Written
from monitor.types.documents import Setting
from monitor.types.facts import ProcessFacts
from monitor.types.identity import ProcessIdentity
from monitor.types.steps import StepEvent, StepValue

CONFIDENCE = 0.99
SCALED_CONFIDENCE = 0.8
"""Where steps that a GradScaler skipped are counted too."""
BESIDE_CONFIDENCE = 0.4
"""Of optimizers beside the headline: shown, never used while there is anything else."""
MAX_BESIDE = 3
MAX_REFUSALS = 64
UNMARKED_AGAIN_S = 10.0
"""How often a process that nobody says was started with a probe is looked at again."""
LATER_POINTS = 8
"""Of what was counted since the last look, this many points in time."""
_SOURCE = "the probe"
_WHERE = "the process itself"
_NOT_YET = (
    "it was started with the probe, but no optimizer of PyTorch has stepped in it yet; optimizers that do not derive "
    "from torch.optim.Optimizer are not seen"
)


@dataclass
class _Known:
    """What was told of one process so far."""

    last: ProcessFacts | None = None
    path: str = ""
    count: int = 0
    series: int = -1
    facts: ProbeFacts = field(default_factory=ProbeFacts)
    beside: tuple[tuple[str, int], ...] = ()


class ProbeWay:
    """Reads the small file in which the probe of each process shows what it counted."""

    name = "probe"
    needs = "A run that was started with `traintop run -- COMMAND`, of the same user (or root)."
    cost = "About three microseconds a step in the run; a few system calls a tick here."
    asks_first = False

    def __init__(self, clock: Clock, monotonic_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._clock = clock
        self._monotonic_ns = monotonic_ns
        self._known: dict[ProcessIdentity, _Known] = {}
        self._refusals: dict[ProcessIdentity, Refusal] = {}
        self._unmarked: dict[ProcessIdentity, float] = {}
        """When processes without mark and file were looked at last, by the clock for durations."""

    def read(self, facts: tuple[ProcessFacts, ...], until_boot_s: float) -> list[StepEvent]:
        """What was counted since the last look. It takes so little that nothing is left for the next one."""
        del until_boot_s
        alive = {fact.process for fact in facts}
        over = [known.last for process, known in self._known.items() if process not in alive and known.last is not None]
        events: list[StepEvent] = []
        for fact in over:
            events.extend(self._looked(fact))  # what was counted after the last look, up to the end
        self._known = {process: known for process, known in self._known.items() if process in alive}
        self._unmarked = {process: at_s for process, at_s in self._unmarked.items() if process in alive}
        self._refusals = {}
        for fact in facts:
            events.extend(self._looked(fact))
        return events

    def written(self, process: ProcessIdentity) -> list[Written]:
        """None: a probe writes no text."""
        del process
        return []

    def refusals(self) -> tuple[Refusal, ...]:
        """Runs that were started with a probe which shows nothing, and why."""
        return tuple(self._refusals.values())[:MAX_REFUSALS]

    def settings(self) -> dict[ProcessIdentity, tuple[Setting, ...]]:
        """Optimizer, parameters and their types, model, ranks, versions: as the run itself has them in memory."""
        return {process: _settings(known.facts) for process, known in self._known.items() if known.count}

    def allow(self, process: ProcessIdentity) -> None:
        """Needs no leave: the user started the run with it."""

    def _looked(self, fact: ProcessFacts) -> list[StepEvent]:
        try:
            return self._look(fact)
        except Exception as error:  # a fault of ours in one file must not hide the others
            self._refuse(fact, f"its file could not be understood ({type(error).__name__})")
            return []

    def _look(self, fact: ProcessFacts) -> list[StepEvent]:
        own = os.geteuid()
        uid = fact.uid if fact.uid is not None else own if fact.mine else None
        if uid is None or own not in (0, uid):
            return []
        known = self._known.get(fact.process) or _Known()
        known.last = fact
        reading = self._reading(fact, uid, known)
        if reading is None:
            return []
        self._known[fact.process] = known
        return self._events(fact, reading, known)

    def _reading(self, fact: ProcessFacts, uid: int, known: _Known) -> ProbeReading | None:
        mark = next((one.value for one in fact.environment if one.name == MARK), "")
        inner = fact.namespace_pids[-1] if len(fact.namespace_pids) > 1 else fact.process.pid
        if not mark and not known.path:
            now_s = self._clock.boot_s()
            if now_s - self._unmarked.get(fact.process, -UNMARKED_AGAIN_S) < UNMARKED_AGAIN_S:
                return None
            self._unmarked[fact.process] = now_s
        for path in [known.path] if known.path else _places(fact, uid, mark, inner):
            try:
                reading = read_probe(path, fact.process, uid, inner)
            except ProbeAbsentError:
                continue
            except ProbeFileError as error:
                if mark:
                    self._refuse(fact, f"{path}: {error}")
                continue
            known.path = path
            return reading
        if known.path:
            known.path = ""  # somebody removed it; a fork or a new look may find another
        elif mark and fact.kind == "training" and fact.process not in self._refusals:
            flag = deaf_flag(fact.argv)
            why = _NOT_YET if flag is None else f"its Python was started with {flag} and so does not load the probe"
            self._refuse(fact, why)
        return None

    def _refuse(self, fact: ProcessFacts, sentence: str) -> None:
        self._refusals[fact.process] = Refusal(process=fact.process, source=self.name, where=_WHERE, sentence=sentence)

    def _events(self, fact: ProcessFacts, reading: ProbeReading, known: _Known) -> list[StepEvent]:
        """The headline's new points in time, its count now, and the optimizers beside it."""
        again = known.series == reading.series
        since = known.count if again else 0
        if reading.facts.optimizers:
            known.facts = reading.facts
        events: list[StepEvent] = []
        if reading.count != since:
            points = [point for point in reading.facts.recent if since < point[0] < reading.count]
            if not again and not points and reading.count > 1:
                points = [(1, reading.first_ns)]
            for count, at_ns in points[-LATER_POINTS:] if again else points:
                events.append(self._event(fact, reading, count, at_ns))
            events.append(self._event(fact, reading, reading.count, reading.last_ns, last=True))
        known.count, known.series = reading.count, reading.series
        beside = [one for one in reading.facts.optimizers if one.series != reading.series and one.count > 0]
        shown = tuple((f"{one.series}", one.count) for one in beside[:MAX_BESIDE] if one.count != reading.count)
        if shown != known.beside:
            known.beside = shown
            events.extend(self._beside(fact, one) for one in beside[:MAX_BESIDE] if one.count != reading.count)
        return events

    def _event(
        self, fact: ProcessFacts, reading: ProbeReading, count: int, at_ns: int, *, last: bool = False
    ) -> StepEvent:
        now_s = self._clock.wall_s()
        age_s = (self._monotonic_ns() - at_ns) / 1e9
        # A clock that runs ahead of ours is another one (a time namespace): no time is claimed then.
        at_s = now_s - age_s if age_s >= -0.001 else None
        main = next((one for one in reading.facts.optimizers if one.series == reading.series), None)
        return StepEvent(
            process=fact.process,
            source=self.name,
            where=_WHERE,
            series=str(reading.series),
            unit="optimizer_step",
            step=float(count + reading.resumed_at),
            event_s=at_s,
            event_clock="none" if at_s is None else "text",
            seen_s=now_s,
            values=_values(reading.facts, main) if last else (),
            confidence=SCALED_CONFIDENCE if main is not None and main.scaled else CONFIDENCE,
            evidence=_evidence(reading, main) if last else "",
        )

    def _beside(self, fact: ProcessFacts, one: OptimizerCount) -> StepEvent:
        return StepEvent(
            process=fact.process,
            source=self.name,
            where=f"{_WHERE}, optimizer {one.series + 1}: {one.name}",
            series=str(one.series),
            unit="optimizer_step",
            step=float(one.count),
            seen_s=self._clock.wall_s(),
            confidence=BESIDE_CONFIDENCE,
            evidence=f"{one.name} of {one.params} parameters: {one.count} steps",
        )


def _places(fact: ProcessFacts, uid: int, mark: str, inner: int) -> list[str]:
    """Where the file of this process may lie; in a container through the root of the process."""
    folders = tuple(dict.fromkeys((*((mark,) if mark.startswith("/") else ()), *usual_folders(uid, os.environ))))
    elsewhere = fact.container is not None or len(fact.namespace_pids) > 1
    roots = (f"/proc/{fact.process.pid}/root", "") if elsewhere else ("",)
    return [root + probe_file(folder, inner) for root in roots for folder in folders]


def _values(facts: ProbeFacts, main: OptimizerCount | None) -> tuple[StepValue, ...]:
    lr = () if main is None or main.lr is None else (StepValue(name="lr", value=main.lr),)
    return (*lr, *(StepValue(name=name, value=float(number)) for name, number in facts.allocator.items()))


def _evidence(reading: ProbeReading, main: OptimizerCount | None) -> str:
    words = [f"{reading.count} optimizer steps in this process"]
    if main is not None:
        words.append(f"{main.name} of {main.params} parameters" if main.params else main.name)
    if reading.resumed_at:
        words.append(f"went on from step {reading.resumed_at}, as the optimizer's state says")
    if main is not None and main.scaled:
        words.append("steps that the GradScaler skipped are counted too")
    return ", ".join(words)


def _settings(facts: ProbeFacts) -> tuple[Setting, ...]:
    found: dict[str, str | float | bool | None] = {}
    main = next(iter(facts.optimizers), None)
    if main is not None:
        kind = next((one for one in facts.optimizers if one.kind == "optimizer"), main)
        found["optimizer"] = kind.name
        found["optimizer_parameters"] = float(kind.params)
        found["learning_rate"] = kind.lr
        found["engine"] = main.name if main.kind == "engine" else None
    model = facts.model
    found["model_class"] = model.name
    found["num_parameters"] = None if model.params is None else float(model.params)
    wanted = model.trainable if model.requires_grad is None else model.requires_grad
    found["trainable_parameters"] = None if wanted is None else float(wanted)
    if model.dtypes:
        found["parameter_dtype"] = ", ".join(sorted(model.dtypes, key=lambda name: -model.dtypes[name]))
    found.update({name: float(number) for name, number in facts.ranks.items()})
    found.update({f"{name}_version": text for name, text in facts.versions.items()})
    return tuple(Setting(name=name, value=value, source=_SOURCE) for name, value in found.items() if value is not None)
