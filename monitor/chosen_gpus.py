"""Which GPUs a list of names means: on the command line, in the agent and on the screen alike."""

from __future__ import annotations

from collections.abc import Iterable

from monitor.types.gpu import GpuIdentity

MIN_BEGINNING = 8
"""So many characters of a UUID are enough to name it: "GPU-" and four more."""


def chosen_gpus(gpus: tuple[GpuIdentity, ...], names: Iterable[str]) -> tuple[GpuIdentity, ...]:
    """Those named by index, UUID or the beginning of one. A GPU brings its MIG instances.

    An index means the driver's order of whole GPUs; an instance is named by its UUID.
    """
    names = tuple(names)
    named = {gpu.uuid for gpu in gpus if any(_means(name, gpu) for name in names)}
    return tuple(gpu for gpu in gpus if gpu.uuid in named or gpu.mig_parent_uuid in named)


def _means(name: str, gpu: GpuIdentity) -> bool:
    if name.isdecimal():
        return gpu.mig_parent_uuid is None and name == str(gpu.index)
    return name == gpu.uuid or (len(name) >= MIN_BEGINNING and gpu.uuid.startswith(name))
