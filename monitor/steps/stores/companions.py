"""Documents that lie beside a store and tell how the run was set up: its total above all."""

from __future__ import annotations

import os

from monitor.documents.config_file import read_config
from monitor.types.documents import Setting

BESIDE = ("args.yaml", "hparams.yaml", "config.yaml", "params.json", "args.json", ".hydra/config.yaml",
          "files/config.yaml", "params.yaml")  # fmt: skip
"""As Ultralytics, Lightning, W&B, Ray and Hydra name them."""


def companion_settings(path: str, owner_uid: int | None) -> tuple[Setting, ...]:
    """The settings of the documents in the folder of a store. Files of other users are not read; never raises."""
    folder = os.path.dirname(path)
    found: list[Setting] = []
    for name in BESIDE:
        beside = os.path.join(folder, name)
        if os.path.isfile(beside) and not os.path.islink(beside):
            found.extend(_unwrapped(setting) for setting in read_config(beside, "arguments", owner_uid).settings)
    return tuple(found)


def _unwrapped(setting: Setting) -> Setting:
    """W&B writes each value under `value`."""
    if not setting.name.endswith(".value"):
        return setting
    return Setting(
        name=setting.name.removesuffix(".value"),
        value=setting.value,
        source=setting.source,
        document=setting.document,
        line=setting.line,
    )
