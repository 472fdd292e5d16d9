from __future__ import annotations

import itertools

import msgspec
import pytest

from monitor.clock import ManualClock
from monitor.simulation.node import SimulatedNode
from monitor.simulation.plans import Profile
from monitor.simulation.profiles import DEFAULT_PROFILE, EIGHT, LOST, MIG, NEAR_OOM, ONE, PROFILES, SHARED, THROTTLED
from monitor.simulation.run import PID_FLOOR
from monitor.sources import GpuSource, HostSource, ProcessReading, ProcessSource, StepSource, TailReading
from monitor.steps.fusion import StepFusion
from monitor.stream.codec import MessageDecoder, encode
from monitor.types.facts import ProcessFacts
from monitor.types.gpu import GpuSample
from monitor.types.identity import ProcessIdentity
from monitor.types.messages import Facts, Hello, Message, Snapshot
from monitor.types.process import DiskSample, HostSample, Pairing, ProcessEnd, ProcessSample
from monitor.types.requests import Watch
from monitor.types.steps import StepEvent

WATCH = Watch(view="overview")
TICKS = 600


class Watched:
    """All that one simulated node says over a number of one-second ticks."""

    def __init__(self, profile: Profile, seed: int = 1, ticks: int = TICKS) -> None:
        self.clock = ManualClock()
        self.node = SimulatedNode(profile, seed, self.clock, user="you")
        processes, steps = self.node.processes(None), self.node.steps(None)
        host = self.node.host(None)
        self.snapshots: list[Snapshot] = []
        self.facts: tuple[ProcessFacts, ...] = ()
        for sequence in range(ticks):
            gpus = self.node.gpus.read(WATCH)
            pids = frozenset(process.pid for gpu in gpus for process in gpu.processes)
            reading = processes.read(pids)
            self.facts = reading.facts
            self.snapshots.append(
                Snapshot(
                    taken_s=self.clock.wall_s(),
                    boot_s=self.clock.boot_s(),
                    sequence=sequence,
                    gpus=gpus,
                    processes=reading.samples,
                    pairings=processes.pair(gpus),
                    host=host.read(("/home/you/sft",)),
                    steps=steps.read(reading.facts),
                    ended=reading.ended,
                )
            )
            self.clock.advance(1.0)

    def gpu(self, place: int) -> list[GpuSample]:
        return [snapshot.gpus[place] for snapshot in self.snapshots]

    def ends(self) -> list[ProcessEnd]:
        return [end for snapshot in self.snapshots for end in snapshot.ended]

    def events(self, pid: int) -> list[StepEvent]:
        return [
            event
            for snapshot in self.snapshots
            for event in snapshot.steps
            if event.process is not None and event.process.pid == pid
        ]


@pytest.fixture(scope="module", params=sorted(PROFILES))
def watched(request: pytest.FixtureRequest) -> Watched:
    profile = PROFILES[request.param]
    return Watched(profile, ticks=60 if len(profile.gpus) > 16 else TICKS)


def test_profiles_are_named_by_their_key_and_the_default_exists() -> None:
    assert all(profile.name == name and profile.sentence for name, profile in PROFILES.items())
    assert DEFAULT_PROFILE in PROFILES
    wanted = {"one", "eight", "shared", "near-oom", "lost", "throttled", "sixteen", "sixty-four", "mig", "unified"}
    assert wanted <= set(PROFILES)


def test_plans_agree_with_their_profile() -> None:
    for profile in PROFILES.values():
        for run in profile.runs:
            assert all(0 <= gpu < len(profile.gpus) for gpu in run.gpus), run.name
            assert run.argv, run.name
            if run.evaluate_every and run.save_every:
                assert run.save_every % run.evaluate_every == 0, run.name


def test_the_node_serves_the_protocols_of_the_agent() -> None:
    node = SimulatedNode(ONE, 1, ManualClock())
    gpus: GpuSource = node.gpus
    processes: ProcessSource = node.processes(None)
    steps: StepSource = node.steps(None)
    host: HostSource = node.host(None)
    assert gpus.open().state == "ok"
    assert processes.read(frozenset()).samples
    assert steps.read(()) != ()
    assert host.read(()).cpu_count == ONE.cpu_count


def test_the_same_seed_says_the_same_and_another_does_not() -> None:
    first, again, other = (Watched(EIGHT, seed, ticks=40).snapshots for seed in (7, 7, 8))
    assert first == again
    assert first != other


