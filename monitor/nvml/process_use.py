"""How busy each process keeps a GPU, after `nvmlDeviceGetProcessUtilization`.

The driver keeps a ring of samples. Asked from time 0 it averages over minutes and shows dead processes as busy, so the
time of the newest accepted sample is kept per device and handed in the next time.
"""

from __future__ import annotations

import dataclasses

from monitor.nvml.binding import Answer, Handle
from monitor.nvml.calls import Call, Caller, Question
from monitor.nvml.errors import NOT_FOUND, SUCCESS, Refusal

_FIRST_LOOK_BACK_S = 1.5
"""The first question reaches this far back: at least one sample period (1/6 s to 1 s by product)."""
_CLOCK_SLACK_S = 60.0
"""A stamp further ahead of our clock is garbage; taken as cursor it would silence the device."""
_QUIET_POLLS = 2


@dataclasses.dataclass(slots=True)
class _Seen:
    ratio: float | None
    seen_boot_s: float
    quiet_polls: int = 0


class ProcessUse:
    """Per-process utilisation of one device."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self.question = Question((Call("nvmlDeviceGetProcessUtilization"),))
        self._cursor_us = 0
        self._seen: dict[int, _Seen] = {}

    def update(
        self, handle: Handle, pids: frozenset[int], device_util_ratio: float | None, wall_s: float, now_s: float
    ) -> None:
        """Ask once. Call it at each tick in which processes are listed on the device."""
        for gone in self._seen.keys() - pids:
            del self._seen[gone]
        if self.question.spelling is None or self.question.retry_at_s > now_s:
            return
        since_us = self._cursor_us or int((wall_s - _FIRST_LOOK_BACK_S) * 1e6)
        answer = self._caller.call("nvmlDeviceGetProcessUtilization", handle, since_us)
        others_reported = False
        if isinstance(answer, Refusal):
            if answer.code not in (NOT_FOUND, SUCCESS):
                self.question.refused(answer, now_s)
                return
            self.question.answered()
            fresh: dict[int, float] = {}
        else:
            self.question.answered()
            fresh = self._accept(answer, pids, since_us, int((wall_s + _CLOCK_SLACK_S) * 1e6))
            others_reported = bool(fresh)
        # Quiet beside others, or on an idle device, means idle. Quiet on a busy device means that nobody knows.
        is_idle = device_util_ratio == 0
        for pid, seen in self._seen.items():
            if pid in fresh:
                continue
            seen.quiet_polls += 1
            if is_idle or (others_reported and seen.quiet_polls >= _QUIET_POLLS):
                seen.ratio, seen.seen_boot_s, seen.quiet_polls = 0.0, now_s, 0
            elif seen.quiet_polls >= _QUIET_POLLS:
                seen.ratio = None
        for pid, ratio in fresh.items():
            self._seen[pid] = _Seen(ratio, now_s)

    def _accept(self, samples: Answer, pids: frozenset[int], since_us: int, until_us: int) -> dict[int, float]:
        """The newest sample of each listed pid; garbage (over 100 %, old or future, unknown pids) is passed over."""
        fresh: dict[int, tuple[int, float]] = {}
        newest_us = since_us
        for sample in samples:
            stamp_us = int(sample.timeStamp)
            if sample.smUtil > 100 or not since_us < stamp_us <= until_us or sample.pid not in pids:
                continue
            newest_us = max(newest_us, stamp_us)
            if stamp_us > fresh.get(sample.pid, (0, 0.0))[0]:
                fresh[sample.pid] = (stamp_us, sample.smUtil / 100.0)
        if fresh:
            self._cursor_us = newest_us
        return {pid: ratio for pid, (_stamp, ratio) in fresh.items()}

    def value(self, pid: int, now_s: float) -> tuple[float | None, float | None]:
        """The ratio and the age in seconds of the sample behind it; `None` where nothing is known."""
        seen = self._seen.get(pid)
        if seen is None or seen.ratio is None:
            return None, None
        return seen.ratio, max(0.0, now_s - seen.seen_boot_s)
