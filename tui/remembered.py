"""What one live session leaves to the next: GPU counters when last seen, and own runs that ended, with what was said.

The state is read once, when the session begins, and written at its end and now and then: a session often ends with its
connection. Demos and replays leave nothing.
"""

from __future__ import annotations

from advisor.assessment import Assessment
from monitor.store.last_seen import counters
from monitor.store.state import StateStore
from monitor.store.stored import PastRun, with_last_seen, with_run
from monitor.types.messages import Message, Snapshot
from monitor.types.record import Range
from monitor.types.run import Run
from tui.view import ViewBuilder

SAVE_EVERY_S = 300.0
"""By the stream's clock."""
PREDICTED_AFTER_S = 120.0
"""The finish time that is kept for comparison is the one that was shown after so long a watch, or the last before."""


class RememberingBuilder(ViewBuilder):
    """Builds views as any other, knows the last session and leaves word for the next one."""

    def __init__(self, store: StateStore) -> None:
        self._store = store
        super().__init__(store.load().last_seen)
        self.note = store.note
        self._saved_boot_s: float | None = None
        self._predicted: dict[str, tuple[float, Range]] = {}
        self._peak_bytes: dict[str, int] = {}
        self._past: dict[str, PastRun] = {}

    def update(self, message: Message) -> None:
        """Take one message; save when it is time."""
        super().update(message)
        if not isinstance(message, Snapshot) or self.node.hello is None or self.node.hello.simulated:
            return
        assessments = self.assessor.assessments()
        for run in self.tracker.runs():
            if run.mine and run.kind == "training":
                self._note(run, assessments.get(run.run_id), message)
        if self._saved_boot_s is None:
            self._saved_boot_s = message.boot_s
        elif message.boot_s - self._saved_boot_s >= SAVE_EVERY_S:
            self.save()
            self._saved_boot_s = message.boot_s

    def save(self) -> None:
        """Write what is to be remembered. Trouble with it is no reason to bother anybody who is leaving."""
        hello, snapshot = self.node.hello, self.node.snapshot
        if hello is None or snapshot is None or hello.simulated:
            return
        state = self._store.load()  # another session may have written meanwhile
        state = with_last_seen(state, counters(hello, snapshot))
        for past in self._past.values():
            state = with_run(state, past)
        self._store.save(state)

    def _note(self, run: Run, assessment: Assessment | None, snapshot: Snapshot) -> None:
        if run.ended is None:
            watched_s = snapshot.taken_s - run.watched_since_s
            left = None if assessment is None else assessment.remaining_s
            if left is not None and (run.run_id not in self._predicted or watched_s < PREDICTED_AFTER_S):
                self._predicted[run.run_id] = (snapshot.taken_s, left)
            if run.gpu_memory_bytes is not None:
                self._peak_bytes[run.run_id] = max(run.gpu_memory_bytes, self._peak_bytes.get(run.run_id, 0))
        elif run.run_id not in self._past:
            self._past[run.run_id] = self._past_run(run)

    def _past_run(self, run: Run) -> PastRun:
        predicted_s, left = self._predicted.pop(run.run_id, (None, None))
        return PastRun(
            run_id=run.run_id,
            name=run.name,
            ended_s=0.0 if run.ended is None else run.ended.seen_s,
            how="unknown" if run.ended is None else run.ended.how,
            watched_since_s=run.watched_since_s,
            started_s=run.started_s,
            step=run.step,
            total=run.total,
            step_seconds=run.step_seconds,
            gpu_count=len(run.gpu_uuids),
            energy_j=run.energy_j,
            predicted_s=predicted_s,
            predicted_remaining_s=left,
            observed_peak_bytes=self._peak_bytes.pop(run.run_id, None),
        )
