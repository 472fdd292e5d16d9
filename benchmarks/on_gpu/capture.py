"""Records what the real agent sees while the trainings run, and reads the recording again as a viewer would."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from benchmarks.on_gpu.anonymous import Names, StreamFilter
from benchmarks.on_gpu.parts import Row
from benchmarks.on_gpu.training_process import TrainingProcess
from monitor.runs.tracker import RunTracker
from monitor.stream.agent_process import AgentProcess
from monitor.stream.recording import RecordingError, RecordingWriter, read_all
from monitor.types.messages import Message, Snapshot
from monitor.types.requests import Watch

MAX_BYTES = 950_000
"""The recording is to become a test fixture of at most a megabyte; what would come after this is left out."""


class Capture:
    """An agent that is recorded. Nothing that goes wrong here ends the measurements; `trouble` says what did."""

    def __init__(self, path: str, names: Names, *, interval_s: float, gpu_uuid: str) -> None:
        self.path = path
        self.trouble = ""
        self.ticks = 0
        self._pids: set[int] = set()
        self._filter = StreamFilter(names, self._pids.__contains__)
        self._lock = threading.Lock()
        self._writer: RecordingWriter | None = None
        self._agent = AgentProcess(("--interval", str(interval_s)))
        self._watch = Watch(view="gpu", gpu_uuids=(gpu_uuid,))

    def start(self) -> None:
        """Begin to record, with the measured GPU's detail shown, so that GPM and PCIe rates are in it."""
        try:
            self._writer = RecordingWriter(self.path, overwrite=True)
        except RecordingError as error:
            self.trouble = str(error)
            return
        self._agent.start(self._on_message, self._on_end)
        self._agent.send(self._watch)

    def adopt(self, start: Callable[[], TrainingProcess]) -> TrainingProcess:
        """Start a training. No message is looked at before its pid is known, so that none about it is missed."""
        with self._lock:
            training = start()
            self._pids.add(training.pid)
        return training

    def close(self) -> Row:
        """End the recording; what came of it."""
        self._agent.close()
        with self._lock:
            writer, self._writer = self._writer, None
        if writer is not None:
            try:
                writer.close()
            except RecordingError as error:
                self.trouble = str(error)
        size = os.path.getsize(self.path) if os.path.exists(self.path) else 0
        return {"file": os.path.basename(self.path), "bytes": size, "ticks": self.ticks, "trouble": self.trouble}

    def _on_message(self, message: Message) -> None:
        with self._lock:
            if self._writer is None:
                return
            try:
                self._write(self._writer, message)
            except Exception as error:
                self.trouble = f"A message could not be recorded: {type(error).__name__}: {error}"

    def _write(self, writer: RecordingWriter, message: Message) -> None:
        if writer.written_bytes > MAX_BYTES:
            self.trouble = "The recording was ended early: it has reached its largest size."
            return
        kept = self._filter.filtered(message)
        if kept is not None:
            writer.write(kept)
            self.ticks += isinstance(kept, Snapshot)

    def _on_end(self, reason: str) -> None:
        with self._lock:
            if self._writer is not None:
                self.trouble = reason or "The agent ended before it was asked to."


def replayed_runs(path: str) -> list[Row]:
    """The runs that a replay of the recording shows at its end."""
    tracker = RunTracker()
    for message in read_all(path):
        tracker.update(message)
    return [
        {
            "name": run.name,
            "kind": run.kind,
            "step": run.step,
            "total": run.total,
            "step_seconds": run.step_seconds,
            "gpus": len(run.gpu_uuids),
            "gpu_memory_bytes": run.gpu_memory_bytes,
            "ended": None if run.ended is None else run.ended.how,
        }
        for run in tracker.runs()
    ]
