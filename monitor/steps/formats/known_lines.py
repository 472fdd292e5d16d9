"""Lines of known frameworks, by tables: one mechanism reads them all."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import msgspec

from monitor.steps.formats.figures import figures
from monitor.steps.formats.language_lines import LANGUAGE_LINES, LANGUAGE_MARKS
from monitor.steps.formats.line_format import EVIDENCE_CHARS, FileText, Origin
from monitor.steps.formats.line_shape import LineShape, Mark, longest_first
from monitor.steps.formats.numbers import count, duration_s
from monitor.steps.formats.run_clock import CoarseClock, LeftTotal, RunClock
from monitor.steps.formats.speech_lines import SPEECH_LINES, SPEECH_MARKS
from monitor.steps.formats.vision_lines import VISION_LINES, VISION_MARKS
from monitor.steps.lines import Line
from monitor.types.steps import StepEvent, StepValue

LINES: tuple[LineShape, ...] = VISION_LINES + SPEECH_LINES + LANGUAGE_LINES
MARKS: tuple[Mark, ...] = VISION_MARKS + SPEECH_MARKS + LANGUAGE_MARKS
# Every line is held against every row: the longest hint, which most lines do not have, is looked for first.
_LINES = tuple((*longest_first(shape.hints), shape) for shape in LINES)
_MARKS = tuple((*longest_first(mark.hints), mark) for mark in MARKS)
NEAR_RATIO = 0.02
"""A count of the run and one of epochs and batches are the same when they differ by no more."""
LINES_TO_TIME = 60
"""A block of figures is no longer than this."""
EPOCH_CONFIDENCE = 0.6
_LAST_UNIT = re.compile(r"\d+(?:\.(\d+))? ?(d|h|ms|us|m|s)$")
_UNITS_S = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6}


@dataclass(frozen=True)
class KnownLine:
    """A line, and the row that reads it."""

    shape: LineShape
    match: re.Match[str]

    def number(self, group: str) -> float | None:
        """The number in a group; `None` where the row has no such group or the line leaves it out."""
        text = self.match[group] if group in self.match.re.groupindex else None
        return None if text is None else count(text)

    def seconds(self, group: str) -> float | None:
        """The time in a group: plain seconds, or a duration in words."""
        text = self.match[group] if group in self.match.re.groupindex else None
        if text is None:
            return None
        return duration_s(text) if text.strip()[-1:].isalpha() else count(text)


def _by_longest(hints: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The longest hint and the others: the longest is in the fewest lines, so that most rows cost one search."""
    longest = max(hints, key=len)
    return longest, tuple(hint for hint in hints if hint != longest)


_LINES = tuple((*_by_longest(shape.hints), shape) for shape in LINES)
_MARKS = tuple((*_by_longest(mark.hints), mark) for mark in MARKS)


@lru_cache(maxsize=8)  # other formats ask too
def known_line(text: str) -> KnownLine | None:
    """The row for a line, if one reads it."""
    for longest, others, shape in _LINES:
        if longest in text and all(hint in text for hint in others):
            match = shape.pattern.search(text)
            if match is not None:
                return KnownLine(shape, match)
    return None


@lru_cache(maxsize=8)
def known_mark(text: str) -> tuple[Mark, re.Match[str]] | None:
    """The mark of a line, if it is one."""
    for longest, others, mark in _MARKS:
        if longest in text and all(hint in text for hint in others):
            match = mark.pattern.search(text)
            if match is not None:
                return mark, match
    return None


@dataclass(frozen=True)
class _Count:
    step: float | None = None
    total: float | None = None
    total_source: str = ""


