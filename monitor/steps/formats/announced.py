"""Settings that a text names before it trains: totals stand in banners and in dumps of the configuration."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from monitor.steps.lines import Line
from monitor.types.steps import StepEvent

if TYPE_CHECKING:
    from monitor.steps.formats.line_format import FileText, Origin

EPOCH_KEYS = (
    "max_epochs",
    "max_epoch",
    "num_epochs",
    "n_epochs",
    "total_epochs",
    "num_train_epochs",
    "epochs",
    "epoch_num",
)
STEP_KEYS = ("max_steps", "total_steps", "num_steps", "train_steps", "num_train_steps", "max_train_steps")
ITER_KEYS = (
    "max_iter",
    "max_iters",
    "total_iter",
    "total_iters",
    "num_iterations",
    "max_iterations",
    "niter",
    "max_batches",
)
UPDATE_KEYS = ("max_update", "max_updates", "after_batches")
ROUND_KEYS = ("num_boost_round", "n_estimators")
OTHER_KEYS = ("max_num_steps", "total_timesteps", "total_kimg", "n_epochs_decay", "after_epochs")
MAX_TOTAL = 10**12

_ALL = (*EPOCH_KEYS, *STEP_KEYS, *ITER_KEYS, *UPDATE_KEYS, *ROUND_KEYS, *OTHER_KEYS)
_KEYS = "|".join(sorted(_ALL, key=len, reverse=True))
_SOUGHT = tuple(key for key in _ALL if not any(other in key for other in _ALL if other != key))
"""Of all names those that no other is a part of: a line without any of them names no setting."""
_SETTING = re.compile(
    rf"(?<![\w-])(?P<key>{_KEYS.replace('_', '[_-]')})['\"]?(?: {{0,40}}[:=] {{0,40}}| {{2,60}})['\"]?"
    r"(?P<n>\d{1,3}(?:[,_]\d{3}){1,4}|\d{1,13})(?![\w.]*[\w%/])(?! ?/)",
    re.IGNORECASE,
)
_SENTENCES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("max_epochs", re.compile(r"\bmax: (\d{1,7}) epochs", re.IGNORECASE)),
    ("max_iters", re.compile(r"\bmax: (\d{1,12}) iters", re.IGNORECASE)),
    ("epochs", re.compile(r"\b(?:start(?:ing)?|begin) training for (\d{1,7}) epochs", re.IGNORECASE)),
    ("epochs", re.compile(r"\bscheduled epochs: (\d{1,7})\b", re.IGNORECASE)),
    ("epochs", re.compile(r"^\W*(?:training|train) for (\d{1,7}) epochs\b", re.IGNORECASE)),
    ("total_kimg", re.compile(r"\btraining for (\d{1,9}) kimg", re.IGNORECASE)),
)
_SENTENCE_HINTS = ("max: ", "training for ", "train for ", "scheduled epochs: ")
_HINTS = ("epoch", "step", "iter", "update", "kimg", "max_batches", "after-batches", "num_boost", "n_estim")


class Announced:
    """Totals by the name of their setting; the latest counts."""

    def __init__(self) -> None:
        self._found: dict[str, float] = {}

    def note(self, key: str, total: float) -> None:
        """A setting was named."""
        self._found[key] = total

    def figure(self, key: str) -> float | None:
        """What was announced under a name."""
        return self._found.get(key)

    def total(self, keys: tuple[str, ...], least: float = 0.0) -> tuple[float | None, str]:
        """The total under the first of these names, and where it comes from; none that is below `least`."""
        for key in keys:
            total = self._found.get(key)
            if total is not None and total >= max(1.0, least):
                return total, f"{key} in the text"
        return None, ""


class AnnouncedFormat:
    """Notes what is announced; gives no events."""

    name = "announced"

    def read(self, line: Line, text: FileText, origin: Origin) -> tuple[StepEvent, ...]:  # noqa: ARG002
        """Nothing, ever."""
        content = line.text
        if not line.whole or (content.endswith("]") and "<" in content):  # bars end so, by the thousand
            return ()
        lower = content.lower()
        if not any(hint in lower for hint in _HINTS):
            return ()
        plain = lower.replace("-", "_")
        for match in _SETTING.finditer(content) if any(key in plain for key in _SOUGHT) else ():
            number = int(match["n"].replace(",", "").replace("_", ""))
            if 0 < number <= MAX_TOTAL:
                text.announced.note(match["key"].lower().replace("-", "_"), float(number))
        if not any(hint in lower for hint in _SENTENCE_HINTS):
            return ()
        for key, pattern in _SENTENCES:
            found = pattern.search(content)
            if found is not None and int(found[1]) > 0:
                text.announced.note(key, float(found[1]))
        return ()
