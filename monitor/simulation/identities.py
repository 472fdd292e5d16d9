"""What stays the same about simulated GPUs: who they are and how they reach each other."""

from __future__ import annotations

import uuid

from monitor.simulation.plans import Profile
from monitor.types.gpu import GpuIdentity, GpuLink

_NAMESPACE = uuid.UUID("6f1d0f0e-54a1-4c55-9e0a-7a3c5a0d9b11")


def gpu_identity(profile: Profile, place: int, seed: int) -> GpuIdentity:
    """The GPU or MIG slice at this position of a profile."""
    plan = profile.gpus[place]
    model = plan.model
    name = f"{profile.name}/{seed}/{place}"
    if plan.slice_of is not None:
        return GpuIdentity(
            uuid=f"MIG-{uuid.uuid5(_NAMESPACE, name)}",
            index=place - plan.slice_of - 1,
            name=model.name,
            memory_total_bytes=model.memory_total_bytes,
            compute_capability=model.compute_capability,
            architecture=model.architecture,
            mig_parent_uuid=gpu_identity(profile, plan.slice_of, seed).uuid,
            gpu_instance_id=place - plan.slice_of,
            compute_instance_id=0,
        )
    index = sum(other.slice_of is None for other in profile.gpus[:place])
    return GpuIdentity(
        uuid=f"GPU-{uuid.uuid5(_NAMESPACE, name)}",
        index=index,
        name=model.name,
        memory_total_bytes=model.memory_total_bytes,
        power_limit_w=None if model.unified_memory else plan.power_limit_w or model.limit_w,
        power_limit_default_w=None if model.unified_memory else model.limit_w,
        power_limit_max_w=None if model.unified_memory else model.limit_w,
        sm_max_mhz=model.sm_max_mhz,
        memory_max_mhz=model.memory_mhz,
        compute_capability=model.compute_capability,
        architecture=model.architecture,
        pci_bus_id=f"0000:{0x10 + index * 3:02X}:00.0",
        minor_number=index,
        temperature_slowdown_c=model.slowdown_c,
        temperature_shutdown_c=model.shutdown_c,
        temperature_gpu_max_c=model.hot_c,
        pcie_generation_max=model.pcie_generation,
        pcie_generation_gpu_max=model.pcie_generation,
        pcie_width_max=16,
        unified_memory=model.unified_memory,
        mig_enabled=plan.mig_enabled,
        numa_node=index * 2 // max(2, len(profile.gpus)),
    )


def gpu_links(profile: Profile, identities: tuple[GpuIdentity, ...]) -> tuple[GpuLink, ...]:
    """Pairs within an NVLink group; in a small node also those that meet only through the processors' link."""
    whole = [place for place, plan in enumerate(profile.gpus) if plan.slice_of is None]
    links: list[GpuLink] = []
    for position, first in enumerate(whole):
        for other, second in enumerate(whole[position + 1 :], start=position + 1):
            a, b = profile.gpus[first].model, profile.gpus[second].model
            together = position // profile.nvlink_group == other // profile.nvlink_group
            count = a.nvlink_count if a == b and together else 0
            if count or len(whole) <= profile.nvlink_group:
                links.append(
                    GpuLink(
                        uuid_a=identities[first].uuid,
                        uuid_b=identities[second].uuid,
                        path="nvlink" if count else "system",
                        nvlink_count=count,
                    )
                )
    return tuple(links)
