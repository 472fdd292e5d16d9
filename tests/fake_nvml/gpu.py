"""What one invented GPU answers. A test sets what it needs; the rest is plausible for a busy H100."""

from __future__ import annotations

import dataclasses

OK, INVALID, NOT_SUPPORTED, NO_PERMISSION, NOT_FOUND, TOO_SMALL, LOST = 0, 2, 3, 4, 6, 7, 15
MEBI = 1 << 20
NOT_AVAILABLE = 0xFFFFFFFFFFFFFFFF
NO_INSTANCE = 0xFFFFFFFF
FIRST_GPU = 0x1000
FIRST_INSTANCE = 0x100000
INSTANCES = 64

Process = tuple[int, int] | tuple[int, int, int, int]
"""pid, bytes, and GPU and compute instance where there are any."""


@dataclasses.dataclass
class FakeGpu:
    """What one GPU, or with `parent` one MIG instance, answers. `refused` maps C functions to error codes."""

    index: int = 0
    name: bytes = b"NVIDIA H100 80GB HBM3"
    uuid: bytes = b""
    bus_id: bytes = b""
    total_mib: int = 81559
    used_mib: int = 1000
    reserved_mib: int = 551
    utilisation: tuple[int, int] = (83, 40)
    power_mw: int = 350_000
    limit_mw: int = 700_000
    energy_mj: int = 5_000_000
    temperature: int = 61
    fan: int = 45
    clocks: dict[int, int] = dataclasses.field(default_factory=lambda: {0: 1900, 1: 1900, 2: 2619, 3: 1500})
    reasons: int = 0x4
    compute: list[Process] = dataclasses.field(default_factory=list)
    graphics: list[Process] = dataclasses.field(default_factory=list)
    mps: list[Process] = dataclasses.field(default_factory=list)
    use: list[tuple[int, int, int]] = dataclasses.field(default_factory=list)
    """Per-process samples: pid, time in µs, percent."""
    fields: dict[int, tuple[int, float]] = dataclasses.field(default_factory=dict)
    """Field number → value type, value; added to the usual ones."""
    mig: tuple[int, int] | None = (0, 0)
    instances: list[FakeGpu | None] = dataclasses.field(default_factory=list)
    parent: FakeGpu | None = None
    instance_ids: tuple[int, int] = (0, 0)
    links: int = 0
    refused: dict[str, int] = dataclasses.field(default_factory=dict)
    lost: bool = False
    has_gpm: bool = True

    def __post_init__(self) -> None:
        self.uuid = self.uuid or b"GPU-00000000-0000-4000-8000-%012d" % self.index
        self.bus_id = self.bus_id or b"00000000:%02X:00.0" % (0x10 + self.index)
