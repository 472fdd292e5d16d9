"""Dictionary lines: of the Hugging Face Trainer (numbers in version 4, every value a string in version 5) and others.

The Trainer's name no step: the epoch stands in where no bar counts, and the closing one tells the number of steps
where its rounded figures leave only one. Dictionaries of others that name a step are read as counters.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from monitor.steps.formats.figures import own_name
from monitor.steps.formats.line_format import EVIDENCE_CHARS, FileText, Origin
from monitor.steps.formats.numbers import count, figure
from monitor.steps.lines import Line
from monitor.types.steps import StepEvent, StepUnit, StepValue

MAX_PAIRS = 256
SPLIT_LINES = 128
"""A dictionary that was printed over more lines is left."""
_PAIR = re.compile(r"'([\w/ .()-]{1,64})': (?:'([^']{0,40})'|(?:np\.\w{1,12}\()?(-?[\w.+-]{1,40}))")
_MARKS = (
    "'loss'",
    "'eval_loss'",
    "'train_runtime'",
    "'eval_runtime'",
    "'train_loss'",
    "'learning_rate'",
    "loss'",
    "'loss/policy_avg'",
)
_STEPS = ("step", "global_step", "iteration", "train/global_step", "train_step")
_POLICY = "loss/policy_avg"
_KEPT = {
    "num_input_tokens_seen": "tokens",
    "num_tokens": "tokens",
    "train_tokens_per_second": "tokens_per_s",
    "tokens/train_per_sec_per_gpu": "tokens_per_s",
    "eval_runtime": "eval_runtime_s",
    "train_runtime": "train_runtime_s",
    "train_loss": "train_loss_mean",
    "gradient_norm": "grad_norm",
    _POLICY: "loss",
}
_GIB = {
    "memory/max_active (GiB)": "memory_bytes",
    "memory/max_mem_active(gib)": "memory_bytes",
    "memory/max_allocated (GiB)": "memory_allocated_bytes",
    "memory/max_mem_allocated(gib)": "memory_allocated_bytes",
    "memory/device_reserved (GiB)": "memory_reserved_bytes",
    "memory/device_mem_reserved(gib)": "memory_reserved_bytes",
}
_RATE_DIGITS = 0.0005
"""`train_steps_per_second` has three digits behind the point."""
_WHOLE_EPOCHS = 0.02
"""A run that ended this near a whole number of epochs was not broken off inside one."""
CLOSING_CONFIDENCE = 0.4
"""More than that of the epochs, less than that of a bar which is at its end."""
RUN_OUT_RATIO = 0.02
"""Schedules that run out end at zero or near it."""
_PROGRAM = re.compile(r"^[^\w#]{0,4}#(?!#)|['\"`]")
"""Stands in front of a dictionary in program text, not in output."""
_OPENING = re.compile(r"^[^'\"#]{0,120}\{'[\w/ .()-]{1,64}': [^{}]{1,80},$")
_INNER_LINE = re.compile(r"^'[\w/ .()-]{1,64}': [^{}]{1,80}[,}]$")


@dataclass
class _Logged:
    """The dictionaries with a training loss, until the one that closes the run."""

    epochs: list[float] = field(default_factory=list)
    """The first and the last."""
    count: int = 0
    rates: tuple[float, float] = (0.0, 0.0)
    """The highest learning rate and the last one."""
    evaluated: bool = False

    def note(self, epoch: float, rate: float | None) -> None:
        """One was printed; another rank's, or the same under a logger's prefix, counts once."""
        if self.epochs and epoch == self.epochs[-1]:
            return
        if self.epochs and epoch < self.epochs[-1]:
            self.epochs, self.count, self.rates, self.evaluated = [], 0, (0.0, 0.0), False
        if rate is not None:
            self.rates = max(rate, self.rates[0]), rate
        self.count += 1
        self.epochs = [*self.epochs[:1], epoch]

    def may_have_stopped(self) -> bool:
        """Whether it may have ended before its plan: it was evaluated, and its learning rate had not run out."""
        highest, last = self.rates
        return self.evaluated and last > RUN_OUT_RATIO * highest

    def periods(self) -> int | None:
        """How often the logging period fits in before the last line; `None` where the lines do not come evenly."""
        if self.count < 5:
            return None
        each = (self.epochs[-1] - self.epochs[0]) / (self.count - 1)
        if abs(self.epochs[0] - each) <= max(0.25 * each, 0.011):
            return self.count
        return self.count - 1 if self.epochs[0] < 0.5 * each else None  # the first step is logged as well


class HfDictFormat:
    """Reads the dictionaries of one file."""

    name = "hf_dict"

    def __init__(self) -> None:
        self._logged = _Logged()
        self._split: list[str] = []
        """A dictionary that is printed over several lines, as far as it has come."""

    def read(self, line: Line, text: FileText, origin: Origin) -> tuple[StepEvent, ...]:
        """Loss, learning rate, epoch; `train_runtime` says that training is through."""
        content = self._joined(line)
        start = content.find("{'")
        if start < 0 or _PROGRAM.search(content[:start]) or not any(mark in content for mark in _MARKS):
            return ()
        end = content.find("}", start)
        if end < 0:
            return ()
        pairs: dict[str, str] = {}
        for match in _PAIR.finditer(content, start, end):
            pairs[match.group(1)] = match.group(2) or match.group(3) or ""
            if len(pairs) == MAX_PAIRS:
                break
        values = _values(pairs)
        if not values:
            return ()
        epoch = next((v.value for v in values if v.name == "epoch" and isinstance(v.value, float)), None)
        counted = self._counted(pairs, values, epoch, text)
        step, unit, total, source, confidence = counted
        return (
            StepEvent(
                process=origin.process,
                source=self.name,
                where=origin.where,
                series="epoch" if unit == "epoch" or step is None else "step",
                unit=unit,
                step=step,
                total=total,
                total_source=source,
                epoch=epoch,
                seen_s=origin.seen_s,
                ended="finished" if "train_runtime" in pairs else None,
                values=tuple(v for v in values if v.name != "epoch"),
                confidence=confidence,
                evidence=content[start : start + EVIDENCE_CHARS],
            ),
        )

    def _joined(self, line: Line) -> str:
        """The line, or the whole dictionary that ends with it."""
        content = line.text
        if self._split:
            if line.whole and len(self._split) < SPLIT_LINES and _INNER_LINE.match(content):
                self._split.append(content)
                if not content.endswith("}"):
                    return ""
                content, self._split = " ".join(self._split), []
                return content
            self._split = []
        if line.whole and content.endswith(",") and _OPENING.match(content):
            self._split = [content]
            return ""
        return content

    def _counted(
        self, pairs: dict[str, str], values: list[StepValue], epoch: float | None, text: FileText
    ) -> tuple[float | None, StepUnit, float | None, str, float]:
        """Count, its unit, total, where that comes from, and how sure it is."""
        named = next((n for key in _STEPS if (n := count(pairs.get(key, ""))) is not None), None)
        held_out = any(key.startswith(("eval_", "val", "test")) for key in pairs)
        if named is not None and named >= 0:
            trained = any(value.name == "loss" for value in values)
            return (named if trained and not held_out else None), "step", None, "", 0.55
        self._logged.evaluated = self._logged.evaluated or "eval_loss" in pairs
        if "train_runtime" in pairs:
            steps, logged = self._steps(pairs, epoch), self._logged
            self._logged = _Logged()
            if steps is None:
                return None, "step", None, "", 0.35
            source = f"train_runtime and train_steps_per_second, {logged.count} lines"
            return steps, "optimizer_step", steps, source, CLOSING_CONFIDENCE
        if epoch is None or not ("loss" in pairs or _POLICY in pairs):
            return None, "step", None, "", 0.35
        self._logged.note(epoch, count(pairs.get("learning_rate", "")))
        epochs, source = _announced_epochs(text)
        return epoch, "epoch", epochs if epochs is not None and epochs >= epoch else None, source, 0.35

    def _steps(self, pairs: dict[str, str], epoch: float | None) -> float | None:
        """How many steps a finished run made.

        Seconds times steps a second is known as far as three digits go; the lines came once in a whole number of steps.
        Where only one such number fits, the count is exact.
        """
        runtime_s, rate = count(pairs.get("train_runtime", "")), count(pairs.get("train_steps_per_second", ""))
        periods, logged = self._logged.periods(), self._logged
        if runtime_s is None or rate is None or epoch is None or periods is None or logged.epochs[-1] <= 0:
            return None
        if logged.may_have_stopped() or abs(epoch - round(epoch)) > _WHOLE_EPOCHS:
            return None  # it may have been stopped early: the figures are of the steps that were planned
        lines = periods * epoch / logged.epochs[-1]
        least, most = (rate - _RATE_DIGITS) * runtime_s, (rate + _RATE_DIGITS) * runtime_s
        first, last = math.ceil(least / lines - 0.02), math.floor(most / lines + 0.02)
        if first != last or first < 1:
            return None
        return float(round(first * lines))


def _announced_epochs(text: FileText) -> tuple[float | None, str]:
    """The epochs of a banner, if the steps of the same banner follow from them."""
    told = [text.announced.figure(key) for key in ("hf_epochs", "hf_examples", "hf_batch", "total_optimization_steps")]
    epochs, examples, batch, steps = told
    if epochs is None or examples is None or batch is None or steps is None:
        return None, ""
    if not (examples // batch) * epochs <= steps <= math.ceil(examples / batch) * epochs:
        return None, ""
    return epochs, "Num Epochs in the text"


def _values(pairs: dict[str, str]) -> list[StepValue]:
    values: dict[str, StepValue] = {}
    for key, text in pairs.items():
        name = _KEPT.get(key) or own_name(key)
        value = None if name is None else figure(name, text)
        if name is not None and value is not None and name not in values:
            values[name] = value
        gib = _GIB.get(key)
        number = None if gib is None else count(text)
        if gib is not None and number is not None:
            values[gib] = StepValue(name=gib, value=number * 1024.0**3)
    return list(values.values())
