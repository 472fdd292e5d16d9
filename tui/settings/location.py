"""Where the settings file lies. Kept apart because it is asked before anything else is imported."""

from __future__ import annotations

import os
from collections.abc import Mapping


def settings_path(env: Mapping[str, str] | None = None) -> str:
    """Where the settings file lies after the XDG rules; empty where there is no home."""
    env = os.environ if env is None else env
    base = env.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(base):
        home = env.get("HOME", "")
        base = os.path.join(home, ".config") if home else ""
    return os.path.join(base, "traintop", "settings.toml") if base else ""
