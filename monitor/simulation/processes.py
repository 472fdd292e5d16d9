"""Simulated processes beside the real ones; implements `monitor.sources.ProcessSource`."""

from __future__ import annotations

from collections.abc import Callable

from monitor.clock import Clock
from monitor.simulation.log_text import tail_lines
from monitor.simulation.noise import noise
from monitor.simulation.run import PID_FLOOR, SimulatedProcess, SimulatedRun
from monitor.simulation.timeline import Moment
from monitor.sources import ProcessReading, ProcessSource
from monitor.types.facts import ProcessFacts
from monitor.types.gpu import GpuSample
from monitor.types.identity import ProcessIdentity
from monitor.types.process import Pairing, ProcessEnd, ProcessSample

_MARK = "simulated"
_END_TAIL_LINES = 40


class SimulatedProcesses:
    """Merges what an inner source reads with the processes of the simulated runs."""

    def __init__(
        self,
        clock: Clock,
        elapsed_s: Callable[[], float],
        runs: Callable[[], tuple[SimulatedRun, ...]],
        inner: ProcessSource | None,
    ) -> None:
        self._clock = clock
        self._elapsed_s = elapsed_s
        self._runs = runs
        self._inner = inner
        self._alive: dict[int, SimulatedRun] = {}
        self._real: dict[int, ProcessIdentity] = {}

    def read(self, gpu_pids: frozenset[int]) -> ProcessReading:
        """Real processes first, then those of the runs that live now."""
        real = ProcessReading()
        if self._inner is not None:
            real = self._inner.read(frozenset(pid for pid in gpu_pids if pid < PID_FLOOR))
        self._real = {sample.process.pid: sample.process for sample in real.samples}
        at_s = self._elapsed_s()
        samples: list[ProcessSample] = list(real.samples)
        facts: list[ProcessFacts] = list(real.facts)
        alive: dict[int, SimulatedRun] = {}
        for run in self._runs():
            moment = run.moment(at_s)
            if moment is None:
                continue
            alive[run.main.pid] = run
            age_s = at_s - run.plan.starts_s
            for process in run.processes:
                samples.append(_sample(run, process, moment, age_s))
                facts.append(process.facts)
        ended = [*real.ended, *self._ends(alive)]
        self._alive = alive
        return ProcessReading(samples=tuple(samples), facts=tuple(facts), ended=tuple(ended))

    def pair(self, gpus: tuple[GpuSample, ...]) -> tuple[Pairing, ...]:
        """Every pid here is one of ours: simulated, or of a real process that was put on a simulated GPU.

        No driver has named them, so it does not matter in which pid namespace we are.
        """
        known = {process.pid: process.facts.process for run in self._runs() for process in run.processes}
        known.update(self._real)
        return tuple(
            Pairing(
                gpu_uuid=gpu.uuid,
                driver_pid=process.pid,
                process=known.get(process.pid),
                how="same_pid" if process.pid in known else "gone",
                detail=_MARK,
            )
            for gpu in gpus
            for process in gpu.processes
        )

    def _ends(self, alive: dict[int, SimulatedRun]) -> list[ProcessEnd]:
        """Runs that were there at the last reading and are not now."""
        now_s, at_s = self._clock.wall_s(), self._elapsed_s()
        ends: list[ProcessEnd] = []
        for pid, run in self._alive.items():
            if pid in alive:
                continue
            tail = tail_lines(run, run.ends_s, _END_TAIL_LINES) if run.plan.readable else ()
            seen_s = now_s - max(0.0, at_s - run.ends_s)
            ends.extend(
                ProcessEnd(process=process.facts.process, seen_s=seen_s, tail=tail if process is run.main else ())
                for process in run.processes
            )
        return ends


def _sample(run: SimulatedRun, process: SimulatedProcess, moment: Moment, age_s: float) -> ProcessSample:
    """Counters go evenly with age, so that they never fall; the share of a moment trembles around that."""
    waits = run.plan.waits_for_disk
    busy = process.cpu_ratio * (0.4 if moment.phase in ("saving", "starting") else 1.0)
    cpu_ratio = max(0.0, busy * (1.0 + 0.06 * noise(process.seed, int(age_s))))
    mine = process.facts.mine
    return ProcessSample(
        process=process.facts.process,
        parent_pid=process.parent_pid,
        state="D" if waits else ("R" if process.cpu_ratio > 0.5 else "S"),
        cpu_ratio=round(cpu_ratio, 3),
        cpu_s=round(process.cpu_ratio * age_s, 2),
        rss_bytes=process.rss_bytes,
        threads=process.threads,
        read_bytes=int(age_s * 2_000_000) if mine else None,
        written_bytes=int(age_s * 40_000) if mine else None,
        gpu_files_open=process.gpu is not None if mine else None,
    )
