"""What language-model trainers announce before they step: totals, sizes of batches, and when they stop by the clock."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from monitor.steps.formats.line_shape import compiled
from monitor.steps.formats.numbers import count
from monitor.steps.lines import Line
from monitor.types.documents import Setting
from monitor.types.steps import StepEvent

if TYPE_CHECKING:
    from monitor.steps.formats.line_format import FileText, Origin

MAX_CHARS = 2000
MAX_VALUE = 1e12
TIME_CAPS = ("max_wallclock_seconds", "max_train_seconds", "max_time_s")
_LEAD = r"^[^'\"`{}]{0,160}?(?<![\w.-])"

_SENTENCES: tuple[tuple[str, str, re.Pattern[str]], ...] = (
    ("total_optimization_steps", "optimization steps", compiled(_LEAD + r"[Tt]otal optimization steps ?[=:] ?({N})$")),
    ("total_optimization_steps", "Total steps = ", compiled(r"Num Epochs = {N} \| Total steps = ({N})$")),
    ("total_optimization_steps", "total_num_steps", compiled(_LEAD + r"total_num_steps: ({N})$")),
    ("hf_epochs", "Num Epochs = ", compiled(_LEAD + r"Num Epochs = ({N})(?: \||$)")),
    ("hf_examples", "Num examples = ", compiled(_LEAD + r"Num examples = ({N})(?: \||$)")),
    ("hf_batch", "Total train batch size", compiled(r"Total train batch size \([^)]{1,80}\) = ({N})$")),
    ("total_training_steps", "otal training steps", compiled(_LEAD + r"[Tt]otal training steps ?[:=] ?({N})$")),
    ("total_training_steps", "total steps ", compiled(r"\btotal steps ({N}) \(warmup ")),
    ("num_iterations", "umber of iterations", compiled(r"[Nn]umber of iterations[^={'\"]{0,60}[:=] ({N})$")),
    ("total_steps", "Config param steps", compiled(r"\bConfig param steps: ({N})$")),
    ("max_duration_epochs", "max_duration", compiled(r"\bmax_duration['\"]?: ['\"]?({N})ep\b")),
    ("deepspeed_batch", "train_batch_size ", compiled(r"\btrain_batch_size \.{3,40} ({N})$")),
    (
        "deepspeed_accumulation",
        "gradient_accumulation_steps ",
        compiled(r"gradient_accumulation_steps \.{3,40} ({N})$"),
    ),
    ("deepspeed_every", "steps_per_print ", compiled(r"\bsteps_per_print \.{3,40} ({N})$")),
    *((key, key, compiled(rf"(?<![\w-]){key}['\"]?[ =:]{{1,4}}({{D}})(?![\w%/])")) for key in TIME_CAPS),
)

_OTHERS = (
    ("train_batch_size", "deepspeed_batch"),
    ("gradient_accumulation_steps", "deepspeed_accumulation"),
    ("steps_per_print", "deepspeed_every"),
)
"""The name of a setting, and under which it was noted."""


class BannersFormat:
    """Notes what is announced for the other formats of the file; gives no events."""

    name = "banners"

    def read(self, line: Line, text: FileText, origin: Origin) -> tuple[StepEvent, ...]:  # noqa: ARG002
        """Nothing, ever."""
        content = line.text
        if not line.whole or len(content) > MAX_CHARS or content.endswith("]"):
            return ()
        for key, hint, pattern in _SENTENCES:
            if hint in content:
                found = pattern.search(content)
                number = None if found is None else count(found[1])
                if number is not None and 0 < number <= MAX_VALUE:
                    text.announced.note(key, number)
        return ()


def announced_settings(text: FileText) -> tuple[Setting, ...]:
    """Those that bear on when the run ends by itself, and the sizes of batches."""
    found = ((name, text.announced.figure(key)) for name, key in (*((key, key) for key in TIME_CAPS), *_OTHERS))
    return tuple(Setting(name=key, value=value, source="in the text") for key, value in found if value is not None)
