"""What a bar is of, as its description and its unit say: training, or something that only moves as training does."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from monitor.types.steps import Phase

# In this order: "Epoch 3 validation" is no training, "Saving the dataset" no checkpoint of a run that trains.
_PHASES: tuple[tuple[re.Pattern[str], Phase], ...] = (
    (re.compile(r"sanity|warming up cache"), "preparing"),
    (re.compile(r"skipping|fast.?forward"), "skipping"),
    (re.compile(r"\b(?:e?val|eval\w*|valid\w*|test|tests|testing|predict\w*|infer\w*|scoring)\b"), "evaluating"),
    (re.compile(r"generating \w+ split|dataset"), "preparing"),
    (re.compile(r"generat\w*|sampling|rollout"), "generating"),
    (re.compile(r"\b(?:saving|save|writing|upload\w*|push\w*|export\w*|merging)\b"), "saving"),
    (
        re.compile(
            r"load|fetch|\bmap\b|mapping|filter|token|extract|cach|prefetch|prepar|process|shard|resolv|reading|gather"
            r"|convert|pack|group|cast|flatten|index|scan|unzip|unpack|verif|hash|build|collect|\.\w{2,11}$"
        ),
        "preparing",
    ),
)
_TRAIN = re.compile(r"train|epoch|\bsteps?\b|\biter|\bep\b|fit")
_OTHER_UNITS = frozenset(
    {"b", "ib", "example", "examples", "file", "files", "shard", "shards", "img", "sample", "samples"}
)
_EPOCH = re.compile(r"\bep(?:och)?s?\b[ :=#\[(]{0,4}(\d{1,9})(?:\s{0,2}(?:/|of)\s{0,2}(\d{1,9}))?", re.IGNORECASE)
_STEPS_AFTER = re.compile(r"\b(?:steps?|iters?|iterations?)\b", re.IGNORECASE)
_DIGITS = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


@dataclass(frozen=True)
class BarKind:
    """What a description says."""

    key: str
    """The description without its numbers: the same for every state of one bar."""
    phase: Phase | None
    """Set for a bar that is not training."""
    confidence: float
    epoch: int | None = None
    epochs: int | None = None
    whole_run: bool = False
    """The count is of the run although an epoch is named: "Epoch 3/10, Steps: …"."""


@lru_cache(maxsize=512)  # a description stays for thousands of states
def bar_kind(label: str, unit: str) -> BarKind:
    """Judge a bar by its words alone."""
    words = label.casefold()
    key = _DIGITS.sub("#", words)[:80]
    for pattern, phase in _PHASES:
        if pattern.search(words):
            return BarKind(key, phase, 0.1)
    if unit.casefold() in _OTHER_UNITS:
        return BarKind(key, "preparing", 0.1)
    epoch = _EPOCH.search(label)
    if epoch is not None:
        after = label[epoch.end() :]
        return BarKind(
            key,
            None,
            0.8,
            int(epoch.group(1)),
            None if epoch.group(2) is None else int(epoch.group(2)),
            whole_run=_STEPS_AFTER.search(after) is not None,
        )
    if _TRAIN.search(words):
        return BarKind(key, None, 0.8, whole_run=re.search(r"\bsteps?\b|progress", words) is not None)
    return BarKind(key, None, 0.7 if not words else 0.45)
