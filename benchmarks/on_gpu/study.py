"""All parts in order, within one deadline. What one part cannot do is a sentence in the report; the rest goes on."""

from __future__ import annotations

import dataclasses
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.on_gpu import (
    assumptions,
    call_times,
    checks_of_figures,
    checks_of_processes,
    checks_of_the_driver,
    features,
    field_values,
    sample_buffers,
)
from benchmarks.on_gpu.anonymous import INTERPRETER, Names, names_of_this_machine
from benchmarks.on_gpu.capture import Capture, replayed_runs
from benchmarks.on_gpu.parts import Deadline, Measure, PartResult, Row, failure_sentence, run_part
from benchmarks.on_gpu.report import Report
from benchmarks.on_gpu.sessions import SESSIONS, Sessions
from benchmarks.on_gpu.target import Opening, Target, occupied
from benchmarks.on_gpu.training_process import CHECKOUT, SMALL, Session, Torch, find_torch

TOTAL_S = 345.0
"""Everything that can be cut ends by then; what is left of six minutes is for the graces and for writing the report."""
CHECKS = (*checks_of_figures.CHECKS, *checks_of_processes.CHECKS, *checks_of_the_driver.CHECKS)
LOAD_REPETITIONS = 30
TORCH_LIMIT_S = 60.0
OPENING_LIMIT_S = 30.0
RECORDING = "recording.traintop"
FILES = ("report.md", "report.json", RECORDING)


@dataclasses.dataclass(frozen=True)
class Options:
    """What a study is told. `seconds_per_part` shortens every part; it makes none longer."""

    out: Path
    seconds_per_part: float | None = None
    total_s: float = TOTAL_S
    gpu: int | None = None
    python: str = sys.executable
    sessions: tuple[Session, ...] = SESSIONS
    sizes: tuple[str, ...] | None = None
    """Arguments of the trainings; by default small ones where torch finds no GPU."""
    watch_s: float = 3.0
    """How long a check watches a figure."""
    share: bool = False
    """Train beside others too, as on a desktop whose screen hangs on its only GPU, without filling the memory."""

    def limit_s(self, usual_s: float) -> float:
        """The limit of one part."""
        return usual_s if self.seconds_per_part is None else min(usual_s, self.seconds_per_part)