def test_figures_depend_on_the_time_and_not_on_how_often_somebody_looks() -> None:
    seldom_clock, often_clock = ManualClock(), ManualClock()
    seldom, often = SimulatedNode(THROTTLED, 3, seldom_clock), SimulatedNode(THROTTLED, 3, often_clock)
    often.gpus.read(WATCH)
    for _ in range(40):
        often_clock.advance(0.75)
        often.gpus.read(WATCH)
    seldom_clock.advance(30.0)
    assert seldom.gpus.read(WATCH) == often.gpus.read(WATCH)


def test_all_messages_survive_the_stream(watched: Watched) -> None:
    info = watched.node.gpus.info()
    hello = Hello(taken_s=1.0, boot_s=1.0, simulated=True, gpus=info.gpus, links=info.links)
    facts = Facts(taken_s=1.0, boot_s=1.0, processes=watched.facts)
    sent: list[Message] = [hello, facts, watched.snapshots[0], watched.snapshots[-1]]
    assert MessageDecoder().feed(b"".join(encode(message) for message in sent)) == sent


def test_power_memory_and_temperature_stay_within_their_limits(watched: Watched) -> None:
    identities = {identity.uuid: identity for identity in watched.node.gpus.info().gpus}
    for snapshot in watched.snapshots:
        for gpu in snapshot.gpus:
            if gpu.state != "ok":
                continue
            assert gpu.memory_used_bytes is not None
            assert gpu.memory_free_bytes is not None
            assert gpu.memory_reserved_bytes is not None
            parts = gpu.memory_used_bytes + gpu.memory_free_bytes + gpu.memory_reserved_bytes
            assert parts == gpu.memory_total_bytes
            assert min(gpu.memory_used_bytes, gpu.memory_free_bytes) >= 0
            listed = sum(process.used_memory_bytes or 0 for process in gpu.processes)
            assert listed + (gpu.unattributed_bytes or 0) == gpu.memory_used_bytes
            assert gpu.gpu_util_ratio is None or 0.0 <= gpu.gpu_util_ratio <= 1.0
            if gpu.power_w is not None and gpu.power_limit_w is not None:
                assert 5.0 < gpu.power_w <= gpu.power_limit_w * 1.05
            shutdown_c = identities[gpu.uuid].temperature_shutdown_c
            if gpu.temperature_c is not None and shutdown_c is not None:
                assert 25.0 <= gpu.temperature_c < shutdown_c


def test_counters_never_fall(watched: Watched) -> None:
    for before, after in itertools.pairwise(watched.snapshots):
        for old, new in zip(before.gpus, after.gpus, strict=True):
            if old.energy_j is not None and new.energy_j is not None:
                assert new.energy_j > old.energy_j
            told = {time.reason: time.total_s for time in new.throttle_times}
            assert all(told[time.reason] >= time.total_s for time in old.throttle_times)
        cpu_s = {sample.process: sample.cpu_s or 0.0 for sample in after.processes}
        for sample in before.processes:
            assert cpu_s.get(sample.process, float("inf")) >= (sample.cpu_s or 0.0)


def test_energy_is_power_over_time() -> None:
    watched = Watched(EIGHT, ticks=200)
    for place in range(8):
        samples = watched.gpu(place)
        energy_j = (samples[-1].energy_j or 0.0) - (samples[0].energy_j or 0.0)
        power_w = sum(sample.power_w or 0.0 for sample in samples[1:])
        assert energy_j == pytest.approx(power_w, rel=0.02)


def test_a_held_down_gpu_has_a_lower_clock(watched: Watched) -> None:
    maximum = {identity.uuid: identity.sm_max_mhz for identity in watched.node.gpus.info().gpus}
    for snapshot in watched.snapshots:
        for gpu in snapshot.gpus:
            top = maximum[gpu.uuid]
            if gpu.throttle and gpu.sm_mhz is not None and top is not None:
                assert gpu.sm_mhz < top, gpu.throttle


def test_no_pid_could_be_a_real_one_and_each_belongs_to_a_known_process(watched: Watched) -> None:
    for snapshot in watched.snapshots:
        samples = {sample.process.pid for sample in snapshot.processes}
        assert all(pid >= PID_FLOOR > 2**22 for pid in samples)
        assert len(samples) == len(snapshot.processes)
        paired = {pairing.driver_pid: pairing for pairing in snapshot.pairings}
        for gpu in snapshot.gpus:
            for process in gpu.processes:
                assert process.pid in samples
                pairing = paired[process.pid]
                assert pairing.process is not None
                assert pairing.process.pid == process.pid
                assert pairing.detail == "simulated"
    assert all(fact.why == "simulated" for fact in watched.facts)


