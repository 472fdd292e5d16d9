"""Lines that a program prints for itself: `step 10/200 loss 1.9`, `iter 100: loss 2.3`, `Epoch 3/50, loss: …`.

Nothing here is a fixed format, so a counter is believed only slowly: until it has risen three times without falling,
a line with a figure counts little and a line without one is held back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

import msgspec

from monitor.newest import drop_oldest
from monitor.steps.formats.announced import EPOCH_KEYS, ITER_KEYS, STEP_KEYS, UPDATE_KEYS
from monitor.steps.formats.bar_text import last_bar
from monitor.steps.formats.figures import figures
from monitor.steps.formats.known_lines import known_line, known_mark
from monitor.steps.formats.line_format import EVIDENCE_CHARS, FileText, Origin
from monitor.steps.formats.numbers import count, duration_s
from monitor.steps.formats.run_clock import RunClock
from monitor.steps.lines import Line
from monitor.types.steps import StepEvent, StepUnit, StepValue

RISES_TO_BELIEVE = 2
"""Three readings, each above the one before."""
MAX_SERIES = 32
BEFORE_CHARS = 48
"""How far before a counter the words that disown it may begin."""

_NUMBER = r"\d[\d,_]{0,20}"
_STEP = re.compile(
    r"(?<![\w/.])(?P<label>(?:global|optimizer|train|training|iteration|update|total)?[ _-]?"
    r"(?:steps?|iters?|iterations?|itr)|global_step|updates?|num_updates|batch(?:es)?|it)\b"
    r"[ \t]{0,6}[:=#(\[]?[ \t]{0,10}"
    rf"(?P<n>{_NUMBER})(?![\w.%]*[A-Za-z])(?:[ \t]{{0,8}}(?:/|of)[ \t]{{0,8}}(?P<total>{_NUMBER}))?",
)
_EPOCH = re.compile(
    r"(?<![\w/.])ep(?:och)?s?\b[ \t]{0,4}[:=#(\[]{0,2}[ \t]{0,6}(?P<n>\d{1,9})(?!\.?\d)"
    r"(?:[ \t]{0,4}(?:/|of)[ \t]{0,4}(?P<total>\d{1,9}))?"
    r"\]?(?:[ \t]{0,2}\[[ \t]{0,6}(?P<batch>\d{1,9})[ \t]{0,2}/[ \t]{0,6}(?P<batches>\d{1,9})\b)?",
)
_BRACKET = re.compile(rf"^.{{0,64}}?\[[ \t]{{0,6}}(?P<n>{_NUMBER})[ \t]{{0,2}}/[ \t]{{0,6}}(?P<total>{_NUMBER})\]")
_ELAPSED = re.compile(r"\b(?:train_time|elapsed|time_elapsed|total_time)[:= ]{1,3}(?P<n>[\d.:]{1,16})(?P<unit>ms|s)?\b")
_EACH = re.compile(
    r"\b(?:elapsed time per iteration \(ms\)|step_time|iter_time|time|dt)[ \t]{0,3}[:= ][ \t]{0,4}"
    r"(?P<n>\d{1,9}(?:\.\d{1,6})?)(?P<unit>ms|s)?\b"
)
_LASTED = re.compile(
    r"\[(?P<n>\d{1,7}(?:\.\d{1,4})?)s\]"
    r"|\b(?:time(?: taken| cost| elapsed)?|epoch[ _]time|took|duration)(?: \(s\))?[ \t]{0,2}[:=]?[ \t]{0,4}"
    r"(?P<words>\d{1,7}(?:\.\d{1,4})? ?(?:seconds|secs|sec|s|minutes|mins|min|m)\b"
    r"(?: {0,2}\d{1,2}(?:\.\d{1,4})? ?s\b)?)",
    re.IGNORECASE,
)
"""How long an epoch took: in its own line, or in one of the next few."""
LINES_TO_TIME = 8
_TOTALS: dict[str, tuple[str, ...]] = {"step": STEP_KEYS, "it": ITER_KEYS, "update": UPDATE_KEYS}
"""Settings that hold the total of a counter, by the word that it begins with."""
_HELD_OUT = re.compile(
    r"(?:\b|_)(?:e?val|eval\w*|valid\w*|test\w*|predict\w*|best|saved?|saving|checkpoint|resum\w*|load\w*)"
    r"(?:\W{1,3}(?:at|after|from|to|in|for))?\W{0,3}$",
    re.I,
)
_QUICK = re.compile(r"\d")
_HINTS = ("step", "it", "ep", "batch", "update")


@dataclass
class _Series:
    last: float = -1.0
    rises: int = 0
    per_epoch: float = 0.0
    """Steps an epoch, where the count was seen to begin anew with an epoch."""
    held: list[StepEvent] = field(default_factory=list)


@dataclass(frozen=True)
class _Found:
    label: str
    n: float
    total: float | None
    unit: StepUnit
    epoch: int | None
    epochs: int | None
    total_source: str = "log line"


class StepLineFormat:
    """Reads printed counters of one file."""

    name = "step_line"

    def __init__(self) -> None:
        self._series: dict[str, _Series] = {}
        self._untimed: StepEvent | None = None
        """The last count of an epoch, while a line with its time may follow."""
        self._untimed_lines = 0
        self._clock = RunClock()

    def read(self, line: Line, text: FileText, origin: Origin) -> tuple[StepEvent, ...]:
        """A counter, and what stood back until it was believed."""
        content = line.text
        self._untimed_lines += 1
        if _QUICK.search(content) is None or last_bar(content) is not None:
            return ()
        if known_line(content) is not None or known_mark(content) is not None:
            return ()
        values = figures(content)
        found = self._find(content, values, text, whole=line.whole)
        if found is None:
            return self._timed_after(content, origin)
        series = self._series.setdefault(found.label, _Series())
        drop_oldest(self._series, MAX_SERIES)
        found = self._over_epochs(found, series, text)
        if found.n < series.last:
            series.rises, series.held = 0, []
        elif found.n > series.last:
            series.rises += series.last >= 0
        series.last = found.n
        believed = series.rises >= RISES_TO_BELIEVE
        event = self._event(line, self._with_total(found, text), values, text, origin, believed=believed)
        self._untimed, self._untimed_lines = event if event.unit == "epoch" and event.event_s is None else None, 0
        if not believed and not values:
            series.held = [*series.held, event][-RISES_TO_BELIEVE:]
            return ()
        held, series.held = series.held, []
        return (*(msgspec.structs.replace(e, confidence=event.confidence) for e in held), event)

    def _timed_after(self, content: str, origin: Origin) -> tuple[StepEvent, ...]:
        """The time of the epoch that was counted a few lines above."""
        event = self._untimed
        if event is None or self._untimed_lines > LINES_TO_TIME:
            return ()
        lasted_s = _lasted_s(content)
        if lasted_s is None:
            return ()
        self._untimed = None
        elapsed_s = self._clock.add(lasted_s)
        return (msgspec.structs.replace(event, elapsed_s=elapsed_s, seen_s=origin.seen_s, values=figures(content)),)

    def _with_total(self, found: _Found, text: FileText) -> _Found:
        """A total that the text announced, where the line has none."""
        if found.total is not None:
            return found
        if found.unit == "epoch":
            keys: tuple[str, ...] = EPOCH_KEYS
        else:
            word = found.label.rsplit(" ", 1)[-1]
            keys = next((names for start, names in _TOTALS.items() if word.startswith(start)), ())
        total, source = text.announced.total(keys, least=found.n)
        return found if total is None else replace(found, total=total, total_source=source)

    def _find(self, content: str, values: tuple[StepValue, ...], text: FileText, *, whole: bool) -> _Found | None:
        content = content.encode().lower().decode()  # ASCII only, so that places in the text stay the same
        hinted = any(word in content for word in _HINTS)
        epoch = _EPOCH.search(content) if hinted else None
        steps = _STEP.finditer(content) if hinted else ()
        step = next((m for m in steps if not _held_out(content, m.start())), None)
        if epoch is not None and ((not whole and epoch.end() == len(content)) or _held_out(content, epoch.start())):
            epoch = None
        e, epochs = (None, None) if epoch is None else (int(epoch["n"]), _whole(epoch["total"]))
        if step is not None and (whole or step.end() < len(content)):
            n = count(step["n"])
            if n is not None:
                label = "step " + step["label"].casefold().strip(" _-")
                return _Found(label, n, _count(step["total"]), "step", e, epochs)
        if epoch is not None and epoch["batch"] is not None and e is not None:
            text.epochs.note(e, epochs)
            per_epoch = float(epoch["batches"])
            before = text.epochs.before() or 0
            total = None if epochs is None else epochs * per_epoch
            return _Found(
                "epoch batch",
                before * per_epoch + float(epoch["batch"]),
                total,
                "step",
                e,
                epochs,
                "epochs in the line",
            )
        if epoch is not None and e is not None:
            text.epochs.note(e, epochs, done=any(v.name in {"loss", "eval_loss", "accuracy"} for v in values))
            return _Found("epoch", float(e), None if epochs is None else float(epochs), "epoch", e, epochs)
        bracket = _BRACKET.match(content) if any(v.name in {"loss", "lr"} for v in values) else None
        if bracket is not None and (n := count(bracket["n"])) is not None:
            return _Found("bracket", n, _count(bracket["total"]), "step", e, epochs)
        return None

    def _over_epochs(self, found: _Found, series: _Series, text: FileText) -> _Found:
        """Make one count of one that begins anew each epoch, where the line names the epoch as well."""
        if found.epoch is None or found.unit == "epoch" or found.label == "epoch batch" or found.total is None:
            return found
        if "global" in found.label or "total" in found.label:
            return found
        text.epochs.note(found.epoch, found.epochs)
        before = text.epochs.before() or 0
        if found.epochs is not None and found.n <= found.total and series.per_epoch == 0:
            # "epoch: 12/150, iter: 40/310": a count of the run would be at 12/150 of its total as well.
            expected = before / max(1, found.epochs)
            done = found.n / max(1.0, found.total)
            if found.epochs > 1 and not expected - 0.02 <= done <= expected + 1.5 / found.epochs + 0.02:
                series.per_epoch = found.total
        if series.per_epoch == 0 and found.n < series.last and before >= 1:
            series.per_epoch = found.total
        if series.per_epoch == 0 and (found.epochs is None or before > 0):
            return found
        # In the first epoch the count is the same either way, and its total is far more often the epoch's.
        total = None if found.epochs is None else found.epochs * found.total
        return replace(found, n=before * found.total + found.n, total=total, total_source="epochs in the line")

    def _event(
        self,
        line: Line,
        found: _Found,
        values: tuple[StepValue, ...],
        text: FileText,
        origin: Origin,
        *,
        believed: bool,
    ) -> StepEvent:
        content = line.text
        stamp, of_text_s = text.clock.read(content, origin.seen_s)
        elapsed_s = _elapsed(content)
        confidence = 0.5 if found.unit == "epoch" else 0.65
        confidence += 0.1 if any(v.name == "loss" for v in values) else 0.0
        return StepEvent(
            process=origin.process,
            source=self.name,
            where=origin.where,
            series=found.label,
            unit=found.unit,
            step=found.n,
            total=found.total,
            total_source="" if found.total is None else found.total_source,
            epoch=None if found.epoch is None else float(found.epoch),
            event_s=stamp,
            event_clock="none" if stamp is None else "text",
            elapsed_s=of_text_s if elapsed_s is None else elapsed_s,
            seconds_per_step=_each(content, found.unit),
            seen_s=origin.seen_s,
            values=tuple(v for v in values if v.name != "epoch" and (line.whole or not content.endswith(str(v.value)))),
            confidence=confidence if believed else 0.3,
            evidence=content[:EVIDENCE_CHARS],
        )


def _held_out(content: str, start: int) -> bool:
    """Whether the words before a counter say that it is none of training's progress."""
    return _HELD_OUT.search(content[max(0, start - BEFORE_CHARS) : start]) is not None


def _whole(text: str | None) -> int | None:
    return None if text is None else int(text)


def _count(text: str | None) -> float | None:
    return None if text is None else count(text)


def _elapsed(content: str) -> float | None:
    match = _ELAPSED.search(content) if "_time" in content or "elapsed" in content else None
    if match is None:
        return None
    if ":" in match["n"]:
        return duration_s(match["n"])
    number = count(match["n"])
    return None if number is None else number / 1000 if match["unit"] == "ms" else number


def _lasted_s(content: str) -> float | None:
    match = _LASTED.search(content)
    if match is None:
        return None
    return float(match["n"]) if match["n"] is not None else duration_s(match["words"].lower())


def _each(content: str, unit: StepUnit) -> float | None:
    """The time of one step as the line prints it; quoted."""
    if unit == "epoch":
        return _lasted_s(content)
    match = _EACH.search(content) if "time" in content or "dt" in content else None
    if match is None:
        return None
    number = float(match["n"])
    return number / 1000 if match["unit"] == "ms" or "(ms)" in match.group() else number