class Study:
    """One run of the script."""

    def __init__(self, options: Options, say: Callable[[str], None] = print) -> None:
        self._options = options
        self._say = say
        self._deadline = Deadline(options.total_s)
        self._begun_s = time.monotonic()
        self._opening = Opening(index=options.gpu)
        self.is_hung = False
        """A driver call has not returned: the process must be ended without waiting for its threads."""
        self.report: Report | None = None
        self.sentence = ""
        """Why there is nothing to report."""

    def run(self) -> int:
        """Measure and write the report. The exit status: 0, 1 where a part did not come to its end, 2 without a driver.

        Raises:
            OSError: the report cannot be written.
        """
        opening = run_part("opening the driver", self._opening.rows, self._deadline, OPENING_LIMIT_S)
        self.is_hung = opening.is_hung
        target = self._opening.target
        if target is None:
            hung = f"The driver cannot be opened. {opening.trouble}"
            self.sentence = hung if opening.trouble else self._opening.sentence
            return 2
        self._options.out.mkdir(parents=True, exist_ok=True)
        (self._options.out / RECORDING).unlink(missing_ok=True)  # of an earlier run
        with tempfile.TemporaryDirectory(prefix="on_gpu_", ignore_cleanup_errors=True) as folder:
            names = names_of_this_machine(str(CHECKOUT), folder)
            self.report = Report(self._options.out, names, target.name)
            self._note(opening)
            try:
                self._driver_parts(target)
                self._trainings(target, names, Path(folder))
            except KeyboardInterrupt:
                self.report.interrupted = True
            except Exception as error:
                self._note(PartResult("trainings", [], trouble=failure_sentence(error)))
            finally:
                self._write()
                if not self.is_hung:
                    self._opening.close()
        return 1 if self.report.troubles() else 0

    def written(self) -> tuple[str, ...]:
        """Names of the files that there are now."""
        return tuple(name for name in FILES if (self._options.out / name).exists())

    # -- The driver --------------------------------------------------------------------------------------------------

    def _driver_parts(self, target: Target) -> None:
        watch_s = self._options.watch_s
        parts: tuple[tuple[str, float, Measure], ...] = (
            ("call times", 45.0, call_times.measure(target)),
            ("sample buffers", 10.0, sample_buffers.measure(target)),
            ("field values", 12.0, field_values.measure(target, min(field_values.PAUSE_S, watch_s))),
            ("features", 10.0, features.measure(target)),
            ("assumptions", 45.0, assumptions.measure(target, CHECKS, "rest", watch_s)),
        )
        for name, limit_s, measure in parts:
            self._run(name, measure, self._deadline, limit_s)

    def _under_load(self, target: Target, pid: int, deadline: Deadline) -> None:
        """The same while a training runs: its time is that of the training."""
        checks = assumptions.measure(target, CHECKS, "load", self._options.watch_s, pid)
        parts: tuple[tuple[str, float, Measure], ...] = (
            ("assumptions under load", 35.0, checks),
            ("sample buffers under load", 5.0, sample_buffers.measure(target)),
            ("call times under load", 15.0, call_times.measure(target, LOAD_REPETITIONS)),
        )
        for name, limit_s, measure in parts:
            self._run(name, measure, deadline, limit_s)

    def _run(self, name: str, measure: Measure, deadline: Deadline, limit_s: float) -> None:
        if self.is_hung:
            self._note(PartResult(name, [], trouble="It was left out: the driver has not answered before."))
            return
        self._say(f"{name} …")
        result = run_part(name, measure, deadline, self._options.limit_s(limit_s))
        self.is_hung |= result.is_hung
        self._note(result)

    # -- The trainings -----------------------------------------------------------------------------------------------

    def _trainings(self, target: Target, names: Names, folder: Path) -> None:
        options = self._options
        self._say("looking for torch …")
        torch = find_torch(options.python, target.uuid, max(0.1, min(TORCH_LIMIT_S, self._deadline.remaining_s)))
        if isinstance(torch, str):
            self._note(PartResult("trainings", [], trouble=f"They were left out. {torch}"))
            return
        names.add_paths((prefix, INTERPRETER) for prefix in torch.prefixes)
        self._note(PartResult("torch", [{"what": "torch", **_without_prefixes(torch)}], trouble=_no_cuda(torch)))
        chosen, refusal = options.sessions, self._refusal_to_train(target) if torch.cuda else ""
        if refusal:
            chosen = tuple(session for session in chosen if options.share and not session.grow_to)
            which = "Those that fill the memory" if chosen else "They"
            self._note(PartResult("free GPU", [], trouble=f"{which} were left out. {refusal}"))
        if not chosen:
            return
        path = str(options.out / RECORDING)
        capture = Capture(path, names, interval_s=1.0, gpu_uuid=target.uuid)
        capture.start()
        try:
            self._sessions(target, torch, capture, folder, chosen)
        finally:
            self._note_recording(capture.close(), path)

    def _sessions(
        self, target: Target, torch: Torch, capture: Capture, folder: Path, chosen: tuple[Session, ...]
    ) -> None:
        options = self._options
        sizes = options.sizes if options.sizes is not None else () if torch.cuda else SMALL

        def under_load(pid: int, deadline: Deadline) -> None:
            if torch.cuda:
                self._under_load(target, pid, deadline)
            else:
                self._note(PartResult("assumptions under load", [], trouble="It was left out: no GPU is under load."))

        sessions = Sessions(capture, torch, options.python, target.uuid, folder, sizes, under_load)
        result = PartResult("trainings", [])
        self._note(result)
        begun_s = time.monotonic()
        troubles: list[str] = []
        for session in chosen:
            self._say(f"training: {session.name} …")
            try:
                row = sessions.run(session, self._deadline, options.limit_s(session.seconds))
                result.rows.append(row)
                troubles += [f"{session.name} was left out: the time was up."] if "left_out" in row else []
            except Exception as error:
                troubles.append(f"{session.name}: {failure_sentence(error)}")
            result.took_s = round(time.monotonic() - begun_s, 2)
            result.trouble = " ".join(troubles)
            self._write()

    def _refusal_to_train(self, target: Target) -> str:
        """Why no training may be started: somebody works on the GPU, and running out of memory would hit him too."""
        busy: list[str] = []

        def look(_deadline: Deadline) -> Iterator[Row]:
            busy.append(occupied(target.caller, target.handle, target.machine))
            yield {}

        if self.is_hung:
            return "The driver has not answered."
        looked = run_part("is the GPU free", look, self._deadline, 5.0)
        self.is_hung |= looked.is_hung
        if not busy:
            return "The driver does not say whether somebody works on the GPU."
        return f"The GPU is not free, and they would get in the way of others: {busy[0]}" if busy[0] else ""

    def _note_recording(self, row: Row, path: str) -> None:
        rows = [row]
        trouble = row["trouble"]
        if os.path.exists(path):
            try:
                rows += [{"replayed_run": run} for run in replayed_runs(path)]
            except Exception as error:
                trouble = trouble or f"The recording cannot be replayed. {failure_sentence(error)}"
        self._note(PartResult("recording", rows, trouble=trouble))

    def _note(self, result: PartResult) -> None:
        """Keep a result, and write what there is so far: a machine may well be taken away in the middle."""
        assert self.report is not None
        self.report.parts.append(result)
        self._write()

    def _write(self) -> None:
        assert self.report is not None
        self.report.took_s = round(time.monotonic() - self._begun_s, 1)
        self.report.write()


def _without_prefixes(torch: Torch) -> Row:
    return {name: value for name, value in dataclasses.asdict(torch).items() if name != "prefixes"}


def _no_cuda(torch: Torch) -> str:
    return "" if torch.cuda else "Torch finds no GPU: the trainings ran on the CPU, small, and prove the script only."