class KnownLinesFormat:
    """Reads the lines of one file."""

    name = "known_lines"

    def __init__(self) -> None:
        self._clock = RunClock()
        self._coarse = CoarseClock()
        self._batches: dict[str, float] = {}
        """The length of an epoch, by framework."""
        self._left = LeftTotal()
        self._phase: str | None = None
        self._untimed: tuple[StepEvent, re.Pattern[str]] | None = None
        self._lines_after = 0

    def read(self, line: Line, text: FileText, origin: Origin) -> tuple[StepEvent, ...]:
        """The count of a known line, or the phase or the end that it tells."""
        known = known_line(line.text)
        if known is None:
            return self._timed_after(line, origin) or self._marked(line, text, origin)
        if not line.whole and known.match.end() >= len(line.text):
            return ()  # its last number may go on
        self._phase = None
        event = self._event(known, line, text, origin)
        self._untimed = None if known.shape.elapsed_after is None else (event, known.shape.elapsed_after)
        self._lines_after = 0
        return (event,)

    def _timed_after(self, line: Line, origin: Origin) -> tuple[StepEvent, ...]:
        """The time of the count that stands a few lines above."""
        self._lines_after += 1
        if self._untimed is None or not line.whole or self._lines_after > LINES_TO_TIME:
            return ()
        event, pattern = self._untimed
        match = pattern.search(line.text)
        elapsed_s = None if match is None else duration_s(match[1])
        if elapsed_s is None:
            return ()
        self._untimed = None
        return (msgspec.structs.replace(event, elapsed_s=elapsed_s, seen_s=origin.seen_s, values=()),)

    def _event(self, known: KnownLine, line: Line, text: FileText, origin: Origin) -> StepEvent:
        shape, epoch = known.shape, known.number("epoch")
        found = self._count(known, text)
        event_s, elapsed_s = text.clock.read(line.text, origin.seen_s)
        if event_s is None and elapsed_s is None:
            elapsed_s = self._elapsed_s(known, epoch)
        return StepEvent(
            process=origin.process,
            source=self.name,
            where=origin.where,
            series=f"{shape.framework} {'epoch' if shape.unit == 'epoch' else 'step'}",
            unit=shape.unit,
            step=found.step,
            total=found.total,
            total_source=found.total_source,
            epoch=epoch,
            event_s=event_s,
            event_clock="none" if event_s is None else "text",
            elapsed_s=elapsed_s,
            seconds_per_step=_each_s(known, line.text, text),
            seen_s=origin.seen_s,
            phase="training" if found.step is None else None,
            values=_values(line),
            confidence=min(shape.confidence, EPOCH_CONFIDENCE) if shape.unit == "epoch" else shape.confidence,
            evidence=line.text[:EVIDENCE_CHARS],
        )

    def _count(self, known: KnownLine, text: FileText) -> _Count:
        shape = known.shape
        n, epoch, batch, batches = (known.number(group) for group in ("n", "epoch", "batch", "batches"))
        epochs, epochs_source = self._epochs(known, text)
        if epoch is not None:
            text.epochs.note(int(epoch), None if epochs is None else int(epochs))
        before: float | None = text.epochs.before()
        named = float(text.epochs.epoch) if epoch is None and text.epochs.epoch is not None else epoch
        if named is not None and shape.first_epoch is not None:
            before = max(0.0, named - shape.first_epoch)
        if batches:
            self._batches[shape.framework] = batches
        if n is not None:
            in_epochs = _Count()
            if before is not None and batch is not None and batches:
                in_epochs = _of_epochs(before, batch, batches, epochs, epochs_source)
            return self._of_run(known, n, in_epochs, text)
        if epoch is None or before is None:
            return _Count()
        if shape.unit == "epoch":
            step = before + 1 if shape.when == "done" else before
            return _Count(step, epochs if epochs is not None and epochs >= step else None, epochs_source)
        length = batches or self._batches.get(shape.framework)
        if length is None or (batch is not None and batch > length):
            return _Count()
        if batch is None:
            batch = length if shape.when == "done" else 0.0
        return _of_epochs(before, batch, length, epochs, epochs_source)

    def _epochs(self, known: KnownLine, text: FileText) -> tuple[float | None, str]:
        printed = known.number("epochs")
        if printed is not None:
            return printed + 1 if known.shape.last_is_total else printed, "epochs in the line"
        if known.number("epoch") is None and text.epochs.total is not None:
            return float(text.epochs.total), "epochs in the text"
        epoch = known.number("epoch") or 0.0
        total, source = text.announced.total(known.shape.epoch_totals, least=epoch)
        if total is None and text.epochs.total is not None and epoch <= text.epochs.total:
            return float(text.epochs.total), "epochs in the text"
        return total, source

    def _of_run(self, known: KnownLine, n: float, in_epochs: _Count, text: FileText) -> _Count:
        shape = known.shape
        step = n + 1 if shape.zero_based else n
        total, source = known.number("total"), "log line"
        if total is not None and shape.last_is_total:
            total += 1
        if total is None:
            total, source = text.announced.total(shape.totals, least=step)
        same = in_epochs.step is not None and abs(in_epochs.step - n) <= max(2.0, NEAR_RATIO * n)
        if same and in_epochs.total is not None and (total is None or in_epochs.total < total):
            total, source = in_epochs.total, in_epochs.total_source
        if total is None and "left" in known.match.re.groupindex:
            elapsed, left = _printed_s(known.match["elapsed"]), _printed_s(known.match["left"])
            total = None if elapsed is None or left is None else self._left.take(step, elapsed, left)
            source = "elapsed time and time left in the line"
        return _Count(step, total, "" if total is None else source)

    def _elapsed_s(self, known: KnownLine, epoch: float | None) -> float | None:
        elapsed_s = known.seconds("elapsed")
        if elapsed_s is not None:
            printed = _printed_s(known.match["elapsed"])
            whole = elapsed_s == int(elapsed_s)
            return self._coarse.take(elapsed_s, printed[1] if printed is not None else 1.0 if whole else 0.0)
        since_s = known.seconds("since")
        if since_s is not None:
            return self._clock.add(since_s)
        lasted_s = known.seconds("lasted")
        if lasted_s is None:
            return None
        return self._clock.add(lasted_s) if known.shape.when == "done" else self._clock.at(epoch, lasted_s)

    def _marked(self, line: Line, text: FileText, origin: Origin) -> tuple[StepEvent, ...]:
        found = known_mark(line.text)
        if found is None:
            return ()
        mark, match = found
        if mark.epochs:
            if line.whole:
                text.epochs.note(int(count(match["epoch"]) or 0), int(count(match["epochs"]) or 0) or None)
            return ()
        if mark.phase is not None and mark.phase == self._phase:
            return ()
        self._phase = mark.phase
        event_s, _ = text.clock.read(line.text, origin.seen_s)
        return (
            StepEvent(
                process=origin.process,
                source=self.name,
                where=origin.where,
                event_s=event_s,
                event_clock="none" if event_s is None else "text",
                seen_s=origin.seen_s,
                phase=mark.phase,
                ended=mark.ended,
                confidence=0.7,
                evidence=line.text[:EVIDENCE_CHARS],
            ),
        )


