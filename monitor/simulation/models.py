"""Kinds of GPU for simulated nodes. Memory and power after NVIDIA's data sheets; the rest are typical figures."""

from __future__ import annotations

from monitor.simulation.plans import GIB, GpuModel

MIB = 1024**2

H100 = GpuModel(
    name="NVIDIA H100 80GB HBM3",
    memory_total_bytes=81559 * MIB,
    memory_reserved_bytes=552 * MIB,
    idle_w=74.0,
    full_w=720.0,
    limit_w=700.0,
    sm_max_mhz=1980,
    sm_idle_mhz=345,
    memory_mhz=2619,
    compute_capability="9.0",
    architecture="Hopper",
    nvlink_count=18,
)
H100_SLICE = GpuModel(
    name="NVIDIA H100 80GB HBM3 MIG 3g.40gb",
    memory_total_bytes=40448 * MIB,
    memory_reserved_bytes=0,
    idle_w=0.0,
    full_w=0.0,
    limit_w=0.0,
    sm_max_mhz=1980,
    sm_idle_mhz=345,
    memory_mhz=2619,
    compute_capability="9.0",
    architecture="Hopper",
)
A100 = GpuModel(
    name="NVIDIA A100-SXM4-40GB",
    memory_total_bytes=40960 * MIB,
    memory_reserved_bytes=512 * MIB,
    idle_w=52.0,
    full_w=410.0,
    limit_w=400.0,
    sm_max_mhz=1410,
    sm_idle_mhz=210,
    memory_mhz=1215,
    compute_capability="8.0",
    architecture="Ampere",
    hot_c=85.0,
    slowdown_c=89.0,
    shutdown_c=92.0,
    pcie_generation=4,
    nvlink_count=12,
)
RTX_4090 = GpuModel(
    name="NVIDIA GeForce RTX 4090",
    memory_total_bytes=24564 * MIB,
    memory_reserved_bytes=337 * MIB,
    idle_w=19.0,
    full_w=455.0,
    limit_w=450.0,
    sm_max_mhz=3105,
    sm_idle_mhz=210,
    memory_mhz=10501,
    compute_capability="8.9",
    architecture="Ada",
    hot_c=83.0,
    slowdown_c=90.0,
    shutdown_c=95.0,
    pcie_generation=4,
    has_fan=True,
    has_ecc=False,
)
GB10 = GpuModel(
    name="NVIDIA GB10",
    memory_total_bytes=120 * GIB,
    memory_reserved_bytes=0,
    idle_w=11.0,
    full_w=100.0,
    limit_w=100.0,
    sm_max_mhz=3003,
    sm_idle_mhz=208,
    memory_mhz=4266,
    compute_capability="12.1",
    architecture="Blackwell",
    hot_c=84.0,
    has_ecc=False,
    unified_memory=True,
)
