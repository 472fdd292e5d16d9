"""Bars that begin anew each epoch and are no tqdm bars, or say the epoch in a way of their own.

Keras 2 and 3, Ultralytics' own bar, YOLOv5 to YOLOv7 (tqdm behind columns of figures), and rich as Lightning draws it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from monitor.steps.formats.bar_text import last_bar
from monitor.steps.formats.figures import figures
from monitor.steps.formats.line_format import EVIDENCE_CHARS, FileText, Origin, phase_event
from monitor.steps.formats.numbers import duration_s
from monitor.steps.formats.run_clock import RunClock
from monitor.steps.lines import Line
from monitor.types.steps import Phase, StepEvent, StepUnit, StepValue

CONFIDENCE = 0.9
_N = r"\d{1,12}"
_D = r"\d{1,9}(?:\.\d{1,9})?"
_HEADER = re.compile(rf"^Epoch (?P<epoch>{_N})/(?P<epochs>{_N})$")
_KERAS = re.compile(
    rf"^(?P<n>{_N})/(?P<total>{_N}|Unknown) "
    rf"(?:[━─╸╺]{{3,80}} |\[[=>.]{{3,80}}\] |-|(?=\d{{1,6}}s ))"
)
_KERAS_EACH = re.compile(rf" (?P<each>{_D})(?P<unit>s|ms|us|µs)/(?:step|epoch|sample)\b")
_KERAS_LASTED = re.compile(rf"(?:^|[━─ \]-] ?)(?P<lasted>{_D})s (?:{_D}(?:s|ms|us|µs)/\w+ )?(?:- |$)")
_KERAS_SECONDS = re.compile(rf"^(?P<lasted>{_N})s(?: {_D}(?:s|ms|us|µs)/\w+)? - [a-z_]{{1,40}}: ")
_YOLO = re.compile(
    rf"^(?P<epoch>{_N})/(?P<last>{_N}) {{1,16}}(?P<memory>{_D}[GMK]?B?)"
    r"(?P<rest>(?: {1,16}[\w.+-]{1,16}){2,12})(?:: |$)"
)
_YOLO_HEAD = re.compile(r"^Epoch {1,12}(?:gpu_mem|GPU_mem|lr)\b")
_YOLO_EVAL = re.compile(r"^Class {1,24}Images\b")
_OWN = re.compile(
    rf": {{0,2}}(?P<percent>\d{{1,3}})% [━─╸╺]{{2,80}} (?P<n>{_N})/(?P<total>{_N}) "
    rf"(?:(?P<rate>{_D})(?P<unit>it/s|s/it) )?(?P<elapsed>{_D}s|[\d:]{{4,12}})?"
)
_RICH = re.compile(
    rf"^Epoch (?P<epoch>{_N})/(?P<last>{_N}) {{1,4}}[━╸╺─]{{2,200}} (?P<n>{_N})/(?P<total>{_N}) "
    r"(?P<elapsed>\d{1,4}:\d\d:\d\d)"
)
_US_S = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6}


@dataclass(frozen=True)
class _Bar:
    """One state of one bar."""

    kind: str
    n: float
    length: float | None
    epoch: int
    before: int
    epochs: float | None
    elapsed_s: float | None = None
    each_s: float | None = None
    unit: StepUnit = "step"


class EpochBarsFormat:
    """Reads the bars of one file."""

    name = "epoch_bars"

    def __init__(self) -> None:
        self._clock = RunClock()
        self._header: tuple[int, int] | None = None
        """Keras: the epoch that was announced last, until its bar is through."""
        self._length: float | None = None
        self._n = 0.0
        self._through = False
        self._epochs_done = 0
        self._first_epoch: int | None = None
        """YOLO and rich: the number of the first epoch, once the text has told it."""
        self._evaluating = False
        self._last_epoch: int | None = None
        self._gap = False

    def read(self, line: Line, text: FileText, origin: Origin) -> tuple[StepEvent, ...]:
        """The count of a training bar, or that another one runs."""
        content = line.text
        bar: _Bar | Phase | None = None
        if content[:1].isdigit():
            bar = self._keras(content, line) or self._yolo(content, text)
        elif content.startswith("Epoch "):
            bar = self._epoch_line(content, line, text)
        elif content.startswith("Class "):
            bar = self._yolo_evaluation(content)
        elif content[:1] in "━[" or "GPU_mem" in content:
            self._headed(content)
        if bar is None:
            return ()
        if isinstance(bar, str):
            return self._phase(bar, line, origin)
        self._evaluating = False
        return (self._event(bar, line, origin),)

    def _epoch_line(self, content: str, line: Line, text: FileText) -> _Bar | Phase | None:
        header = _HEADER.match(content) if line.whole else None
        if header is not None:
            self._header = int(header["epoch"]), int(header["epochs"])
            self._n, self._through = 0.0, False
            text.epochs.note(*self._header)
            return None
        rich = _RICH.match(content)
        if rich is None:
            self._headed(content)
            return None
        epoch, last = int(rich["epoch"]), int(rich["last"])
        # Lightning numbers from 0 and prints the last number; its times stand with a dot between them.
        if epoch == 0 or "•" in content:
            self._first_epoch = 0
        first = 1 if self._first_epoch is None else self._first_epoch
        return _Bar(
            "rich",
            float(rich["n"]),
            float(rich["total"]),
            epoch,
            max(0, epoch - first),
            float(last + 1 - first),
            duration_s(rich["elapsed"]),
        )

    def _headed(self, content: str) -> None:
        """YOLO's column names: those with `obj` are of versions that number from 0."""
        if _YOLO_HEAD.match(content) is not None:
            words = content.split()
            self._first_epoch = 0 if "obj" in words or "obj_loss" in words or "lr" in words else 1

    def _yolo_evaluation(self, content: str) -> Phase | None:
        if _YOLO_EVAL.match(content) is None:
            return None
        own, bar = _OWN.search(content), last_bar(content)
        elapsed_s = None if bar is None else bar.elapsed_s
        if own is not None and own["elapsed"] is not None:
            elapsed_s = duration_s(own["elapsed"])
        if elapsed_s is not None:
            self._clock.at("evaluation", elapsed_s)  # so that it lies between the epochs
        return "evaluating"

    def _yolo(self, content: str, text: FileText) -> _Bar | None:
        match = _YOLO.match(content)
        if match is None:
            return None
        epoch, last = int(match["epoch"]), int(match["last"])
        announced, _ = text.announced.total(("epochs",))
        if announced == last + 1 or epoch == 0:
            self._first_epoch = 0
        elif announced == last:
            self._first_epoch = 1
        if self._first_epoch is None or epoch > last:
            return None
        before, epochs = epoch - self._first_epoch, float(last + 1 - self._first_epoch)
        own = _OWN.search(content, match.start("rest"))
        if own is not None:
            elapsed = own["elapsed"]
            elapsed_s = None if elapsed is None else duration_s(elapsed)
            rate = float(own["rate"] or 0)
            each_s = None if rate <= 0 else 1 / rate if own["unit"] == "it/s" else rate
            return _Bar("yolo", float(own["n"]), float(own["total"]), epoch, before, epochs, elapsed_s, each_s)
        bar = last_bar(content)
        if bar is None or bar.total is None:
            return None
        return _Bar("yolo", bar.n, bar.total, epoch, before, epochs, bar.elapsed_s, bar.seconds_per_step)

    def _keras(self, content: str, line: Line) -> _Bar | Phase | None:
        seconds = _KERAS_SECONDS.match(content) if line.whole else None
        if seconds is not None and self._header is not None:
            epoch, epochs = self._header
            self._header = None
            self._epochs_done = epoch
            lasted_s = float(seconds["lasted"])
            total_s = self._clock.add(lasted_s)
            return _Bar("keras epochs", epoch, None, epoch, epoch - 1, float(epochs), total_s, lasted_s, "epoch")
        match = _KERAS.match(content)
        if match is None or (" - " not in content and "/step" not in content and "/epoch" not in content):
            return None
        n = float(match["n"])
        length = None if match["total"] == "Unknown" else float(match["total"])
        if self._header is None or (self._through and (n < self._n or length != self._length)):
            return "evaluating" if self._through or self._epochs_done else None
        if length is not None:
            self._length = length
        self._n, self._through = n, length is not None and n >= length
        epoch, epochs = self._header
        each = _KERAS_EACH.search(content)
        each_s = None if each is None else float(each["each"]) * _US_S[each["unit"]]
        lasted = _KERAS_LASTED.search(content) if self._through else None
        elapsed_s = None if each_s is None else n * each_s
        # While the bar runs these are the seconds left; at its end those since the epoch began, evaluation with them.
        if lasted is not None and float(lasted["lasted"]) > (elapsed_s or 0.0) + 1:
            elapsed_s = float(lasted["lasted"])
        before = epoch - 1
        if length is None and before > 0 and self._length is None:
            return None
        return _Bar("keras", n, length or self._length, epoch, before, float(epochs), elapsed_s, each_s)

    def _event(self, bar: _Bar, line: Line, origin: Origin) -> StepEvent:
        if bar.unit == "epoch":
            step, total, source, elapsed_s = bar.n, bar.epochs, "epochs in the text", bar.elapsed_s
        else:
            step = bar.n if bar.length is None else bar.before * bar.length + bar.n
            total = None if bar.epochs is None or bar.length is None else bar.epochs * bar.length
            source = "" if total is None else f"{bar.epochs:g} epochs of {bar.length:g}"
            elapsed_s = self._elapsed_s(bar)
        if total is not None and total < step:
            total, source = None, ""
        return StepEvent(
            process=origin.process,
            source=self.name,
            where=origin.where,
            series=f"{bar.kind}, no clock" if self._gap and bar.unit != "epoch" else bar.kind,
            unit=bar.unit,
            step=step,
            total=total,
            total_source=source,
            epoch=float(bar.epoch),
            elapsed_s=elapsed_s,
            seconds_per_step=bar.each_s,
            seen_s=origin.seen_s,
            values=_values(line),
            confidence=CONFIDENCE,
            evidence=line.text[:EVIDENCE_CHARS],
        )

    def _elapsed_s(self, bar: _Bar) -> float | None:
        """Seconds over all epochs; `None` from where the text leaves out whole epochs, and with them their time."""
        if self._last_epoch is not None and bar.epoch > self._last_epoch + 1:
            self._gap = True
        elif self._last_epoch is not None and bar.epoch < self._last_epoch:
            self._gap = False  # begun anew
        self._last_epoch = bar.epoch
        if bar.elapsed_s is None or self._gap:
            return None
        return self._clock.at((bar.kind, bar.epoch), bar.elapsed_s)

    def _phase(self, phase: Phase, line: Line, origin: Origin) -> tuple[StepEvent, ...]:
        if self._evaluating:
            return ()
        self._evaluating = True
        return (phase_event(self.name, phase, origin, line.text[:EVIDENCE_CHARS], confidence=0.7),)


def _values(line: Line) -> tuple[StepValue, ...]:
    return tuple(
        v for v in figures(line.text) if v.name != "epoch" and (line.whole or not line.text.endswith(str(v.value)))
    )
