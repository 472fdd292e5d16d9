"""What may leave the machine: invented names, and of processes only our own trainings."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.on_gpu.anonymous import BOOT_ID, HOST, USER, Names, StreamFilter
from monitor.stream.codec import encode
from monitor.types.facts import Container, EnvironmentVariable, ProcessFacts
from monitor.types.gpu import GpuProcess, GpuSample
from monitor.types.identity import ProcessIdentity
from monitor.types.messages import Facts, Fault, Hello, Message, Snapshot, Text
from monitor.types.process import DiskSample, HostSample, Pairing, ProcessEnd, ProcessSample
from monitor.types.steps import StepEvent

OURS, CHILD, THEIRS = (ProcessIdentity(pid=pid, start_ticks=1) for pid in (100, 101, 200))
UUID = "GPU-12345678-9abc-def0-1234-56789abcdef0"
PATHS = (("/home/erika/src/traintop", "/home/user/traintop"), ("/home/erika", "/home/user"))


def names() -> Names:
    return Names(PATHS, (("secret-host", HOST), ("erika", USER)))


def stream_filter() -> StreamFilter:
    return StreamFilter(names(), lambda pid: pid == OURS.pid)


def test_paths_words_and_uuids() -> None:
    known = names()
    assert known.text("/home/erika/src/traintop/x.py") == "/home/user/traintop/x.py"
    assert known.text("/home/erika/data on secret-host by erika") == "/home/user/data on gpu-node by user"
    assert known.text("/home/erikab, erikas, Erika") == "/home/erikab, erikas, Erika"
    first = known.text(f"CUDA_VISIBLE_DEVICES={UUID}")
    assert first == "CUDA_VISIBLE_DEVICES=GPU-00000000-0000-4000-8000-000000000000"
    assert known.value({UUID: [UUID, {"a": (UUID, 3)}]}) == {UUID: [first[21:], {"a": [first[21:], 3]}]}
    other = known.text(UUID.replace("GPU-1", "GPU-2"))
    assert other.endswith("1"), "another GPU stays another"


@given(st.text(), st.text())
def test_a_name_is_found_in_any_surroundings(before: str, after: str) -> None:
    shown = names().text(f"{before} erika {after} {UUID} /home/erika/x")
    assert " erika " not in shown
    assert UUID not in shown
    assert "/home/erika/" not in shown


def test_hello_is_of_an_invented_machine() -> None:
    hello = Hello(taken_s=1.0, boot_s=2.0, host="secret-host", user="erika", boot_id="0c0ffee0")
    kept = stream_filter().filtered(hello)
    assert isinstance(kept, Hello)
    assert (kept.host, kept.user, kept.boot_id) == (HOST, USER, BOOT_ID)


def test_only_our_processes_stay() -> None:
    kept = stream_filter()
    facts = Facts(
        taken_s=1.0,
        boot_s=2.0,
        processes=(
            ProcessFacts(
                process=OURS,
                user="erika",
                argv=("python", "/home/erika/src/traintop/train.py"),
                container=Container(runtime="docker", container_id="abc", name="erika-box"),
                environment=(
                    EnvironmentVariable(name="SLURM_JOB_NAME", value="thesis"),
                    EnvironmentVariable(name="CUDA_VISIBLE_DEVICES", value=UUID),
                ),
            ),
            ProcessFacts(process=CHILD, parent=OURS, user="erika"),
            ProcessFacts(process=THEIRS, user="otto", argv=("python", "--token", "hush")),
        ),
    )
    out = kept.filtered(facts)
    assert isinstance(out, Facts)
    assert [fact.process for fact in out.processes] == [OURS, CHILD]
    first = out.processes[0]
    assert first.argv == ("python", "/home/user/traintop/train.py")
    assert first.container == Container(runtime="docker")
    assert [variable.name for variable in first.environment] == ["CUDA_VISIBLE_DEVICES"]
    assert kept.filtered(Facts(taken_s=1.0, boot_s=2.0, processes=(facts.processes[2],))) is None

    tick = Snapshot(
        taken_s=1.0,
        boot_s=2.0,
        gpus=(GpuSample(uuid=UUID, processes=(GpuProcess(pid=THEIRS.pid),)),),
        processes=tuple(ProcessSample(process=process) for process in (OURS, CHILD, THEIRS)),
        pairings=tuple(Pairing(gpu_uuid=UUID, driver_pid=part.pid, process=part) for part in (OURS, THEIRS)),
        host=HostSample(disks=tuple(DiskSample(path=path, total_bytes=1, free_bytes=1) for path in ("/x", "/dev/shm"))),
        steps=tuple(StepEvent(process=process, source="tqdm") for process in (OURS, THEIRS)),
        ended=tuple(ProcessEnd(process=process, seen_s=1.0, tail=("by erika",)) for process in (CHILD, THEIRS)),
    )
    seen = kept.filtered(tick)
    assert isinstance(seen, Snapshot)
    assert [sample.process for sample in seen.processes] == [OURS, CHILD]
    assert [pairing.driver_pid for pairing in seen.pairings] == [OURS.pid]
    assert [event.process for event in seen.steps] == [OURS]
    assert [(end.process, end.tail) for end in seen.ended] == [(CHILD, ("by user",))]
    assert seen.host is not None
    assert [disk.path for disk in seen.host.disks] == ["/dev/shm"]
    assert seen.gpus[0].processes[0].pid == THEIRS.pid, "what the driver lists is kept"
    assert UUID.encode() not in encode(seen)


def test_a_pid_that_is_used_again_is_another_process() -> None:
    kept = stream_filter()
    again = ProcessIdentity(pid=OURS.pid, start_ticks=9)
    first, second = (
        kept.filtered(Facts(taken_s=1.0, boot_s=2.0, processes=(ProcessFacts(process=process, argv=("hush",)),)))
        for process in (OURS, again)
    )
    assert first is not None
    assert second is None


def test_texts_and_faults_of_others_go() -> None:
    kept = stream_filter()
    gone: list[Message] = [
        Text(taken_s=1.0, boot_s=2.0, process=THEIRS, lines=("hush",)),
        Fault(
            taken_s=1.0, boot_s=2.0, key="a", source="steps", sentence="/home/otto/log cannot be read", process=THEIRS
        ),
        Fault(taken_s=1.0, boot_s=2.0, key="b", source="processes", sentence="otto"),
    ]
    assert [kept.filtered(message) for message in gone] == [None, None, None]
    fault = Fault(taken_s=1.0, boot_s=2.0, key="c", source="driver", sentence=f"{UUID} is lost")
    shown = kept.filtered(fault)
    assert isinstance(shown, Fault)
    assert UUID not in shown.sentence
