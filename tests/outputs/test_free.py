"""`traintop free` where GPUs are split, silent, lost or held from elsewhere."""

from __future__ import annotations

from dataclasses import replace

from monitor.chosen_gpus import chosen_gpus
from monitor.history.holders import Holding
from monitor.types.gpu import GpuIdentity, GpuProcess, GpuSample
from monitor.types.messages import Fault, Snapshot
from monitor.types.process import Pairing
from monitor.types.run import Run
from tests.outputs.views import GIB, NOW_S, full_view, hello
from tui.outputs.chosen import not_there, only_gpus
from tui.outputs.doctor import driver_check
from tui.outputs.free import FreeOutput, FreeQuestion, free_output, free_text
from tui.outputs.paint import plain
from tui.outputs.text import gpu_list, picture
from tui.view import View
from tui.widgets.board import Letters, build_board

WHOLE = GpuIdentity(uuid="GPU-0", index=0, name="NVIDIA H100", memory_total_bytes=80 * GIB)
SPLIT = GpuIdentity(uuid="GPU-1", index=1, name="NVIDIA H100", memory_total_bytes=80 * GIB, mig_enabled=True)
PARTS = tuple(
    GpuIdentity(
        uuid=f"MIG-{number}",
        index=number,
        name="H100 MIG 3g.40gb",
        memory_total_bytes=40 * GIB,
        mig_parent_uuid="GPU-1",
    )
    for number in range(2)
)


def seen(gpus: tuple[GpuIdentity, ...], **states: Holding) -> View:
    samples = tuple(GpuSample(uuid=gpu.uuid, memory_used_bytes=0) for gpu in gpus)
    holdings = {gpu.uuid: states.get(gpu.uuid.replace("-", "_"), Holding(state="free")) for gpu in gpus}
    return View(hello=hello(gpus=gpus), snapshot=Snapshot(taken_s=NOW_S, boot_s=20.0, gpus=samples), holdings=holdings)


def words(output: FreeOutput, width: int = 120) -> str:
    return plain(free_text(output, width))


def test_a_process_is_offered_whole_gpus_or_one_instance_never_both() -> None:
    both = free_output(seen((WHOLE, SPLIT, *PARTS)), FreeQuestion())
    assert (both.cuda_visible_devices, both.free_count) == ("GPU-0", 3)
    parts = free_output(seen((WHOLE, SPLIT, *PARTS), GPU_0=Holding(state="held")), FreeQuestion())
    assert parts.cuda_visible_devices == "MIG-0"
    assert "1:0  H100 MIG" in words(parts)
    assert "one MIG instance: CUDA gives no process more than one" in words(parts)
    two = free_output(seen((SPLIT, *PARTS)), FreeQuestion(count=2))
    assert (two.cuda_visible_devices, two.enough) == (None, False)


def test_a_driver_that_does_not_answer_is_no_machine_without_gpus() -> None:
    silent = View(
        hello=hello(gpus=(), driver_state="asking"),
        snapshot=Snapshot(taken_s=NOW_S, boot_s=20.0),
        faults=(
            Fault(taken_s=1, boot_s=1, key="driver", source="driver", sentence="no answer from the driver for 4 s"),
        ),
    )
    assert free_output(silent, FreeQuestion()).error == (
        "It is not known which GPUs are here: no answer from the driver for 4 s."
    )
    assert free_output(replace(silent, faults=()), FreeQuestion()).error == (
        "It is not known which GPUs are here: the driver has not answered yet."
    )


def test_a_holder_in_another_container_is_not_an_unknown_program() -> None:
    view = seen((WHOLE,), GPU_0=Holding(state="held"))
    sample = GpuSample(uuid="GPU-0", processes=(GpuProcess(pid=2721979),))
    pairing = Pairing(gpu_uuid="GPU-0", driver_pid=2721979, how="other_namespace")
    shown = Snapshot(taken_s=NOW_S, boot_s=20.0, gpus=(sample,), pairings=(pairing,))
    assert "pid 2721979, in another container" in words(free_output(replace(view, snapshot=shown), FreeQuestion()))


def test_why_a_gpu_is_not_known_is_said_in_full_also_when_narrow() -> None:
    why = "The GPU is lost: it fell off the bus (look for Xid 79 in the kernel log)"
    text = words(free_output(seen((WHOLE,), GPU_0=Holding(why=why)), FreeQuestion()), 80)
    assert f"0: {why}" in text


def test_a_chosen_gpu_that_is_not_there_is_named() -> None:
    assert not_there(full_view(), ("0", "GPU-2")) == ""
    assert not_there(full_view(), ("mine",)) == ""
    assert not_there(full_view(), ("1", "99")) == "There is no GPU 99 here, but GPUs 0 to 2."
    assert not_there(seen((WHOLE,)), ("7",)) == "There is no GPU 7 here, but GPU 0."


def test_a_look_names_instances_as_free_does_and_explains_what_is_not_well() -> None:
    view = seen((WHOLE, SPLIT, *PARTS))
    lost = GpuSample(uuid="GPU-0", state="lost", state_detail="The GPU is lost: it fell off the bus.")
    shown = Snapshot(
        taken_s=NOW_S,
        boot_s=20.0,
        gpus=(lost, *(GpuSample(uuid=gpu.uuid) for gpu in (SPLIT, *PARTS))),
        pairings=(Pairing(gpu_uuid="MIG-0", driver_pid=7, how="other_namespace", detail="Another pid namespace."),),
    )
    text = plain(picture(replace(view, snapshot=shown), 100), unicode=False)
    assert "1:0  H100 MIG" in text
    assert "its MIG instances" in text
    assert " ! GPU 0: The GPU is lost: it fell off the bus." in text
    assert " ! Another pid namespace." in text
    assert "?" not in text
    assert gpu_list(view, Run(run_id="r", name="r", gpu_uuids=("GPU-0", "MIG-1"))) == "0,1:1"


def test_a_driver_that_has_not_answered_is_said_in_words_by_doctor() -> None:
    assert driver_check(hello(driver_state="asking")).detail == "it has not answered yet"


def test_an_index_names_a_whole_gpu_with_its_instances() -> None:
    gpus = (WHOLE, SPLIT, *PARTS)
    assert chosen_gpus(gpus, ("0",)) == (WHOLE,), "not the instance 0 of another GPU"
    assert chosen_gpus(gpus, ("1",)) == (SPLIT, *PARTS)
    assert chosen_gpus(gpus, ("MIG-1",)) == PARTS[1:]
    assert chosen_gpus(gpus, ("GPU-", "")) == (), "the beginning of every UUID names none"


def test_the_screen_and_the_outputs_mean_the_same_gpus() -> None:
    view = seen((WHOLE, SPLIT, *PARTS))
    for names in (("0",), ("1",), ("MIG-1",), ("mine",), ("7",)):
        shown = only_gpus(view, names)
        assert shown.hello is not None
        assert tuple(row.identity for row in build_board(view, Letters(), names).gpus) == shown.hello.gpus, names
