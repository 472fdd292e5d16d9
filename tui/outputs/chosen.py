"""A view of some GPUs only."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from monitor.chosen_gpus import chosen_gpus
from monitor.types.gpu import GpuIdentity
from tui.view import View

MINE = "mine"


def named_gpus(view: View, names: tuple[str, ...]) -> tuple[GpuIdentity, ...]:
    """The GPUs that are named by index or UUID, or those that own runs use (`mine`)."""
    if view.hello is None:
        return ()
    if names != (MINE,):
        return chosen_gpus(view.hello.gpus, names)
    return chosen_gpus(
        view.hello.gpus, {uuid for run in view.runs if run.mine and run.ended is None for uuid in run.gpu_uuids}
    )


def only_gpus(view: View, names: tuple[str, ...]) -> View:
    """The view with the GPUs that are named. Runs all stay."""
    if view.hello is None or view.snapshot is None:
        return view
    gpus = named_gpus(view, names)
    uuids = {gpu.uuid for gpu in gpus}
    return replace(
        view,
        hello=msgspec.structs.replace(view.hello, gpus=gpus),
        snapshot=msgspec.structs.replace(
            view.snapshot, gpus=tuple(sample for sample in view.snapshot.gpus if sample.uuid in uuids)
        ),
        holdings={uuid: holding for uuid, holding in view.holdings.items() if uuid in uuids},
    )


def not_there(view: View, names: tuple[str, ...]) -> str:
    """A sentence about chosen GPUs that are not here; empty when all are."""
    if view.hello is None or not view.hello.gpus or names == (MINE,):
        return ""
    whole = [gpu.index for gpu in view.hello.gpus if gpu.mig_parent_uuid is None]
    strange = [name for name in names if not chosen_gpus(view.hello.gpus, (name,))]
    if not strange:
        return ""
    span = f"GPU {whole[0]}" if len(whole) == 1 else f"GPUs {min(whole)} to {max(whole)}" if whole else "MIG instances"
    return f"There is no GPU {', '.join(strange)} here, but {span}."
