"""Figures on lines of their own: blocks under a line with the counter, and reports of memory."""

from __future__ import annotations

import math
import re

from monitor.steps.formats.language_lines import COMPOSER_EACH
from monitor.steps.formats.line_format import EVIDENCE_CHARS, FileText, Origin
from monitor.steps.formats.line_shape import compiled
from monitor.steps.formats.numbers import count
from monitor.steps.lines import Line
from monitor.types.steps import StepEvent, StepValue

MAX_CHARS = 160
MIB, GIB, GB = 1024.0**2, 1024.0**3, 1e9
_PAIR = re.compile(
    r"^(?P<name>(?:Train )?[A-Za-z][\w/-]{2,60}(?: [\w()/ ]{1,24})?)(?:=|: )"
    r"(?P<value>-?\d[\d,]{0,20}(?:\.\d{1,20})?(?:e[-+]\d{1,3})?|nan|inf)$"
)
# Name in small letters: our name, and what one unit of it is.
_NAMES: dict[str, tuple[str, float]] = {
    "train/crossentropyloss": ("loss", 1.0),
    "train/ce loss": ("loss", 1.0),
    "train/perplexity": ("perplexity", 1.0),
    "train/ppl": ("perplexity", 1.0),
    "optim/total_grad_norm": ("grad_norm", 1.0),
    "optim/total grad norm": ("grad_norm", 1.0),
    "optim/learning_rate_group0": ("lr", 1.0),
    "optim/lr (group 0)": ("lr", 1.0),
    "throughput/device/tokens_per_second": ("tokens_per_s", 1.0),
    "throughput/device/tps": ("tokens_per_s", 1.0),
    "system/peak gpu memory (mb)": ("memory_allocated_bytes", 1e6),
    "system/gpu active mem (gib)": ("memory_allocated_bytes", GIB),
    "system/gpu reserved mem (gib)": ("memory_reserved_bytes", GIB),
    "train loss/train/total": ("loss", 1.0),
    "train metrics/train/languageperplexity": ("perplexity", 1.0),
    "train lr-decoupledadamw/group0": ("lr", 1.0),
    "train lr-adamw/group0": ("lr", 1.0),
    "train l2_norm/grad/global": ("grad_norm", 1.0),
    "train throughput/tokens_per_sec": ("tokens_per_s", 1.0),
    "train memory/peak_allocated_mem": ("memory_allocated_bytes", GB),
    "train memory/peak_reserved_mem": ("memory_reserved_bytes", GB),
}
_BATCHES_PER_S = "train throughput/batches_per_sec"
_MEGATRON = compiled(
    r"\(after {N} iterations\) memory \(MB\) \| allocated: {D} \| max allocated: (?P<allocated>{D})"
    r"(?: \| reserved: {D} \| max reserved: (?P<reserved>{D}))?"
)

_PLANNED = compiled(r"^\[(?:token|sample)=(?P<n>\d{1,18})/(?P<total>\d{1,18})\]:")
_BATCH = "Train time/batch: "


class FigureLinesFormat:
    """Reads figures, and the count of batches in a block under a line that counts tokens or samples."""

    name = "figure_lines"

    def __init__(self) -> None:
        self._planned: tuple[float, float] | None = None
        """Tokens or samples so far and in all, of a block that counts in them."""

    def read(self, line: Line, text: FileText, origin: Origin) -> tuple[StepEvent, ...]:
        """The figures of a line that has nothing else."""
        content = line.text
        if not line.whole or len(content) > MAX_CHARS:
            return ()
        if content.startswith("[") and "]:" in content:
            self._planned = _planned(content)
            return ()
        values: tuple[StepValue, ...] = ()
        step, total = None, None
        if self._planned is not None and content.startswith(_BATCH):
            step, total = _batches(content, *self._planned)
        if "memory (MB)" in content:
            values = _memory(content)
        elif "/" in content:
            values = _pair(content, text)
        if not values and step is None:
            return ()
        return (
            StepEvent(
                process=origin.process,
                source=self.name,
                where=origin.where,
                series="step",
                step=step,
                total=total,
                total_source="" if total is None else "planned in tokens or samples, as many a batch as so far",
                seconds_per_step=None if step is None else text.announced.figure(COMPOSER_EACH),
                seen_s=origin.seen_s,
                values=values,
                confidence=0.6 if step is None else 0.85,
                evidence=content[:EVIDENCE_CHARS],
            ),
        )


def _planned(content: str) -> tuple[float, float] | None:
    found = _PLANNED.match(content)
    return None if found is None else (float(found["n"]), float(found["total"]))


def _batches(content: str, so_far: float, planned: float) -> tuple[float | None, float | None]:
    step = count(content[len(_BATCH) :])
    if step is None or step < 0:
        return None, None
    if not step or not so_far or so_far % step:
        return step, None  # batches of different sizes
    total = math.ceil(planned / (so_far / step))
    return step, None if total < step else float(total)


def _memory(content: str) -> tuple[StepValue, ...]:
    found = _MEGATRON.search(content)
    if found is None:
        return ()
    read = (("memory_allocated_bytes", found["allocated"]), ("memory_reserved_bytes", found["reserved"]))
    return tuple(
        StepValue(name=name, value=number * MIB)
        for name, mib in read
        if mib is not None and (number := count(mib)) is not None
    )


def _pair(content: str, text: FileText) -> tuple[StepValue, ...]:
    found = _PAIR.match(content)
    if found is None:
        return ()
    key, written = found["name"].casefold(), found["value"].replace(",", "")
    if key == _BATCHES_PER_S:
        number = count(written)
        if number is not None and number > 0:
            text.announced.note(COMPOSER_EACH, 1 / number)
        return ()
    name, unit = _NAMES.get(key, ("", 1.0))
    if not name:
        return ()
    if not written[-1].isdigit():
        return (StepValue(name=name, value=written),)
    return (StepValue(name=name, value=float(written) * unit),)
