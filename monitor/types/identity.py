"""Who is who: a process is a pid and its start time, because pids are reused."""

from __future__ import annotations

from monitor.types.record import Record


class ProcessIdentity(Record, frozen=True, kw_only=True):
    """One process on one node since one boot. Hashable; a reused pid has other `start_ticks`."""

    pid: int
    start_ticks: int
    """Field 22 of /proc/PID/stat: clock ticks after boot."""
