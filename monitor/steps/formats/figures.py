"""The figures that stand on a line beside its counter: loss, learning rate and the like, under one name each."""

from __future__ import annotations

import re
from functools import lru_cache

from monitor.steps.formats.numbers import figure
from monitor.types.steps import StepValue

MAX_FIGURES = 8
_NUMBER = (
    r"[-+]?(?:\d{1,3}(?:,\d{3}){1,4}(?![\d,])(?:\.\d{1,20})?"
    r"|\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:[eE][-+]?\d{1,3})?|[-+]?(?:[Nn]a[Nn]|NAN|[Ii]nf|INF)"
)
_PAIR = re.compile(
    r"(?<![A-Za-z0-9])([A-Za-z][A-Za-z0-9_./-]{0,40}(?: (?:[Ll]oss|[Rr]ate|[Nn]orm|[Pp]erplexity))?)"
    r"[ \t]{0,8}[:=]?[ \t]{0,8}"
    rf"({_NUMBER})(?![\w.])"
)
_MEMORY = re.compile(
    r"(?<![A-Za-z])(?P<name>[A-Za-z_/]{0,32}(?:mem|memory|Mem[A-Za-z]{1,12})(?:_[a-z_]{1,24})?)[ \t]?[:=][ \t]{0,4}"
    r"(?P<n>\d{1,7}(?:\.\d{1,6})?) ?(?P<unit>[GM]i?B?)(?![A-Za-z/])",
)
_BYTES = {"G": 1e9, "GB": 1e9, "GiB": 1024.0**3, "M": 1024.0**2, "MB": 1024.0**2, "MiB": 1024.0**2}
"""Frameworks that print MB or M divide by 1024 twice; of GB that is not so sure."""
_HELD_OUT = re.compile(r"val|eval|test|valid|dev_", re.IGNORECASE)
_LOSS = re.compile(r"(?:.*[ _/.-])?(?:loss|xent|nll|trl)$", re.IGNORECASE)
_NAMES = {
    "lr": "lr",
    "learning rate": "lr",
    "learning_rate": "lr",
    "grad_norm": "grad_norm",
    "grad norm": "grad_norm",
    "gnorm": "grad_norm",
    "norm": "grad_norm",
    "acc": "accuracy",
    "accuracy": "accuracy",
    "ppl": "perplexity",
    "perplexity": "perplexity",
    "tps": "tokens_per_s",
    "tok/sec": "tokens_per_s",
    "tok/s": "tokens_per_s",
    "tokens/s": "tokens_per_s",
    "tokens/sec": "tokens_per_s",
    "tokens_per_sec": "tokens_per_s",
    "tokens_per_second_per_gpu": "tokens_per_s",
    "tokens/s/device": "tokens_per_s",
    "perf/throughput": "tokens_per_s",
    "mfu": "mfu",
    "epoch": "epoch",
}


@lru_cache(maxsize=512)
def own_name(name: str) -> str | None:
    """Our name for a figure: `loss` for whatever loss is trained on, `eval_loss` for one on held-out data."""
    plain = name.strip().casefold()
    if _LOSS.match(plain):
        return "eval_loss" if _HELD_OUT.search(plain) else "loss"
    if plain.startswith("eval") or _HELD_OUT.match(plain):
        return None
    return _NAMES.get(plain)


def figures(text: str) -> tuple[StepValue, ...]:
    """The known figures of a piece of text in which names stand before numbers; the first of each name counts."""
    found: dict[str, StepValue] = {}
    for match in _PAIR.finditer(text):
        name = own_name(match.group(1))
        if name is None or name in found:
            continue
        value = figure(name, match.group(2).replace(",", ""))
        if value is not None:
            found[name] = value
            if len(found) == MAX_FIGURES:
                break
    if "mem" in text or "Mem" in text:
        for match in _MEMORY.finditer(text):
            kind = "memory_allocated_bytes" if "alloc" in match["name"].casefold() else "memory_bytes"
            unit = _BYTES.get(match["unit"])
            if unit is not None:  # where a peak stands on the line it comes last
                found[kind] = StepValue(name=kind, value=float(match["n"]) * unit)
    return tuple(found.values())
