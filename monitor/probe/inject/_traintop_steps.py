"""Counts optimizer steps inside a training process and shows them in a small file of its own.

It lives in a foreign interpreter: standard library only, syntax of Python 3.8, and nothing of it may ever raise, print,
import torch, or cost a step more than a few microseconds. The file is `monitor.probe.file`'s to read; its form:

    0    magic, layout, size, pid, start ticks                          <8sIIQQ
    64   sequence, count, first_ns, last_ns, resumed_at, series, sequence   <QQqqqQQ   written at every step
    256  sequence, length of the JSON, sequence, JSON                       <QQQ       written at most once a second

Both sequences of a part are equal unless it is just being written. Times are CLOCK_MONOTONIC.
"""

from __future__ import annotations

import os
import sys
from _thread import RLock, _local
from time import monotonic_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    import mmap
    import weakref
    from collections.abc import Callable
    from typing import Any

MAGIC = b"TTPROBE1"
LAYOUT = 1
SIZE_BYTES = 16384
STEPS_AT = 64
FACTS_AT = 256
BODY_AT = 280
MARK = "TRAINTOP_PROBE"
REFRESH_NS = 1_000_000_000
RECENT = 48
SHOWN_OPTIMIZERS = 12
MAX_OPTIMIZERS = 1024
MAX_FAULTS = 8
MAX_FRAMES = 400
RANK_NAMES = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK")
_nesting = _local()
_lock = RLock()


class Counter:
    """One optimizer (or engine) and its count. One that is gone hands its count on to its like."""

    __slots__ = ("count", "groups", "kind", "lr", "name", "nested", "params", "ref", "resumed_at", "scaled", "series")

    def __init__(self, ref: weakref.ref[Any], name: str, kind: str, params: int, series: int) -> None:
        self.ref, self.name, self.kind, self.params, self.series = ref, name, kind, params, series
        self.count = self.nested = self.resumed_at = self.groups = 0
        self.lr: float | None = None
        self.scaled = False

    def rank(self) -> tuple[bool, bool, int, int]:
        """The headline is an engine's own count, else the optimizer with the most parameters, else the first."""
        return (self.count > 0, self.kind == "engine", self.params, -self.series)