def test_steps_rise_to_no_more_than_their_total(watched: Watched) -> None:
    latest: dict[ProcessIdentity, float] = {}
    for snapshot in watched.snapshots:
        for event in snapshot.steps:
            if event.step is None or event.process is None or event.source != "tqdm":
                continue
            assert event.total is not None
            assert latest.get(event.process, 0.0) <= event.step <= event.total
            latest[event.process] = event.step


def test_facts_that_did_not_change_are_the_same_objects() -> None:
    clock = ManualClock()
    processes = SimulatedNode(EIGHT, 1, clock).processes(None)
    first = processes.read(frozenset()).facts
    clock.advance(1.0)
    assert all(old is new for old, new in zip(first, processes.read(frozenset()).facts, strict=True))


def test_eight_is_the_storyboard() -> None:
    watched = Watched(EIGHT, ticks=300)
    last = watched.snapshots[-1]
    hot, free = last.gpus[6], last.gpus[7]
    assert "sw_thermal" in hot.throttle
    assert (hot.temperature_c or 0) >= 85
    assert (hot.sm_mhz or 0) < 1600 < (last.gpus[1].sm_mhz or 0)
    assert free.processes == ()
    assert free.throttle == ("idle",)
    assert 65 <= (free.power_w or 0) <= 85
    ranks = [fact for fact in watched.facts if fact.kind == "training" and "llama3-8b-sft" in fact.argv]
    assert [value.value for fact in ranks for value in fact.environment if value.name == "RANK"] == list("012345")
    assert all(fact.parent is not None and fact.mine and fact.user == "you" for fact in ranks)
    assert {sample.state for sample in last.processes} >= {"D", "R", "S"}


def test_utilisation_dips_and_memory_stays_while_a_run_evaluates() -> None:
    watched = Watched(ONE, ticks=120)
    util = [gpu.gpu_util_ratio or 0.0 for gpu in watched.gpu(0)]
    assert max(util) > 0.8
    assert any(0.4 < value < 0.65 for value in util)
    memory = [gpu.memory_used_bytes or 0 for gpu in watched.gpu(0)]
    assert memory == sorted(memory)
    assert len(set(memory)) == 2
    assert "evaluating" in {event.phase for event in watched.events(watched.node.runs()[0].main.pid)}


def test_a_run_that_starts_loads_its_weights_and_warms_its_gpu_with_a_lag() -> None:
    clock = ManualClock()
    node = SimulatedNode(SHARED, 1, clock)
    clock.advance(43.0)
    samples = []
    for _ in range(60):
        samples.append(node.gpus.read(WATCH)[7])
        clock.advance(0.5)
    memory = [sample.memory_used_bytes or 0 for sample in samples]
    assert memory == sorted(memory)
    assert len(set(memory)) >= 5
    power = [sample.power_w or 0.0 for sample in samples]
    begun = next(place for place, watts in enumerate(power) if watts > 250)
    heat = [sample.temperature_c or 0.0 for sample in samples]
    assert heat[begun] < heat[0] + 4
    assert heat[-1] > heat[begun] + 5


def test_near_oom_grows_to_the_limit_and_ends_with_out_of_memory() -> None:
    watched = Watched(NEAR_OOM, ticks=140)
    used = [gpu.memory_used_bytes or 0 for gpu in watched.gpu(1)]
    total = watched.gpu(1)[0].memory_total_bytes or 0
    assert used[0] < 0.82 * total
    assert 0.975 * total < used[119]
    assert used[121] < 0.01 * total
    ended = [event for snapshot in watched.snapshots for event in snapshot.steps if event.ended]
    assert [event.ended for event in ended] == ["error", "out_of_memory"]
    tails = [end.tail for end in watched.ends() if end.tail]
    assert len(tails) == 1
    assert "out of memory" in tails[0][-1]
    assert {end.process.pid for end in watched.ends()}.isdisjoint(
        sample.process.pid for sample in watched.snapshots[-1].processes
    )


