"""Reads the file of a probe. The file may hold anything: every length is checked, nothing in it is believed for long.

Its form is told in `monitor/probe/inject/_traintop_steps.py`, which writes it from inside a foreign process.
"""

from __future__ import annotations

import os
import stat
import struct
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import msgspec

from monitor.clean import clean
from monitor.types.identity import ProcessIdentity

MAGIC = b"TTPROBE1"
LAYOUT = 1
SIZE_BYTES = 16384
STEPS_AT = 64
FACTS_AT = 256
BODY_AT = 280
_HEAD = struct.Struct("<8sIIQQ")
_STEPS = struct.Struct("<QQqqqQQ")
_FACTS = struct.Struct("<QQQ")
TRIES = 4
MAX_COUNT = 2**53
"""Beyond it a float can no longer tell one step from the next."""
MAX_OTHERS = 12
MAX_RECENT = 64
MAX_NAME = 80
_Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_COUNT)]
_Ns = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class ProbeFileError(Exception):
    """The file cannot be used; the message is a sentence part for a person."""


class ProbeAbsentError(ProbeFileError):
    """There is no file of this process: none at all, or one that an earlier process of that pid left."""


class OptimizerCount(msgspec.Struct, frozen=True, kw_only=True):
    """One optimizer (kind optimizer) or an engine that counts for itself (kind engine)."""

    name: str
    kind: str = "optimizer"
    params: _Count = 0
    count: _Count = 0
    nested: _Count = 0
    """Steps that it made as a part of another optimizer's."""
    lr: float | None = None
    scaled: bool = False
    """A GradScaler lets the step itself decide whether to do anything: skipped ones are counted too."""
    series: _Count = 0


class ModelFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Of what the largest optimizer steps, and of the model around it where that was seen."""

    name: str | None = None
    params: _Count | None = None
    """Of the whole model, in this process."""
    requires_grad: _Count | None = None
    trainable: _Count | None = None
    """Of the optimizer's parameters, those that take a gradient."""
    dtypes: dict[str, _Count] = {}
    """Numbers by type, of the optimizer's parameters."""


class ProbeFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a probe tells at most once a second."""

    optimizers: tuple[OptimizerCount, ...] = ()
    """The headline first."""
    optimizer_count: _Count = 0
    recent: tuple[tuple[_Count, _Ns], ...] = ()
    """Counts of the headline and when they were reached, at least a second apart."""
    ranks: dict[str, _Count] = {}
    versions: dict[str, str] = {}
    model: ModelFacts = ModelFacts()
    allocator: dict[str, _Count] = {}
    """Bytes and counts of torch's CUDA allocator; empty without CUDA."""


@dataclass(frozen=True, slots=True)
class ProbeReading:
    """One look into a probe's file. Times are nanoseconds of CLOCK_MONOTONIC as the process reads it."""

    count: int
    """Steps of the headline optimizer in this process."""
    first_ns: int
    last_ns: int
    resumed_at: int
    """Steps that the optimizer's state had made before this process, as it says itself."""
    series: int
    """Which optimizer is the headline."""
    facts: ProbeFacts


def read_probe(path: str, process: ProcessIdentity, uid: int, namespace_pid: int | None = None) -> ProbeReading:
    """What the probe of this process shows now.

    `namespace_pid` is the pid that the process itself knows, where that is another one.

    Raises:
        ProbeAbsentError: there is no file of this process.
        ProbeFileError: it is no probe's, of another user, being written, or damaged.
    """
    head, pages = _pages(path, uid)
    magic, layout, size, pid, start_ticks = head
    if magic != MAGIC:
        raise ProbeFileError("it is not a probe's file")
    if layout != LAYOUT or size != SIZE_BYTES:
        raise ProbeFileError("it was written by another version of the probe")
    if pid != (namespace_pid or process.pid) or start_ticks != process.start_ticks:
        raise ProbeAbsentError("it belongs to an earlier process")
    for before, after in pairwise(pages):
        steps = _STEPS.unpack_from(after, STEPS_AT)
        if steps[0] == steps[-1] == _STEPS.unpack_from(before, STEPS_AT)[0]:
            break
    else:
        raise ProbeFileError("it is just being written")
    _, count, first_ns, last_ns, resumed_at, series, _ = steps
    if not (0 < count <= MAX_COUNT and 0 <= first_ns <= last_ns and 0 <= resumed_at <= MAX_COUNT):
        raise ProbeFileError("no step has been counted yet" if count == 0 else "its figures make no sense")
    return ProbeReading(count, first_ns, last_ns, resumed_at, min(series, MAX_COUNT), _facts(pages))


def _pages(path: str, uid: int) -> tuple[tuple[bytes, int, int, int, int], list[bytes]]:
    """Its head, and the whole of it several times over."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise ProbeFileError("it is no regular file")
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        raise ProbeAbsentError("there is none") from None
    except (OSError, ValueError) as error:
        raise ProbeFileError(_why(error)) from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ProbeFileError("it is no regular file")
        if status.st_uid != uid:
            raise ProbeFileError("it belongs to another user")
        pages = [os.pread(descriptor, SIZE_BYTES, 0)]
        while len(pages) < TRIES and not (len(pages) > 1 and _settled(pages)):
            pages.append(os.pread(descriptor, SIZE_BYTES, 0))
            if len(pages[-1]) < SIZE_BYTES:
                raise ProbeFileError("it is cut off")
    except OSError as error:
        raise ProbeFileError(_why(error)) from None
    finally:
        os.close(descriptor)
    magic, layout, size, pid, start_ticks = _HEAD.unpack_from(pages[-1], 0)
    return (magic, layout, size, pid, start_ticks), pages[-2:]


def _why(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or "it cannot be opened"


def _settled(pages: list[bytes]) -> bool:
    """Whether the last two looks saw the same whole step record."""
    if min(len(pages[-1]), len(pages[-2])) < SIZE_BYTES:
        return True
    before, after = (_STEPS.unpack_from(page, STEPS_AT) for page in pages[-2:])
    return bool(before == after and after[0] == after[-1])


def _facts(pages: list[bytes]) -> ProbeFacts:
    """The slow part; empty where it is damaged or being written: the count alone is worth having."""
    first, length, last = _FACTS.unpack_from(pages[-1], FACTS_AT)
    if (
        first != last
        or length > SIZE_BYTES - BODY_AT
        or _FACTS.unpack_from(pages[-2], FACTS_AT) != (first, length, last)
    ):
        return ProbeFacts()
    try:
        facts = msgspec.json.decode(pages[-1][BODY_AT : BODY_AT + length], type=ProbeFacts)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ProbeFacts()
    return ProbeFacts(
        optimizers=tuple(_cleaned(one) for one in facts.optimizers[:MAX_OTHERS]),
        optimizer_count=facts.optimizer_count,
        recent=facts.recent[-MAX_RECENT:],
        ranks=_short(facts.ranks),
        versions={clean(name, 40): clean(text, 40) for name, text in list(facts.versions.items())[:16]},
        model=msgspec.structs.replace(
            facts.model,
            name=None if facts.model.name is None else clean(facts.model.name, MAX_NAME),
            dtypes=_short(facts.model.dtypes),
        ),
        allocator=_short(facts.allocator),
    )


def _cleaned(one: OptimizerCount) -> OptimizerCount:
    return msgspec.structs.replace(one, name=clean(one.name, MAX_NAME), kind=clean(one.kind, 20))


def _short(numbers: dict[str, int]) -> dict[str, int]:
    return {clean(name, 40): number for name, number in list(numbers.items())[:16]}
