from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.processes.visible_devices import visible_devices
from monitor.types.gpu import GpuIdentity

SAME = tuple(
    GpuIdentity(uuid=f"GPU-{letter * 8}-1111", index=index, name="H100", pci_bus_id=f"00000000:{9 - index:02X}:00.0")
    for index, letter in enumerate("8abc")
)
MIXED = (*SAME[:2], GpuIdentity(uuid="GPU-dddddddd-1111", index=2, name="T4", pci_bus_id="00000000:01:00.0"))
MIG = (
    GpuIdentity(uuid="GPU-88888888-1111", index=0, name="H100", mig_enabled=True),
    GpuIdentity(
        uuid="MIG-aaaa-1",
        index=0,
        name="1g",
        mig_parent_uuid="GPU-88888888-1111",
        gpu_instance_id=7,
        compute_instance_id=0,
    ),
    GpuIdentity(
        uuid="MIG-aabb-2",
        index=1,
        name="1g",
        mig_parent_uuid="GPU-88888888-1111",
        gpu_instance_id=8,
        compute_instance_id=0,
    ),
)


@pytest.mark.parametrize(
    ("visible", "indices"),
    [
        ("2,0", [2, 0]),
        (" 1 , 3 ", [1, 3]),
        ("GPU-aaaa", [1]),
        ("gpu-bbbbbbbb-1111,GPU-8888", [2, 0]),
        ("0,2,-1,1", [0, 2]),
        ("-1", []),
        ("", []),
        ("0,x,1", [0]),
        ("9", []),
        ("GPU-", []),
        (None, [0, 1, 2, 3]),
    ],
)
def test_lists_on_equal_cards(visible: str | None, indices: list[int]) -> None:
    found = visible_devices(SAME, visible)
    assert found.uuids == tuple(SAME[index].uuid for index in indices)
    assert found.certain


def test_mixed_cards_in_the_default_order_are_a_guess() -> None:
    found = visible_devices(MIXED, "2,0")
    assert found.uuids == (MIXED[2].uuid, MIXED[0].uuid)
    assert not found.certain
    assert "CUDA_DEVICE_ORDER" in found.why
    assert not visible_devices(MIXED, None, "FASTEST_FIRST").certain
    assert visible_devices(MIXED, "GPU-dddd").certain


def test_bus_order() -> None:
    found = visible_devices(MIXED, "0,1", "PCI_BUS_ID")
    assert found.certain
    assert found.uuids == (MIXED[2].uuid, MIXED[1].uuid)


@pytest.mark.parametrize(
    ("visible", "uuids"),
    [
        ("MIG-aabb-2", ("MIG-aabb-2",)),
        ("MIG-aab", ("MIG-aabb-2",)),
        ("MIG-aa", ()),
        ("MIG-GPU-88888888-1111/7/0", ("MIG-aaaa-1",)),
        ("MIG-GPU-88888888-1111/9/0", ()),
    ],
)
def test_mig(visible: str, uuids: tuple[str, ...]) -> None:
    found = visible_devices(MIG, visible)
    assert found.uuids == uuids
    assert found.certain


def test_with_mig_on_an_index_is_a_guess() -> None:
    assert not visible_devices(MIG, "0").certain
    assert not visible_devices(MIG, None).certain


def test_an_entry_twice_is_a_guess() -> None:
    found = visible_devices(SAME, "0,0")
    assert not found.certain
    assert "twice" in found.why


@given(st.text(max_size=60))
def test_any_text_gives_known_gpus(text: str) -> None:
    assert set(visible_devices(SAME, text).uuids) <= {gpu.uuid for gpu in SAME}
