from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.agent.chosen_gpus import ChosenGpus
from monitor.agent.driver_sampling import REOPEN_S, DriverSampling
from monitor.agent.faults import FaultBook
from monitor.agent.process_sampling import Ends
from monitor.agent.rounding import rounded_gpu, rounded_step
from monitor.agent.step_sampling import LAST_WORDS_BYTES, LAST_WORDS_LINES, StepSampling, fitted, last_words
from monitor.clock import ManualClock
from monitor.sources import DriverInfo, TailReading
from monitor.stream.codec import MessageDecoder, encode
from monitor.types.facts import ProcessFacts
from monitor.types.gpu import GpuIdentity, GpuLink, GpuProcess, GpuSample, NvLink, PcieLink
from monitor.types.identity import ProcessIdentity
from monitor.types.messages import Fault, Snapshot
from monitor.types.process import ProcessEnd
from monitor.types.requests import Watch
from monitor.types.steps import StepEvent, StepValue
from tests.agent.fake_sources import FakeGpus, FakeSteps, identity


def test_figures_lose_only_the_digits_that_mean_nothing() -> None:
    gpu = GpuSample(
        uuid="GPU-a",
        gpu_util_ratio=0.98765,
        power_w=699.94999,
        memory_used_bytes=12_345_678_901,
        pcie=PcieLink(received_bytes_per_s=123_456.789),
        processes=(GpuProcess(pid=1, gpu_util_ratio=1 / 3),),
    )
    got = rounded_gpu(gpu)
    assert (got.gpu_util_ratio, got.power_w, got.memory_used_bytes) == (0.988, 699.9, 12_345_678_901)
    assert got.pcie is not None
    assert got.pcie.received_bytes_per_s == 123_457
    assert got.processes[0].gpu_util_ratio == 0.333
    assert (got.energy_j, got.temperature_c) == (None, None), "unknown stays unknown"
    assert rounded_gpu(GpuSample(uuid="b", power_w=300.0)) == GpuSample(uuid="b", power_w=300.0)


def test_a_loss_that_is_no_number_survives_the_stream() -> None:
    values = tuple(StepValue(name=str(value), value=value) for value in (math.nan, math.inf, -math.inf, 0.123456789))
    event = rounded_step(StepEvent(source="hf_dict", seen_s=1.23456789, values=values))
    assert [value.value for value in event.values] == ["nan", "inf", "-inf", 0.123456789]
    assert event.seen_s == 1.235
    snapshot = Snapshot(taken_s=1, boot_s=1, steps=(event,))
    assert MessageDecoder().feed(encode(snapshot)) == [snapshot]


@given(st.lists(st.text(max_size=60), max_size=60), st.integers(0, 600))
def test_a_tail_keeps_the_last_lines_that_fit(lines: list[str], max_bytes: int) -> None:
    kept, dropped = fitted(tuple(lines), max_bytes)
    size = sum(len(line.encode()) + 1 for line in kept)
    assert size <= max_bytes
    assert size + dropped >= sum(len(line.encode()) + 1 for line in lines) - 1
    whole = kept[1:] if dropped else kept
    assert tuple(lines)[len(lines) - len(whole) :] == whole
    if not dropped:
        assert kept == tuple(lines)


def test_last_words_are_few_and_say_the_end() -> None:
    words = last_words((*("x" * 300 for _ in range(50)), "CUDA out of memory", " ", ""))
    assert words[-1] == "CUDA out of memory"
    assert len(words) <= LAST_WORDS_LINES
    assert sum(len(line) + 1 for line in words) <= LAST_WORDS_BYTES
    (only,) = last_words(("a" * 10_000 + "the end",))
    assert only.endswith("the end")
    assert len(only) < LAST_WORDS_BYTES
    assert last_words(()) == ()


class ForgetfulSteps(FakeSteps):
    """Knows nothing of a process that it has looked at for the last time."""

    def __init__(self) -> None:
        super().__init__()
        self.forgotten = False

    def read(self, facts: tuple[ProcessFacts, ...]) -> tuple[StepEvent, ...]:
        self.forgotten = True
        return super().read(facts)

    def tail(self, process: ProcessIdentity, max_bytes: int) -> TailReading:
        return TailReading() if self.forgotten else super().tail(process, max_bytes)


