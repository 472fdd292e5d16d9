"""Which GPUs a process sees as cuda:0, cuda:1 …, from its CUDA_VISIBLE_DEVICES.

It is the environment at exec: what a script sets later is invisible. The driver's own process list beats all of this.
Source of the rules: the CUDA C++ Programming Guide, "CUDA Environment Variables".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from monitor.types.gpu import GpuIdentity

_OLD_MIG = re.compile(r"MIG-(GPU-[0-9A-Fa-f-]+)/(\d{1,3})/(\d{1,3})")


@dataclass(frozen=True, slots=True)
class VisibleDevices:
    """The GPUs in the order in which the process counts them."""

    uuids: tuple[str, ...]
    certain: bool
    why: str
    """Why this is a guess, or what hid GPUs; empty where there is nothing to say."""


def _cuda_order(gpus: Sequence[GpuIdentity], order: str | None) -> tuple[list[GpuIdentity], str]:
    """The whole GPUs as CUDA counts them without a list, and why that order is a guess (empty when it is none)."""
    whole = sorted((gpu for gpu in gpus if gpu.mig_parent_uuid is None), key=lambda gpu: gpu.index)
    if order == "PCI_BUS_ID":
        if all(gpu.pci_bus_id for gpu in whole):
            whole.sort(key=lambda gpu: (gpu.pci_bus_id or "").lower()[-12:])
        return whole, ""
    if len({gpu.name for gpu in whole}) > 1:
        return whole, "the cards differ and CUDA_DEVICE_ORDER is not PCI_BUS_ID: CUDA puts the fastest first"
    return whole, ""


def _entry(text: str, whole: Sequence[GpuIdentity], gpus: Sequence[GpuIdentity]) -> GpuIdentity | None:
    """The GPU that one entry of the list names; `None` when it is invalid."""
    if re.fullmatch(r"\+?\d{1,6}", text):
        index = int(text)
        return whole[index] if index < len(whole) else None
    lowered = text.lower()
    if lowered.startswith("gpu-"):
        found = [gpu for gpu in whole if gpu.uuid.lower().startswith(lowered)]
        return found[0] if len(found) == 1 else None
    if old := _OLD_MIG.fullmatch(text):
        place = (old[1].lower(), int(old[2]), int(old[3]))
        for gpu in gpus:
            if ((gpu.mig_parent_uuid or "").lower(), gpu.gpu_instance_id, gpu.compute_instance_id) == place:
                return gpu
        return None
    if lowered.startswith("mig-"):
        found = [gpu for gpu in gpus if gpu.mig_parent_uuid and gpu.uuid.lower().startswith(lowered)]
        return found[0] if len(found) == 1 else None
    return None


def visible_devices(gpus: Sequence[GpuIdentity], visible: str | None, order: str | None = None) -> VisibleDevices:
    """The GPUs that a process with this CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER counts, in its order.

    `None` for `visible` means the variable is not set. Reading the list stops at the first invalid entry, as CUDA does.
    """
    whole, guess = _cuda_order(gpus, order)
    if any(gpu.mig_enabled for gpu in whole):
        guess = guess or "MIG is on: CUDA counts instances, not cards"
    if visible is None:
        return VisibleDevices(tuple(gpu.uuid for gpu in whole), not guess, guess)
    entries = [entry.strip() for entry in visible[:4096].split(",")]
    if entries == [""]:
        return VisibleDevices((), True, "CUDA_VISIBLE_DEVICES is empty and hides every GPU")
    uuids: list[str] = []
    by_index = False
    stopped = ""
    for entry in entries:
        gpu = _entry(entry, whole, gpus)
        if gpu is None:
            stopped = f"CUDA stops reading at {entry[:40]!r}"
            break
        if gpu.uuid in uuids:
            return VisibleDevices(tuple(uuids), False, f"{entry[:40]!r} is named twice")
        by_index = by_index or not entry.lower().startswith(("gpu-", "mig-"))
        uuids.append(gpu.uuid)
    if not by_index:
        guess = ""
    return VisibleDevices(tuple(uuids), not guess, guess or stopped)
