"""What the driver cannot say of the machine: memory of the system, sleeping GPUs, the largest pid, container or WSL."""

from __future__ import annotations

import os
from collections.abc import Iterator

_NVIDIA_VENDOR = "0x10de"
_DISPLAY_CLASSES = ("0x0300", "0x0302")
"""VGA and 3D controllers; audio and USB parts of a card have others."""


class Machine:
    """Reads /proc and /sys below `root`, so that tests can bring their own."""

    def __init__(self, root: str = "/") -> None:
        self._root = root

    def memory_bytes(self) -> tuple[int, int] | None:
        """Total and available memory of the system."""
        figures: dict[str, int] = {}
        for line in self._text("proc/meminfo").splitlines():
            name, _, rest = line.partition(":")
            number = rest.split()[:1]
            if name in ("MemTotal", "MemAvailable") and number and number[0].isdigit():
                figures[name] = int(number[0]) * 1024
        if len(figures) != 2:
            return None
        return figures["MemTotal"], figures["MemAvailable"]

    def pid_max(self) -> int:
        """The kernel's largest pid; its own upper limit where it does not say."""
        text = self._text("proc/sys/kernel/pid_max").strip()
        return int(text) if text.isdigit() and int(text) > 0 else 4194304

    def sleeping_gpus(self) -> tuple[str, ...]:
        """PCI addresses of the NVIDIA GPUs when every one of them is powered down; empty otherwise.

        Opening the driver would wake them, which costs a laptop its battery.
        """
        found = list(self._nvidia_gpus())
        if found and all(status == "suspended" for _address, status in found):
            return tuple(address for address, _status in found)
        return ()

    def in_container(self) -> bool:
        """Whether we run in a container, as far as its usual marks tell."""
        if any(os.path.exists(os.path.join(self._root, mark)) for mark in (".dockerenv", "run/.containerenv")):
            return True
        marks = ("docker", "kubepods", "containerd", "libpod", "lxc")
        return any(mark in self._text("proc/1/cgroup") for mark in marks)

    def in_wsl(self) -> bool:
        """Whether this is the Windows Subsystem for Linux."""
        return "microsoft" in self._text("proc/sys/kernel/osrelease").lower()

    def _nvidia_gpus(self) -> Iterator[tuple[str, str]]:
        devices = "sys/bus/pci/devices"
        try:
            addresses = sorted(os.listdir(os.path.join(self._root, devices)))
        except OSError:
            return
        for address in addresses:
            device = f"{devices}/{address}"
            if self._text(f"{device}/vendor").strip() != _NVIDIA_VENDOR:
                continue
            if self._text(f"{device}/class").strip()[:6] in _DISPLAY_CLASSES:
                yield address, self._text(f"{device}/power/runtime_status").strip()

    def _text(self, path: str) -> str:
        try:
            with open(os.path.join(self._root, path), "rb") as file:
                return file.read(65536).decode("utf-8", "replace")
        except OSError:
            return ""
