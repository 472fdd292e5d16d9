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
    (re.compile(r"loglikelihood|\brequests?\b"), "evaluating"),
    (re.compile(r"generating \w+ split|dataset"), "preparing"),
    (re.compile(r"generat\w*|sampling|rollout|processed prompts|make_experience"), "generating"),
    (re.compile(r"\b(?:saving|save|writing|upload\w*|push\w*|export\w*|merging)\b"), "saving"),
    (
        re.compile(
            r"load|fetch|captur|compil|calibrat|\bmap\b|mapping|filter|token|extract|cach|prefetch|prepar|process|shard|resolv|reading|gather"
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
    first_epoch: int | None = None
    """The number of the first epoch, where the words are a framework's of which it is known."""


# Words of frameworks that would be taken for something else: torchtune, a recipe that counts within the epoch,
# and the two loops of OpenRLHF, of which the inner one counts micro-batches.
_NAMED: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("#|#|loss", re.compile(r"^(?P<epoch>\d{1,9})\|\d{1,12}\|loss\b")),
    (
        "training epoch, step completed",
        re.compile(r"^training epoch: (?P<epoch>\d{1,9})(?:/(?P<epochs>\d{1,9}))?, step \d{1,12}/\d{1,12} completed"),
    ),
    ("episode", re.compile(r"^episode \[(?P<epoch>\d{1,9})/(?P<epochs>\d{1,9})\]")),
)
_INNER = re.compile(r"^train epoch \[\d{1,9}/\d{1,9}\]")


@lru_cache(maxsize=512)  # a description stays for thousands of states
def bar_kind(label: str, unit: str) -> BarKind:
    """Judge a bar by its words alone."""
    words = label.casefold()
    key = _DIGITS.sub("#", words)[:80]
    if _INNER.match(words):
        return BarKind(key, "training", 0.1)
    for name, pattern in _NAMED:
        named = pattern.match(words)
        if named is not None:
            epochs = named["epochs"] if "epochs" in pattern.groupindex else None
            return BarKind(
                name, None, 0.85, int(named["epoch"]), None if epochs is None else int(epochs), first_epoch=1
            )
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
