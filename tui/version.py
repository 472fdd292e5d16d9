"""The version, which the package `traintop` states; asked for by name, because no lower layer imports it."""

from __future__ import annotations

import importlib


def version() -> str:
    """For example "0.1.0"; empty where our code runs without the package around it."""
    try:
        return str(importlib.import_module("traintop").__version__)
    except (ImportError, AttributeError):
        return ""