def _of_epochs(before: float, batch: float, length: float, epochs: float | None, source: str) -> _Count:
    step = before * length + batch
    total = None if epochs is None or epochs * length < step else epochs * length
    return _Count(step, total, "" if total is None else f"{epochs:g} epochs of {length:g} ({source})")


def _each_s(known: KnownLine, content: str, text: FileText) -> float | None:
    seconds = known.seconds("each")
    if seconds is None and known.shape.each_key:
        return text.announced.figure(known.shape.each_key)
    if seconds is None and known.shape.each is not None:
        match = known.shape.each.search(content)
        seconds = None if match is None else count(match[1])
    return None if seconds is None or seconds <= 0 else seconds * known.shape.scale_s


def _values(line: Line) -> tuple[StepValue, ...]:
    """The figures of a line, without one that the writer may not be through with."""
    values = tuple(value for value in figures(line.text) if value.name != "epoch")
    if line.whole:
        return values
    return tuple(value for value in values if not line.text.endswith(str(value.value)))


def _printed_s(text: str) -> tuple[float, float] | None:
    """A duration, and the seconds of its last digit."""
    seconds = duration_s(text)
    last = _LAST_UNIT.search(text.strip())
    if seconds is None or last is None:
        return None
    return seconds, _UNITS_S[last[2]] * 10.0 ** -len(last[1] or "")