@pytest.mark.parametrize("source", [FakeSteps, ForgetfulSteps])
def test_last_words_are_asked_for_before_and_after_the_last_look(source: type[FakeSteps]) -> None:
    ends = Ends(ManualClock())
    ends.add(ProcessEnd(process=identity(5), seen_s=1.0), ProcessFacts(process=identity(5)))
    steps = source()
    steps.lines = ("the end",)
    assert ends.take() == (), "it waits to be heard"
    StepSampling(steps, lambda: (), ends).read()
    assert steps.read_with == [(identity(5),)]
    assert [end.tail for end in ends.take()] == [("the end",)]
    assert ends.take() == ()


def test_a_missing_driver_is_looked_for_again_but_not_at_every_tick() -> None:
    clock = ManualClock()
    gpus = FakeGpus("absent")
    driver = DriverSampling(gpus, clock)
    for _ in range(10):
        assert driver.read() == ()
        clock.advance(1.0)
    assert gpus.opened == 1
    gpus.current = FakeGpus().current
    clock.advance(REOPEN_S)
    assert len(driver.read()) == 2
    assert driver.info is gpus.current
    driver.read()
    assert gpus.opened == 2


def test_gpus_that_were_let_go_of_are_not_touched_until_they_are_taken_again() -> None:
    gpus = FakeGpus()
    driver = DriverSampling(gpus, ManualClock())
    driver.read()
    driver.wants_release = True
    for _ in range(3):
        assert driver.read() == ()
    assert (gpus.released, gpus.opened, len(gpus.watched)) == (1, 1, 1)
    assert driver.info is not None
    assert (driver.info.state, driver.info.driver_version) == ("released", "580.1")
    driver.wants_release = False
    assert len(driver.read()) == 2
    assert driver.info.state == "ok"


class MigGpus(FakeGpus):
    def __init__(self) -> None:
        super().__init__()
        self.current = DriverInfo(
            gpus=(
                *self.current.gpus,
                GpuIdentity(uuid="MIG-1", index=0, name="1g", mig_parent_uuid="GPU-b"),
                GpuIdentity(uuid="MIG-2", index=1, name="1g", mig_parent_uuid="GPU-b"),
            ),
            links=(GpuLink(uuid_a="GPU-a", uuid_b="GPU-b", path="nvlink"),),
        )

    def read(self, watch: Watch) -> tuple[GpuSample, ...]:
        return tuple(GpuSample(uuid=gpu.uuid) for gpu in self.current.gpus)


def _chosen(*names: str) -> tuple[list[str], list[str]]:
    gpus = ChosenGpus(MigGpus(), names)
    info = gpus.open()
    assert gpus.info() is info, "nothing changed, so it is the same object"
    return [gpu.uuid for gpu in info.gpus], [sample.uuid for sample in gpus.read(Watch(view="overview"))]


def test_gpus_are_chosen_by_index_or_uuid_and_bring_their_instances() -> None:
    assert _chosen("0") == (["GPU-a"], ["GPU-a"])
    assert _chosen("1") == (["GPU-b", "MIG-1", "MIG-2"],) * 2
    assert _chosen("MIG-2") == (["MIG-2"],) * 2
    assert _chosen("GPU-a", "GPU-b")[0] == ["GPU-a", "GPU-b", "MIG-1", "MIG-2"]
    assert _chosen("7") == ([], [])


def test_links_to_gpus_that_were_not_chosen_are_left_out() -> None:
    assert ChosenGpus(MigGpus(), ("0",)).open().links == ()
    assert len(ChosenGpus(MigGpus(), ("0", "1")).open().links) == 1


def test_a_fault_is_said_when_it_is_new_or_says_something_new() -> None:
    book = FaultBook()
    fault = Fault(taken_s=1, boot_s=1, key="k", source="driver", sentence="for 3 s")
    assert book.over("k", 1, 1) == ()
    assert book.note(fault) == (fault,)
    assert book.note(msgspec.structs.replace(fault, taken_s=2)) == ()
    longer = msgspec.structs.replace(fault, sentence="for 4 s")
    assert book.note(longer) == (longer,)
    (over,) = book.over("k", 9.0, 5.0)
    assert (over.over, over.key, over.taken_s) == (True, "k", 9.0)
    assert book.over("k", 9, 9) == ()


def test_traffic_counters_lose_the_digits_that_would_be_most_of_a_recording() -> None:
    gpu = GpuSample(
        uuid="GPU-a", nvlink=NvLink(received_bytes=6_176_570_981_365_488, error_count=3), energy_j=12345.678
    )
    shorter = rounded_gpu(gpu)
    assert shorter.nvlink == NvLink(received_bytes=6_176_570_981_000_000, error_count=3)
    assert shorter.energy_j == 12346.0