class Probe:
    """All that is known in one process. A forked child begins anew."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.counters: dict[int, Counter] = {}
        self.main: Counter | None = None
        self.made = 0
        self.sequence = 0
        self.facts_sequence = 0
        self.first_ns = self.last_ns = self.next_ns = 0
        self.recent: list[tuple[int, int]] = []
        self.buffer: mmap.mmap | None = None
        self.pack: Callable[..., None] | None = None
        self.faults = 0
        self.model: dict[str, object] = {}
        self.ranks: dict[str, int] = {}
        self.allocator: dict[str, int] = {}
        self.gone: list[int] = []
        """Keys of counters whose optimizer is no more."""

    def count(self, counter: Counter, by: int, now_ns: int) -> None:
        """Count and, for the headline, show it at once."""
        counter.count += by
        main = self.main
        if counter is not main and (main is None or main.ref() is None or counter.rank() > main.rank()):
            self.main = main = counter
            self.first_ns = now_ns
            self.recent = []
            self.next_ns = 0
        if counter is main:
            self.last_ns = now_ns
        if now_ns >= self.next_ns:
            self.next_ns = now_ns + REFRESH_NS
            self.refresh(counter, now_ns)
        if counter is main and self.pack is not None:
            self.sequence = n = self.sequence + 1
            count, at, series = counter.count, counter.resumed_at, counter.series
            self.pack(self.buffer, STEPS_AT, n, count, self.first_ns, now_ns, at, series, n)

    def refresh(self, counter: Counter, now_ns: int) -> None:
        """What is done once a second: points in time, figures of the allocator, facts."""
        if self.faults > MAX_FAULTS:
            return
        try:
            if self.buffer is None:
                self.open()
                self.ranks = _ranks()
            if counter is self.main:
                self.recent.append((counter.count, now_ns))
                del self.recent[:-RECENT]
            self.write_facts(allocator=True)
        except Exception:
            self.faults += MAX_FAULTS if self.buffer is None else 1  # a folder that is refused stays so

    def open(self) -> None:
        """Make the file of this process, with bytes that are written and not merely promised: see SIGBUS."""
        import atexit
        import mmap
        import struct

        with open("/proc/self/stat", "rb") as stat:
            start_ticks = int(stat.read(4096).rpartition(b")")[2].split()[19])
        path = os.path.join(_folder(), "probe-%d" % self.pid)
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass
        head = struct.pack("<8sIIQQ", MAGIC, LAYOUT, SIZE_BYTES, self.pid, start_ticks)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            if os.write(descriptor, bytes(SIZE_BYTES)) != SIZE_BYTES:
                raise OSError
            if sys.version_info >= (3, 13):
                buffer = mmap.mmap(descriptor, SIZE_BYTES, trackfd=False)
            else:
                buffer = mmap.mmap(descriptor, SIZE_BYTES)
        finally:
            os.close(descriptor)
        buffer[: len(head)] = head
        _kept.append(buffer)
        self.pack = struct.Struct("<QQqqqQQ").pack_into
        self.buffer = buffer
        atexit.register(_at_exit)

    def write_facts(self, *, allocator: bool) -> None:
        """Write what changes slowly, as JSON."""
        import json
        import struct

        buffer, main = self.buffer, self.main
        if buffer is None or main is None:
            return
        ranked = sorted(self.counters.values(), key=Counter.rank, reverse=True)
        largest = next((one for one in ranked if one.kind == "optimizer"), None)
        optimizer = None if largest is None else largest.ref()
        if largest is not None and optimizer is not None:
            groups = sum(len(group["params"]) for group in optimizer.param_groups)
            if groups != largest.groups or not self.model:  # parameters are let go or taken in during a run
                largest.groups = groups
                largest.params = _parameters(optimizer)
                self.model = _model_facts(optimizer)
        if allocator:
            self.allocator = _allocator(optimizer)
        facts: dict[str, object] = {
            "optimizers": [_shown(one) for one in ranked[:SHOWN_OPTIMIZERS]],
            "optimizer_count": len(ranked),
            "recent": self.recent,
            "ranks": self.ranks,
            "versions": _versions(),
            "model": self.model,
            "allocator": self.allocator,
        }
        body = json.dumps(facts, separators=(",", ":")).encode()
        if len(body) > SIZE_BYTES - BODY_AT:
            facts["optimizers"], facts["recent"] = [_shown(main)], self.recent[-4:]
            body = json.dumps(facts, separators=(",", ":")).encode()
        if len(body) > SIZE_BYTES - BODY_AT:
            return
        self.facts_sequence = n = self.facts_sequence + 1
        struct.pack_into("<Q", buffer, FACTS_AT, n)
        buffer[BODY_AT : BODY_AT + len(body)] = body
        struct.pack_into("<QQ", buffer, FACTS_AT + 8, len(body), n)

    def counter_of(self, owner: Any, kind: str, name: str, params: Callable[[], int]) -> Counter:
        """The counter of an optimizer; a new one for one that was not seen before."""
        known = self.counters.get(id(owner))
        if known is not None and known.ref() is owner:
            return known
        import weakref

        key, number = id(owner), params()
        ref = weakref.ref(owner, lambda _ref: self.gone.append(key))
        for old in self.gone:
            one = self.counters.get(old)
            if one is not None and one.ref() is None and (one.name, one.params) == (name, number):
                self.gone.remove(old)
                del self.counters[old]  # made anew in each epoch or the like: its count goes on
                one.ref = ref
                self.counters[key] = one
                return one
        if len(self.counters) >= MAX_OPTIMIZERS:
            raise OverflowError
        counter = Counter(ref, name, kind, number, self.made)
        self.made += 1
        self.counters[key] = counter
        return counter


_kept: list[mmap.mmap] = []
"""Mappings are never let go: with them Python would close a descriptor that may be somebody else's by then."""
roots: dict[int, weakref.ref[Any]] = {}
"""Modules with parts that are themselves no part of another: models."""
_probe: Probe | None = None


def _forked() -> None:
    """In a child: a lock that another thread held would never be given back."""
    global _lock
    _lock = RLock()


os.register_at_fork(after_in_child=_forked)


def _current() -> Probe:
    global _probe
    if _probe is None or _probe.pid != os.getpid():
        _probe = Probe()
    return _probe