def test_lost_gpu_says_xid_79_and_its_run_hangs_then_ends() -> None:
    watched = Watched(LOST, ticks=100)
    before, after = watched.gpu(2)[19], watched.gpu(2)[21]
    assert (before.state, after.state) == ("ok", "lost")
    assert [event.xid for event in after.xids] == [79]
    assert after.power_w is None
    assert not after.processes_known
    assert {missing.reason for missing in after.missing} == {"lost"}
    assert watched.gpu(1)[60].state == "ok"
    assert watched.gpu(1)[60].gpu_util_ratio == 1.0
    assert any(not ability.works for ability in watched.node.gpus.info().abilities)
    run = watched.node.runs()[1]
    steps = [event for snapshot in watched.snapshots[22:90] for event in snapshot.steps]
    assert not any(event.process == run.main.facts.process and event.step is not None for event in steps)
    assert {end.process.pid for end in watched.ends()} == {process.pid for process in run.processes}


def test_throttled_shows_each_reason_and_counts_its_time() -> None:
    watched = Watched(THROTTLED, ticks=300)
    reasons = [gpu.throttle for gpu in watched.snapshots[-1].gpus]
    assert reasons == [(), ("sw_thermal",), ("hw_slowdown", "hw_thermal"), ("power_cap",)]
    times = {time.reason: time.total_s for time in watched.gpu(3)[-1].throttle_times}
    assert 200 < times["power_cap"] <= 300


def test_shared_has_forty_processes_of_several_users_and_a_queue() -> None:
    watched = Watched(SHARED, ticks=250)
    assert max(len(snapshot.processes) for snapshot in watched.snapshots) == 40
    assert {fact.user for fact in watched.facts} >= {"you", "bob", "carol", "dave", "erin"}
    assert {fact.kind for fact in watched.facts} >= {"training", "serving", "notebook", "launcher", "worker"}
    notebook = watched.gpu(3)[-1]
    assert notebook.gpu_util_ratio == 0.0
    assert (notebook.memory_used_bytes or 0) > 20 * 1024**3
    assert len({process.pid for gpu in watched.gpu(7) for process in gpu.processes}) >= 3
    assert len(watched.ends()) >= 2


def test_nothing_is_told_of_another_users_environment_and_files() -> None:
    watched = Watched(SHARED, ticks=2)
    others = [fact for fact in watched.facts if not fact.mine]
    assert others
    assert not any(fact.environment or fact.open_files for fact in others)


def test_mig_slices_belong_to_their_parent_and_tell_no_utilisation() -> None:
    watched = Watched(MIG, ticks=5)
    identities = watched.node.gpus.info().gpus
    slices = [identity for identity in identities if identity.mig_parent_uuid]
    assert {identity.mig_parent_uuid for identity in slices} == {identities[1].uuid}
    assert identities[1].mig_enabled
    assert [identity.index for identity in slices] == [0, 1]
    sample = watched.gpu(2)[-1]
    assert sample.gpu_util_ratio is None
    assert any(missing.field == "gpu_util_ratio" for missing in sample.missing)
    assert sample.processes[0].gpu_instance_id == slices[0].gpu_instance_id
    assert (watched.gpu(1)[-1].power_w or 0) > 300


def test_dear_figures_come_only_where_they_are_shown() -> None:
    node = SimulatedNode(EIGHT, 1, ManualClock())
    uuid = node.gpus.info().gpus[1].uuid
    plain = node.gpus.read(WATCH)
    shown = node.gpus.read(Watch(view="gpu", gpu_uuids=(uuid,)))
    assert all(gpu.gpm is None and gpu.pcie is not None and gpu.pcie.received_bytes_per_s is None for gpu in plain)
    assert [gpu.uuid for gpu in shown if gpu.gpm is not None] == [uuid]
    assert shown[1].pcie is not None
    assert (shown[1].pcie.received_bytes_per_s or 0) > 0


def test_released_gpus_are_gone_until_taken_again() -> None:
    node = SimulatedNode(EIGHT, 1, ManualClock())
    node.gpus.release()
    assert node.gpus.info().state == "released"
    assert node.gpus.read(WATCH) == ()
    assert len(node.gpus.open().gpus) == 8
    assert len(node.gpus.read(WATCH)) == 8


def test_the_tail_of_a_run_ends_with_its_bar_and_other_users_are_refused() -> None:
    watched = Watched(EIGHT, ticks=3)
    steps = watched.node.steps(None)
    tail = steps.tail(watched.node.runs()[1].main.facts.process, 2000)
    assert "/40000 [" in tail.lines[-1]
    assert all("'loss'" in line for line in tail.lines[:-1])
    assert 5 < len(tail.lines) <= 22
    shared = Watched(SHARED, ticks=1)
    hidden = next(run for run in shared.node.runs() if not run.plan.readable)
    assert shared.node.steps(None).tail(hidden.main.facts.process, 2000).refused
    assert steps.tail(ProcessIdentity(pid=4711, start_ticks=1), 2000).refused


