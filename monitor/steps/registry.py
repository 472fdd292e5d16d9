"""The ways in to step counters, in order. A new way is one file and its line here."""

from __future__ import annotations

from collections.abc import Callable

from monitor.clock import Clock
from monitor.steps.files import OpenFilesWay
from monitor.steps.probe_way import ProbeWay
from monitor.steps.run_files import RunFilesWay
from monitor.steps.source import Way
from monitor.steps.terminal import TerminalWay

WAYS: tuple[Callable[[Clock], Way], ...] = (
    ProbeWay,
    OpenFilesWay,
    RunFilesWay,
    TerminalWay,
)
