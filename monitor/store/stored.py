"""What is remembered from one session to the next, as plain values."""

from __future__ import annotations

import msgspec

from monitor.types.record import Range, Record

MAX_PAST_RUNS = 500
MAX_SNOOZES = 500
MAX_GPUS = 1024
MAX_TEXT = 512


class LastSeen(Record, frozen=True, kw_only=True):
    """One GPU's cumulative counters when they were last looked at. `None` where the driver gave none."""

    uuid: str
    seen_s: float
    """Wall clock."""
    boot_id: str = ""
    energy_j: float | None = None
    """Counts from when the driver was loaded."""
    throttle_s: tuple[tuple[str, float], ...] = ()
    """Cumulative time a reason; from when the driver was loaded."""
    pcie_replay_count: int | None = None
    ecc_corrected: int | None = None
    """Aggregate: survives a reboot."""
    ecc_uncorrected: int | None = None
    remapped_rows: int | None = None


class PastRun(Record, frozen=True, kw_only=True):
    """One run that ended while it was watched, and what had been predicted of it."""

    run_id: str
    name: str
    ended_s: float
    how: str = "unknown"
    watched_since_s: float | None = None
    started_s: float | None = None
    step: float | None = None
    total: float | None = None
    step_seconds: float | None = None
    gpu_count: int | None = None
    energy_j: float | None = None
    predicted_s: float | None = None
    """Wall clock at which the last prediction was made."""
    predicted_remaining_s: Range | None = None
    observed_peak_bytes: int | None = None


class Snooze(Record, frozen=True, kw_only=True):
    """A finding that the user does not want to see for a while."""

    rule: str
    subject: str
    """A run id or GPU UUID; empty for all."""
    until_s: float
    """Wall clock."""


class StoredState(Record, frozen=True, kw_only=True):
    """All of it. Within bounds: the newest past runs and the snoozes that end last are kept."""

    version: int = 1
    saved_s: float | None = None
    last_seen: tuple[LastSeen, ...] = ()
    past_runs: tuple[PastRun, ...] = ()
    """Oldest first."""
    snoozes: tuple[Snooze, ...] = ()


def bounded(state: StoredState, now_s: float) -> StoredState:
    """The state within its bounds, without snoozes that are over."""
    return msgspec.structs.replace(
        state,
        last_seen=tuple(sorted(state.last_seen, key=lambda gpu: gpu.seen_s))[-MAX_GPUS:],
        past_runs=tuple(_cut(run) for run in sorted(state.past_runs, key=lambda run: run.ended_s)[-MAX_PAST_RUNS:]),
        snoozes=tuple(
            sorted((snooze for snooze in state.snoozes if snooze.until_s > now_s), key=lambda snooze: snooze.until_s)
        )[-MAX_SNOOZES:],
    )


def with_run(state: StoredState, run: PastRun) -> StoredState:
    """The state with a run added; the same run told again replaces what was told before."""
    others = tuple(past for past in state.past_runs if past.run_id != run.run_id)
    return msgspec.structs.replace(state, past_runs=(*others, run)[-MAX_PAST_RUNS:])


def with_last_seen(state: StoredState, seen: tuple[LastSeen, ...]) -> StoredState:
    """The state with newer counters; GPUs that are not there now keep what was seen of them."""
    gpus = {gpu.uuid: gpu for gpu in state.last_seen}
    gpus.update({gpu.uuid: gpu for gpu in seen})
    return msgspec.structs.replace(state, last_seen=tuple(gpus.values()))


def _cut(run: PastRun) -> PastRun:
    if len(run.name) <= MAX_TEXT and len(run.run_id) <= MAX_TEXT:
        return run
    return msgspec.structs.replace(run, name=run.name[:MAX_TEXT], run_id=run.run_id[:MAX_TEXT])