def before_step(optimizer: Any, args: object, kwargs: object) -> None:
    """Called by torch before each optimizer's step: how deep steps are in one another."""
    try:
        depth = getattr(_nesting, "depth", 0)
        if depth and not _within_another(sys._getframe(1)):
            depth = 0  # a step that raised never came to its end
        _nesting.depth = depth + 1
    except Exception:
        return


def after_step(optimizer: Any, args: object, kwargs: object) -> None:
    """Called by torch after each optimizer's step."""
    try:
        now_ns = monotonic_ns()
        depth = getattr(_nesting, "depth", 1) - 1
        if depth > 0 and not _within_another(sys._getframe(1)):
            depth = 0
        _nesting.depth = depth = max(0, depth)
        with _lock:
            probe = _current()
            counter = probe.counters.get(id(optimizer))
            if counter is None or counter.ref() is not optimizer:
                name = type(optimizer).__name__
                counter = probe.counter_of(optimizer, "optimizer", name, lambda: _parameters(optimizer))
                if not counter.count:
                    headline = probe.main is None or counter.params > probe.main.params
                    counter.resumed_at = _resumed_at(optimizer, wait=headline)
            if depth:
                counter.nested += 1  # the work of the outer one, which is counted
                return
            if getattr(optimizer, "found_inf", None) is not None:
                counter.scaled = True  # a GradScaler hands its verdict to a fused step, which may then do nothing
            probe.count(counter, 1, now_ns)
    except Exception:
        return


before_step._torchdynamo_disable = True  # type: ignore[attr-defined]
after_step._torchdynamo_disable = True  # type: ignore[attr-defined]


def count_for(owner: Any, name: str, by: int, params: Callable[[], int], resumed_at: int = 0) -> None:
    """Count for an engine that knows its own steps."""
    if by <= 0:
        return
    now_ns = monotonic_ns()
    with _lock:
        probe = _current()
        counter = probe.counter_of(owner, "engine", name, params)
        if not counter.count:
            counter.resumed_at = max(0, resumed_at)
        probe.count(counter, by, now_ns)


def _within_another(frame: Any) -> bool:
    """Whether the step that this frame wraps is part of another one's: whether the wrapper stands above it again."""
    code = frame.f_code
    for _ in range(MAX_FRAMES):
        frame = frame.f_back
        if frame is None:
            return False
        if frame.f_code is code:
            return True
    return False


def _parameters(optimizer: Any) -> int:
    return sum(int(p.numel()) for group in optimizer.param_groups for p in group["params"])


def _resumed_at(optimizer: Any, *, wait: bool) -> int:
    """How many steps the optimizer's own state had before this first one: what was loaded with a checkpoint.

    Fused optimizers keep it on the GPU, where it has to be waited for: once in a run, for the headline alone.
    """
    try:
        for group in optimizer.param_groups:
            for parameter in group["params"][:8]:
                if parameter not in optimizer.state:
                    continue
                kept = optimizer.state[parameter].get("step")
                step = _host_number(kept)
                if step is None and wait and _may_wait_for(kept):
                    step = float(kept)
                if step is not None:
                    return max(0, min(int(step) - 1, 2**62))
    except Exception:
        return 0
    return 0


def _may_wait_for(value: Any) -> bool:
    """Whether a number on a GPU can be fetched: never while a CUDA graph is captured, which that would break."""
    cuda = sys.modules.get("torch.cuda")
    if cuda is None or getattr(getattr(value, "device", None), "type", "") != "cuda" or value.numel() != 1:
        return False
    return bool(cuda.is_initialized() and not cuda.is_current_stream_capturing())


def _host_number(value: Any) -> float | None:
    if type(value) in (int, float):
        return float(value)
    device = getattr(value, "device", None)
    if device is not None and device.type == "cpu" and value.numel() == 1:
        return float(value)
    return None


def _shown(counter: Counter) -> dict[str, object]:
    optimizer = counter.ref()
    try:
        if optimizer is not None and counter.kind == "optimizer":
            lr = _host_number(optimizer.param_groups[0].get("lr"))
            counter.lr = lr if lr is not None and lr - lr == 0 else None  # no JSON has a nan
    except Exception:
        counter.lr = None
    return {
        "name": counter.name[:80],
        "kind": counter.kind,
        "params": counter.params,
        "count": counter.count,
        "nested": counter.nested,
        "lr": counter.lr,
        "scaled": counter.scaled,
        "series": counter.series,
    }


