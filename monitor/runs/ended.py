"""Runs that have ended: the newest fifty, with how they ended. Words that arrive just after the end still count."""

from __future__ import annotations

from monitor.cells import cut
from monitor.newest import put_newest
from monitor.runs.census import Census
from monitor.runs.ending import Last, how_ended
from monitor.runs.naming import MAX_CELLS
from monitor.runs.progress import Progress
from monitor.runs.state import RunState, replaced
from monitor.types.identity import ProcessIdentity
from monitor.types.messages import Snapshot
from monitor.types.run import Run

MAX_ENDED = 50
REFINE_S = 20.0
"""For so long after the end its last lines and the end of its launcher may still arrive."""


class _Ended:
    def __init__(self, state: RunState, run: Run, boot_s: float) -> None:
        self.state = state
        self.run = run
        self.boot_s = boot_s


class EndedRuns:
    """Keeps ended runs, oldest first."""

    def __init__(self) -> None:
        self._kept: dict[str, _Ended] = {}

    def add(self, state: RunState, run: Run, snapshot: Snapshot, census: Census, progress: Progress) -> None:
        """A run has ended."""
        ended = how_ended(_lasts(state, census, progress), snapshot.taken_s)
        shown = replaced(run, phase="ended", phase_since_s=snapshot.taken_s, ended=ended)
        put_newest(self._kept, run.run_id, _Ended(state, shown, snapshot.boot_s), MAX_ENDED)

    def refine(self, snapshot: Snapshot, census: Census, progress: Progress) -> None:
        """Judge again where something arrived about a run that has just ended."""
        heard = {event.process for event in snapshot.steps} | {end.process for end in snapshot.ended}
        for kept in self._kept.values():
            late_s = snapshot.boot_s - kept.boot_s
            if kept.run.ended is None or not 0 < late_s <= REFINE_S or not heard & kept.state.everyone:
                continue
            ended = how_ended(_lasts(kept.state, census, progress), kept.run.ended.seen_s)
            fused = progress.reading(kept.state.group.members)
            run = (
                kept.run
                if fused is None
                else replaced(kept.run, step=fused.step, total=fused.total, values=fused.values)
            )
            kept.run = replaced(run, ended=ended)

    def revive(self, run_id: str) -> RunState | None:
        """Ranks have been started again under the same launcher, or a process was only missed for a while."""
        kept = self._kept.pop(run_id, None)
        if kept is None:
            return None
        kept.state.everyone.clear()  # how the attempt before ended says nothing about this one
        return kept.state

    def runs(self, taken: set[str]) -> list[Run]:
        """Own first, newest first; a name that a live or newer run has gets the pid behind it."""
        shown: list[Run] = []
        names = set(taken)
        for kept in reversed(self._kept.values()):
            run = kept.run
            if run.name in names:
                pid = f" ({kept.state.group.leader.process.pid})"
                run = replaced(run, name=cut(run.name, MAX_CELLS - len(pid)) + pid)
            names.add(run.name)
            shown.append(run)
        return sorted(shown, key=lambda run: not run.mine)

    def processes(self) -> set[ProcessIdentity]:
        """All processes of the runs that are kept."""
        return {process for kept in self._kept.values() for process in kept.state.everyone}

    def keys(self) -> dict[str, tuple[object, ...]]:
        """What their siblings share, by run."""
        return {run_id: kept.state.group.sibling_key for run_id, kept in self._kept.items()}

    def states(self) -> list[RunState]:
        """What they were."""
        return [kept.state for kept in self._kept.values()]


def _lasts(state: RunState, census: Census, progress: Progress) -> tuple[Last, ...]:
    leader = state.group.leader.process
    lasts: list[Last] = []
    for process in sorted(state.everyone, key=lambda one: (one.start_ticks, one.pid)):
        told = progress.last(process)
        lasts.append(
            Last(
                process,
                census.ends.get(process),
                None if told is None else told.ended,
                None if told is None else told.step,
                None if told is None else told.total,
                leads=process == leader,
            )
        )
    return tuple(lasts)
