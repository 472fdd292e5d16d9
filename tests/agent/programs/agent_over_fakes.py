"""The real agent process over fake sources. The first argument is the interval, the second what is odd about it."""

from __future__ import annotations

import sys
import time

sys.path.insert(0, __file__.split("/tests/")[0])

import msgspec

from monitor.agent import main
from monitor.agent.options import AgentOptions
from monitor.clock import Clock
from monitor.types.gpu import GpuSample
from monitor.types.requests import Watch
from tests.agent.fake_sources import FakeGpus, FakeHost, FakeProcesses, FakeSteps


class LargeGpus(FakeGpus):
    """64 GPUs that say so much that a pipe is soon full."""

    def read(self, watch: Watch) -> tuple[GpuSample, ...]:
        first = super().read(watch)[0]
        return tuple(msgspec.structs.replace(first, uuid=f"GPU-{n}", state_detail="x" * 2000) for n in range(64))


class HangingGpus(FakeGpus):
    """Never returns from its second reading, as a call into a sick driver does not."""

    def read(self, watch: Watch) -> tuple[GpuSample, ...]:
        if self.watched:
            time.sleep(600)
        return super().read(watch)


GPUS = {"plain": FakeGpus, "large": LargeGpus, "hanging": HangingGpus}


def fake_sources(options: AgentOptions, clock: Clock) -> main.Sources:
    print("a library that prints", flush=True)
    return main.Sources(GPUS[sys.argv[2]](), FakeProcesses(), FakeHost(), FakeSteps())


if __name__ == "__main__":
    main.build_sources = fake_sources
    main.run_agent(AgentOptions(interval_s=float(sys.argv[1])))
