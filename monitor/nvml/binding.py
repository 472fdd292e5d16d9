"""NVIDIA's Python binding (`nvidia-ml-py`, module `pynvml`), loaded with care: other modules have that name too."""

from __future__ import annotations

import importlib
import importlib.metadata
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeAlias

Handle: TypeAlias = Any
"""A device, event set or sample of the driver: an opaque pointer."""
Answer: TypeAlias = Any
"""What a function of the binding gives: a number, a structure, bytes."""
Argument: TypeAlias = Any

_MARKS = ("_nvmlGetFunctionPointer", "nvmlDeviceGetComputeRunningProcesses_v3")
"""Names that only NVIDIA's own binding of the last years has at the top of its module."""


class Binding:
    """Finds functions, C symbols and structures by name; what this version lacks is `None`."""

    def __init__(self, module: Answer) -> None:
        self.module = module
        self._functions: dict[str, Callable[..., Any] | None] = {}

    def function(self, name: str) -> Callable[..., Any] | None:
        """The binding's function, without its strict UTF-8 decoding where it has any (names are foreign bytes)."""
        if name not in self._functions:
            found = getattr(self.module, name, None)
            self._functions[name] = getattr(found, "__wrapped__", found)
        return self._functions[name]

    def symbol(self, name: str) -> Callable[..., int] | None:
        """The C function itself, or `None` where the driver library lacks it or is not loaded."""
        try:
            found: Callable[..., int] = self.module._nvmlGetFunctionPointer(name)  # noqa: SLF001 (no public way to a symbol)
        except self.module.NVMLError:
            return None
        return found

    def structure(self, name: str) -> Answer:
        """A ctypes structure of the binding, or `None`."""
        return getattr(self.module, name, None)


def load_binding(import_module: Callable[[str], ModuleType] = importlib.import_module) -> Binding | str:
    """The binding, or one sentence that says why there is none. Writes nothing to stderr.

    The deprecated distribution `pynvml` warns at import, and its old versions shadow NVIDIA's module.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = import_module("pynvml")
    except Exception as error:
        name = type(error).__name__
        return f"NVIDIA's Python binding cannot be imported ({name}): install nvidia-ml-py beside traintop."
    if all(hasattr(module, mark) for mark in _MARKS):
        return Binding(module)
    owners = _owners()
    named = f" (it comes from {', '.join(owners)})" if owners else ""
    return (
        f"The installed Python module pynvml is not a usable NVIDIA binding{named}: "
        "uninstall pynvml and nvidia-ml-py3, then reinstall nvidia-ml-py."
    )


def _owners() -> list[str]:
    try:
        owners = importlib.metadata.packages_distributions().get("pynvml", [])
    except Exception:
        return []
    return sorted({owner for owner in owners if owner.replace("-", "").replace("_", "").isalnum()})
