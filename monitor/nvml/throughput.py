"""PCIe throughput: the one call that blocks by design (20 ms each). A thread of its own makes it, while it is shown."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from monitor.clock import Clock
from monitor.nvml.calls import Call, Caller, Question
from monitor.nvml.errors import Refusal

_KILOBYTE = 1000.0
_OLD_AFTER_S = 5.0


def run_in_thread(work: Callable[[], None]) -> None:
    """Start `work` on a daemon thread."""
    threading.Thread(target=work, name="nvml-pcie", daemon=True).start()


class PcieMeter:
    """Received and transmitted bytes per second of the GPUs that are shown. At most one measurement runs at a time."""

    def __init__(
        self, caller: Caller, clock: Clock, start: Callable[[Callable[[], None]], None] = run_in_thread
    ) -> None:
        self._caller = caller
        self._clock = clock
        self._start = start
        self._lock = threading.Lock()
        self._running = False
        self._questions: dict[str, Question] = {}
        self._measured: dict[str, tuple[float, float, float]] = {}

    def measure(self, shown: tuple[tuple[str, Any], ...]) -> None:
        """Begin to measure these (uuid, handle), unless the last measurement is still going on."""
        with self._lock:
            if self._running or not shown:
                return
            self._running = True
        self._start(lambda: self._measure(shown))

    def value(self, uuid: str, now_s: float) -> tuple[float | None, float | None]:
        """Received and transmitted bytes per second of the last measurement, unless it is old."""
        with self._lock:
            measured = self._measured.get(uuid)
        if measured is None or now_s - measured[2] > _OLD_AFTER_S:
            return None, None
        return measured[0], measured[1]

    def _measure(self, shown: tuple[tuple[str, Any], ...]) -> None:
        try:
            for uuid, handle in shown:
                rates: list[float] = []
                for counter in (1, 0):  # received, transmitted
                    key = f"{uuid}/{counter}"
                    question = self._questions.setdefault(
                        key, Question((Call("nvmlDeviceGetPcieThroughput", (counter,)),))
                    )
                    answer = self._caller.ask(question, handle, self._clock.boot_s())
                    if isinstance(answer, Refusal):
                        break
                    rates.append(answer * _KILOBYTE)
                if len(rates) == 2:
                    with self._lock:
                        self._measured[uuid] = (rates[0], rates[1], self._clock.boot_s())
        finally:
            with self._lock:
                self._running = False
