"""tqdm bars in all their shapes. Of several bars in one file the training's is told by its words and by how it moves.

Three kinds of movement are told apart: one bar over the whole run; an evaluation bar inside it (the outer one advances
a lot between two of them); and two nested loops (the outer one advances once for each inner one), where epoch and batch
make one count together.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from monitor.newest import drop_oldest
from monitor.steps.formats.announced import EPOCH_KEYS
from monitor.steps.formats.bar_kind import BarKind, bar_kind
from monitor.steps.formats.bar_text import BarText, last_bar
from monitor.steps.formats.figures import figures
from monitor.steps.formats.language_lines import BAR_TOTAL
from monitor.steps.formats.line_format import EVIDENCE_CHARS, FileText, Origin, phase_event
from monitor.steps.lines import Line
from monitor.types.steps import Phase, StepEvent, StepUnit

MAX_BARS = 32
COMPLETE_RATIO = 0.95
"""A bar that falls back from here on has ended its epoch; one that falls back earlier was broken off."""

LAG_STEPS = 3
LAG_S = 60.0
"""A count that is this little behind the last one, on a clock that is as near, is another rank's bar."""
RANK_TOTAL = 8
"""Of shorter bars that is no reason to believe so."""
_GLOBAL_STEP = re.compile(r"\bglobal_step=(\d{1,12}(?:\.\d{1,3})?(?:e\+\d{1,2})?)(?![\w.])")
STEP_TOTALS = ("max_steps", "max_train_steps")


@dataclass
class _Bar:
    """The state of one bar: same description, same total."""

    kind: BarKind
    total: float | None
    n: float = -1.0
    elapsed_s: float | None = None
    lasted_s: float = 0.0
    """The same to the fraction of a second, where the bar tells it."""
    earlier_s: float = 0.0
    """What the clocks of the bars before this one said at last, and those of evaluation bars between: one clock over
    all epochs."""
    advanced_s: float = 0.0
    others_s: float = 0.0
    """Its own clock, and the clocks of all other bars together, when its count rose last."""
    longest_s: float = 0.0
    advances: int = 0
    runs: int = 1
    completed: int = 0
    before: float = 0.0
    """Steps of the runs before this one, for bars without a total."""
    inside: bool = False
    """It is an evaluation that runs inside the training bar."""
    has_loss: bool = False

    @property
    def open(self) -> bool:
        return self.total is not None and self.n < self.total


@dataclass
class _Count:
    step: float
    total: float | None
    unit: StepUnit = "step"
    total_source: str = ""
    epoch: float | None = None
    confidence: float = 0.5
    series: str = ""