def test_readings_of_a_simulated_run_meet_as_those_of_a_real_one() -> None:
    watched = Watched(EIGHT, ticks=400)
    run = watched.node.runs()[1]
    fusion = StepFusion()
    seen: set[str] = set()
    for snapshot in watched.snapshots:
        for event in snapshot.steps:
            if event.process == run.main.facts.process:
                fusion.update(event, snapshot.boot_s)
        reading = fusion.reading(snapshot.taken_s, snapshot.boot_s)
        seen.add(reading.phase)
        assert reading.total == 40_000
        assert reading.step_seconds is not None, "a rate at first sight, from the bar's own clock"
        assert abs(reading.step_seconds - 1.84) < 0.15
        moment = run.moment(snapshot.boot_s - watched.snapshots[0].boot_s)
        assert moment is not None
        assert reading.step == moment.step
    assert seen == {"training", "evaluating"}
    assert {value.name for value in reading.values} >= {"loss", "lr"}


def test_loss_falls_along_a_run() -> None:
    watched = Watched(ONE, ticks=300)
    losses = [
        value.value
        for event in watched.events(watched.node.runs()[0].main.pid)
        for value in event.values
        if value.name == "loss"
    ]
    numbers = [loss for loss in losses if isinstance(loss, float)]
    assert len(numbers) > 50
    assert sum(numbers[-10:]) < 0.8 * sum(numbers[:10])


class RealProcesses:
    """Stands for the real reader: one process, which the driver names too."""

    identity = ProcessIdentity(pid=4711, start_ticks=5)

    def __init__(self) -> None:
        self.asked: frozenset[int] = frozenset()

    def read(self, gpu_pids: frozenset[int]) -> ProcessReading:
        self.asked = gpu_pids
        return ProcessReading(
            samples=(ProcessSample(process=self.identity),), facts=(ProcessFacts(process=self.identity),)
        )

    def pair(self, gpus: tuple[GpuSample, ...]) -> tuple[Pairing, ...]:
        raise AssertionError("no driver has named these pids: in a container a real reader would not know its own")


class RealSteps:
    def __init__(self) -> None:
        self.seen: tuple[ProcessFacts, ...] = ()

    def read(self, facts: tuple[ProcessFacts, ...]) -> tuple[StepEvent, ...]:
        self.seen = facts
        return (StepEvent(source="tqdm", process=RealProcesses.identity, step=3.0),)

    def tail(self, process: ProcessIdentity, max_bytes: int) -> TailReading:
        return TailReading(path="/real", lines=("real",))


class RealHost:
    def read(self, paths: tuple[str, ...]) -> HostSample:
        return HostSample(disks=tuple(DiskSample(path=path, total_bytes=10, free_bytes=5) for path in paths))


def test_real_readings_are_merged_and_real_readers_are_asked_of_real_things_only() -> None:
    node = SimulatedNode(EIGHT, 1, ManualClock(), user="you")
    inner, inner_steps = RealProcesses(), RealSteps()
    processes = node.processes(inner)
    reading = processes.read(frozenset({4711, PID_FLOOR + 1}))
    assert inner.asked == {4711}
    assert reading.samples[0].process == RealProcesses.identity
    assert len(reading.samples) > 30
    gpus = list(node.gpus.read(WATCH))
    listed = msgspec.structs.replace(gpus[1].processes[0], pid=4711)
    gpus[0] = msgspec.structs.replace(gpus[0], processes=(listed,))
    pairings = processes.pair(tuple(gpus))
    real = [pairing for pairing in pairings if pairing.driver_pid == 4711]
    assert [(pairing.process, pairing.how) for pairing in real] == [(RealProcesses.identity, "same_pid")]
    steps = node.steps(inner_steps)
    events = steps.read(reading.facts)
    assert [fact.process.pid for fact in inner_steps.seen] == [4711]
    assert events[0].step == 3.0
    assert len(events) > 1
    assert steps.tail(RealProcesses.identity, 100).lines == ("real",)
    disks = node.host(RealHost()).read(("/home/you/sft", "/real")).disks
    assert {disk.path: disk.total_bytes == 10 for disk in disks} == {"/home/you/sft": False, "/real": True}
