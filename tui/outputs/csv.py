"""The GPUs of one moment as CSV: `traintop once --csv`. Empty cells are unknown; units are in the header."""

from __future__ import annotations

import csv
import io

from tui.outputs.once_json import GpuOut, gpu_out
from tui.view import View

_COLUMNS = (
    "uuid",
    "index",
    "name",
    "memory_total_bytes",
    "memory_used_bytes",
    "memory_reserved_bytes",
    "gpu_util_ratio",
    "memory_busy_ratio",
    "power_w",
    "power_limit_w",
    "temperature_c",
    "sm_mhz",
    "throttle",
    "xid",
    "state",
)
_FORMULA_STARTS = ("=", "+", "-", "@")


def gpus_csv(view: View) -> str:
    """A header and a line for each GPU; the header alone where there is none."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    if view.snapshot is not None and view.hello is not None:
        known = {gpu.uuid: gpu for gpu in view.hello.gpus}
        for sample in view.snapshot.gpus:
            writer.writerow(_cells(gpu_out(sample, known.get(sample.uuid))))
    return text.getvalue()


def _cells(gpu: GpuOut) -> list[str]:
    return [_cell(getattr(gpu, name)) for name in _COLUMNS]


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, tuple):
        return " ".join(str(part) for part in value)
    text = str(value)
    # A spreadsheet runs a cell that starts like a formula; numbers are left alone.
    return "'" + text if isinstance(value, str) and text.startswith(_FORMULA_STARTS) else text
