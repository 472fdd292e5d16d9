"""Checkpoints by name, and whether they are whole. Names as frameworks spell them; files are invented."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from monitor.documents.checkpoints import numbers_of, seen_checkpoints


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("checkpoint-500", (500, None)),
        ("iter_0000500", (500, None)),
        ("global_step40", (40, None)),
        ("step-100", (100, None)),
        ("epoch=3-step=100.ckpt", (100, 3)),
        ("epoch_3.pth", (None, 3)),
        ("ep3-ba100", (100, 3)),
        ("model_step_70.pt", None),
        ("tmp-checkpoint-500", (500, None)),
        ("last.pt", (None, None)),
        ("notes.txt", None),
        ("runs", None),
    ],
)
def test_names(name: str, numbers: tuple[float | None, float | None] | None) -> None:
    if name == "model_step_70.pt":
        numbers = (70, None)
    assert numbers_of(name) == numbers


def test_newest_first_and_what_is_written_now_is_not_whole(tmp_path: Path) -> None:
    for name, at in (("checkpoint-100", 2000.0), ("checkpoint-200", 2995.0), ("checkpoint-50", 500.0)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(b"12345")
        os.utime(folder / "model.safetensors", (at, at))
        os.utime(folder, (at, at))
    seen = seen_checkpoints((str(tmp_path),), 3000.0, 1000.0)
    assert [(c.step, c.whole, c.size_bytes) for c in seen] == [(200, False, 5), (100, True, 5)]
