"""Dictionary lines of the Hugging Face Trainer: numbers in version 4, every value a string in version 5."""

from __future__ import annotations

import re

from monitor.steps.formats.figures import own_name
from monitor.steps.formats.line_format import EVIDENCE_CHARS, FileText, Origin
from monitor.steps.formats.numbers import figure
from monitor.steps.lines import Line
from monitor.types.steps import StepEvent, StepValue

_PAIR = re.compile(r"'([\w/ .-]{1,64})': (?:'([^']{0,40})'|(-?[\w.+-]{1,40}))")
_MARKS = ("'loss'", "'eval_loss'", "'train_runtime'", "'eval_runtime'", "'train_loss'", "'learning_rate'")
_KEPT = {
    "num_input_tokens_seen": "tokens",
    "num_tokens": "tokens",
    "train_tokens_per_second": "tokens_per_s",
    "eval_runtime": "eval_runtime_s",
    "train_runtime": "train_runtime_s",
    "train_loss": "train_loss_mean",
}


class HfDictFormat:
    """Reads the Trainer's dictionaries. They name no step: the epoch stands in where no bar counts."""

    name = "hf_dict"

    def read(self, line: Line, text: FileText, origin: Origin) -> tuple[StepEvent, ...]:  # noqa: ARG002
        """Loss, learning rate, epoch; `train_runtime` says that training is through."""
        start = line.text.find("{'")
        if start < 0 or not any(mark in line.text for mark in _MARKS):
            return ()
        end = line.text.find("}", start)
        if end < 0:
            return ()
        pairs = {
            match.group(1): match.group(2) or match.group(3) or "" for match in _PAIR.finditer(line.text, start, end)
        }
        values = self._values(pairs)
        if not values:
            return ()
        epoch = next((v.value for v in values if v.name == "epoch" and isinstance(v.value, float)), None)
        trained = "loss" in pairs and epoch is not None
        return (
            StepEvent(
                process=origin.process,
                source=self.name,
                where=origin.where,
                series="epoch",
                unit="epoch" if trained else "step",
                step=epoch if trained else None,
                epoch=epoch,
                seen_s=origin.seen_s,
                ended="finished" if "train_runtime" in pairs else None,
                values=tuple(v for v in values if v.name != "epoch"),
                confidence=0.35,
                evidence=line.text[start : start + EVIDENCE_CHARS],
            ),
        )

    def _values(self, pairs: dict[str, str]) -> list[StepValue]:
        values: dict[str, StepValue] = {}
        for key, text in pairs.items():
            name = _KEPT.get(key) or own_name(key)
            value = None if name is None else figure(name, text)
            if name is not None and value is not None and name not in values:
                values[name] = value
        return list(values.values())