@dataclass
class TqdmFormat:
    """Reads tqdm bars of one file."""

    name: str = "tqdm"
    _bars: dict[tuple[str, float | None], _Bar] = field(default_factory=dict)
    _phase: Phase | None = None
    _others_s: float = 0.0
    """What the clocks of bars that are no training have run in all."""

    def read(self, line: Line, text: FileText, origin: Origin) -> tuple[StepEvent, ...]:
        """The count of a training bar, or the phase that another bar tells."""
        printed = last_bar(line.text)
        if printed is None:
            return ()
        kind = bar_kind(printed.label, printed.unit)
        known = self._bars.get((kind.key, printed.total))
        if known is not None and known.n == printed.n and not printed.postfix:
            known.elapsed_s, known.lasted_s = printed.elapsed_s, _lasted_s(printed)
            return ()
        if known is not None and printed.n == 0 < known.n and kind.epoch is not None and kind.epoch == known.kind.epoch:
            return ()  # reset for the next epoch before it is given the next epoch's name
        if known is not None and _other_rank(known, printed):
            return ()
        bar, edge = self._move(kind, printed)
        phase = kind.phase or ("evaluating" if self._inside(bar) else None)
        if phase is not None:
            return self._phase_event(phase, line, origin)
        count = self._count(bar, printed, text)
        self._phase = None
        values = figures(printed.postfix)
        bar.has_loss = bar.has_loss or any(value.name == "loss" for value in values)
        if bar.has_loss:
            count.confidence = min(0.95, count.confidence + 0.15)
        return (
            StepEvent(
                process=origin.process,
                source=self.name,
                where=origin.where,
                series=count.series,
                unit=count.unit,
                step=count.step,
                total=count.total,
                total_source=count.total_source,
                epoch=count.epoch,
                elapsed_s=bar.earlier_s + (printed.elapsed_s or 0.0) if edge and printed.exact else None,
                seconds_per_step=printed.seconds_per_step,
                seen_s=origin.seen_s,
                values=values,
                confidence=count.confidence if printed.exact else count.confidence - 0.2,
                evidence=line.text[-EVIDENCE_CHARS:],
            ),
        )

    def _phase_event(self, phase: Phase, line: Line, origin: Origin) -> tuple[StepEvent, ...]:
        if phase == self._phase:
            return ()
        self._phase = phase
        return (phase_event(self.name, phase, origin, line.text[-EVIDENCE_CHARS:], confidence=0.6),)

    def _move(self, kind: BarKind, printed: BarText) -> tuple[_Bar, bool]:
        """Bring the bar's state up to date; say whether its clock has just turned to a new second.

        The printed clock is cut to whole seconds, so only the first count of a second has a time that is worth
        anything: it is late by one step at most.
        """
        bar = self._bars.get((kind.key, printed.total))
        if bar is None:
            drop_oldest(self._bars, MAX_BARS - 1)
            bar = self._bars[(kind.key, printed.total)] = _Bar(kind, printed.total)
        elif printed.n < bar.n:
            ended = bar.total is not None and bar.n >= COMPLETE_RATIO * bar.total
            bar.completed = bar.completed + 1 if ended else 0
            later = kind.epoch is not None and bar.kind.epoch is not None and kind.epoch > bar.kind.epoch
            bar.before = bar.before + bar.n if later else 0.0
            bar.runs += 1
            if printed.elapsed_s is not None and bar.elapsed_s is not None and printed.elapsed_s < bar.elapsed_s:
                beside_s = self._others_s - bar.others_s - (bar.elapsed_s - bar.advanced_s)
                bar.earlier_s = bar.earlier_s + bar.lasted_s + max(0.0, beside_s) if ended or later else 0.0
            bar.elapsed_s = None
        edge = printed.n == 0 and printed.elapsed_s == 0
        if bar.elapsed_s is not None and printed.elapsed_s is not None:
            edge = edge or printed.elapsed_s > bar.elapsed_s
        if kind.phase is not None or bar.inside:
            self._others_s += max(0.0, (printed.elapsed_s or 0.0) - (bar.elapsed_s or 0.0))
        if printed.n != bar.n:
            bar.advances += bar.n >= 0
            bar.advanced_s, bar.others_s = printed.elapsed_s or 0.0, self._others_s
        bar.kind, bar.n, bar.elapsed_s, bar.lasted_s = kind, printed.n, printed.elapsed_s, _lasted_s(printed)
        bar.longest_s = max(bar.longest_s, printed.elapsed_s or 0.0)
        return bar, edge

    def _inside(self, bar: _Bar) -> bool:
        """Whether a bar without telling words is an evaluation inside a training bar."""
        if bar.inside:
            return True
        outer = self._outer(bar)
        if outer is not None and outer.advances > bar.runs and bar.kind.epoch is None and not bar.has_loss:
            bar.inside = True
        return bar.inside

    def _outer(self, bar: _Bar) -> _Bar | None:
        """The training bar that was begun before this one and still runs."""
        for other in self._bars.values():
            if other is bar:
                return None
            if other.kind.phase is None and not other.inside and other.open and other.runs == 1:
                return other
        return None

    def _count(self, bar: _Bar, printed: BarText, text: FileText) -> _Count:
        kind, total, n = bar.kind, printed.total, printed.n
        series = f"{kind.key}/{total:g}" if total is not None else kind.key
        count = _Count(n, total, series=series, confidence=kind.confidence, total_source="" if total is None else "bar")
        if not kind.key and bar.longest_s < max(other.longest_s for other in self._bars.values() if not other.kind.key):
            count.confidence = 0.5  # of bars without a word, the one that ran longest is the training
        if total is None and n == 0 and bar.advances == 0:
            count.confidence = 0.2  # nothing says yet that it will ever count
        if kind.epoch is not None:
            count.epoch = float(kind.epoch)
            if not kind.whole_run:
                self._by_name(count, bar, kind.epoch, text)
                self._planned(count, printed.postfix, text)
            return count
        if total is not None and kind.whole_run:
            text.announced.note(BAR_TOTAL, total)
        if total is None or kind.whole_run:
            return count
        outer = self._outer(bar)
        if outer is not None and outer.total is not None:
            count.epoch = outer.n
            self._of_epochs(count, int(outer.n), int(outer.total))
            count.confidence = max(count.confidence, outer.kind.confidence)
        elif self._is_outer(bar):
            count.unit, count.confidence = "epoch", 0.4
        elif text.epochs.epoch is not None and (bar.runs > 1 or (text.epochs.before() == 0 and text.epochs.total != 1)):
            count.epoch = float(text.epochs.epoch)
            self._of_epochs(count, text.epochs.before(), text.epochs.total)
        elif bar.runs > 1:
            self._of_epochs(count, bar.completed, None)
        return count

    def _by_name(self, count: _Count, bar: _Bar, epoch: int, text: FileText) -> None:
        """A bar that names its epoch; how many there are may stand elsewhere."""
        kind = bar.kind
        text.epochs.note(epoch, kind.epochs)
        epochs, source = text.epochs.total, "named"
        if bar.total is None:
            count.step += bar.before
            count.total_source = "the bar has no total"
            return
        before = text.epochs.before(1 if kind.epochs is not None else 0)
        if kind.first_epoch is not None:
            before = max(0, epoch - kind.first_epoch)
        if epochs is None:
            outer = self._outer(bar)
            if outer is not None and outer.total is not None and "epoch" in outer.kind.key:
                epochs = int(outer.total)
            else:
                told, source = text.announced.total(EPOCH_KEYS, least=float(epoch))
                epochs = None if told is None else int(told)
        self._of_epochs(count, before, epochs)
        if count.total is not None and source != "named":
            count.total_source += f" ({source})"

    def _planned(self, count: _Count, postfix: str, text: FileText) -> None:
        """The planned steps, where the bar's figures say that it counts optimizer steps and no micro-batches."""
        planned, source = text.announced.total(STEP_TOTALS, least=count.step)
        if planned is None or (count.total is not None and count.total <= planned):
            return
        found = _GLOBAL_STEP.search(postfix)
        if found is not None and abs(float(found[1]) + 1 - count.step) <= max(1.0, 0.05 * count.step):
            count.total, count.total_source = planned, source

    def _is_outer(self, bar: _Bar) -> bool:
        later = False
        for other in self._bars.values():
            if later and other.kind.phase is None and not other.inside and other.runs + 1 >= bar.advances > 0:
                return True
            later = later or other is bar
        return False

    def _of_epochs(self, count: _Count, before: int | None, epochs: int | None) -> None:
        """Turn a count within an epoch into one of the whole run, as far as epochs and their number are known."""
        per_epoch = count.total
        if per_epoch is None:
            return
        count.series = "epochs of " + count.series
        if before is not None:
            count.step += before * per_epoch
        count.total = None if epochs is None else epochs * per_epoch
        if count.total is None:
            count.total_source = "one bar an epoch; how many epochs is not told"
        else:
            count.total_source = f"{epochs} epochs of {per_epoch:g}"
        if count.total is not None and count.step > count.total:
            count.total, count.total_source = None, "more epochs than the text announced"


def _other_rank(known: _Bar, printed: BarText) -> bool:
    behind = known.n - printed.n
    if not 0 < behind <= LAG_STEPS or printed.n <= 0 or printed.elapsed_s is None or known.elapsed_s is None:
        return False
    if known.total is not None and (known.total <= RANK_TOTAL or (not known.open and printed.n < known.total / 2)):
        return False
    return abs(printed.elapsed_s - known.elapsed_s) <= LAG_S


def _lasted_s(printed: BarText) -> float:
    """How long a bar has run: its clock is cut to whole seconds, but closing it draws the mean rate over all of it.

    (`tqdm.close` leaves out the moving average.) Else the many bars of a run would together lose half a second each.
    """
    whole_s = printed.elapsed_s or 0.0
    mean_s = (printed.seconds_per_step or 0.0) * printed.n
    return mean_s if printed.n == printed.total and whole_s <= mean_s < whole_s + 1 else whole_s