def _model_facts(optimizer: Any) -> dict[str, object]:
    """Of what the optimizer steps, and of the model that it belongs to where that was seen being put together."""
    dtypes: dict[str, int] = {}
    trainable = 0
    first = None
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            first = parameter if first is None else first
            dtype = str(parameter.dtype).replace("torch.", "")
            dtypes[dtype] = dtypes.get(dtype, 0) + int(parameter.numel())
            trainable += int(parameter.numel()) if parameter.requires_grad else 0
    facts: dict[str, object] = {"dtypes": dtypes, "trainable": trainable}
    for ref in list(roots.values())[-256:]:
        model = ref()
        owned = [] if model is None else list(model.parameters())
        if not any(parameter is first for parameter in owned):
            continue
        for _ in range(4):
            within = getattr(model, "_orig_mod", None)
            if within is None and type(model).__name__.endswith(("DataParallel", "Engine")):
                within = getattr(model, "module", None)
            model = model if within is None else within
        total = sum(int(parameter.numel()) for parameter in owned)
        if total >= int(facts.get("params", -1)):  # type: ignore[call-overload]
            facts["name"], facts["params"] = type(model).__name__[:80], total
            facts["requires_grad"] = sum(int(parameter.numel()) for parameter in owned if parameter.requires_grad)
    return facts


def _allocator(optimizer: Any) -> dict[str, int]:
    """Figures of torch's CUDA allocator, of the device of the parameters. Never the first to touch CUDA."""
    cuda = sys.modules.get("torch.cuda")
    if cuda is None or not cuda.is_initialized():
        return {}
    owned = [] if optimizer is None else [p for group in optimizer.param_groups[:1] for p in group["params"][:1]]
    device: Any = owned[0].device if owned else None
    stats = cuda.memory_stats(device.index if getattr(device, "type", "") == "cuda" else None)
    names = {
        "allocated_bytes": "allocated_bytes.all.current",
        "peak_allocated_bytes": "allocated_bytes.all.peak",
        "reserved_bytes": "reserved_bytes.all.current",
        "peak_reserved_bytes": "reserved_bytes.all.peak",
        "inactive_split_bytes": "inactive_split_bytes.all.current",
        "alloc_retries": "num_alloc_retries",
        "ooms": "num_ooms",
    }
    return {ours: int(stats[theirs]) for ours, theirs in names.items() if theirs in stats}


def _versions() -> dict[str, str]:
    found = {"python": "%d.%d.%d" % sys.version_info[:3]}
    for name in ("torch", "deepspeed", "keras", "transformers", "lightning"):
        version = getattr(sys.modules.get(name), "__version__", None)
        if isinstance(version, str):
            found[name] = str(version)[:40]
    return found


def _ranks() -> dict[str, int]:
    found = {}
    for name in RANK_NAMES:
        text = os.environ.get(name, "")
        if text.isdigit() and len(text) < 8:
            found[name.lower()] = int(text)
    return found


def _folder() -> str:
    """A folder that only this user can look into. Raises OSError where there is none."""
    own = os.geteuid()
    wanted = [os.environ.get(MARK, "")]
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(runtime):
        wanted.append(os.path.join(runtime, "traintop"))
    wanted.append("/tmp/traintop-%d" % own)  # noqa: S108 - its owner and mode are looked at
    for folder in wanted:
        if not os.path.isabs(folder):
            continue
        try:
            try:
                os.mkdir(folder, 0o700)
            except FileExistsError:
                pass
            status = os.lstat(folder)
        except OSError:
            continue
        if status.st_mode & 0o170077 == 0o040000 and status.st_uid == own and os.access(folder, os.W_OK | os.X_OK):
            return folder
    raise OSError


def _at_exit() -> None:
    """The last word, so that the counts beside the headline are right when the run ends by itself."""
    try:
        probe = _probe
        if probe is not None and probe.pid == os.getpid():
            probe.write_facts(allocator=False)
    except Exception:
        return
