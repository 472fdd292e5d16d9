"""XID events: the driver's error numbers. It keeps no history, so a thread waits for them from the start."""

from __future__ import annotations

import ctypes
import threading
from collections import deque
from typing import Any

from monitor.clock import Clock
from monitor.nvml.binding import Answer, Handle
from monitor.nvml.calls import Caller
from monitor.nvml.errors import NOT_SUPPORTED, REFUSALS, TIMEOUT, Refusal
from monitor.types.gpu import XidEvent

_XID = 0x8
"""nvmlEventTypeXidCriticalError."""
_WAIT_MS = 1000
"""Short enough that the thread can be asked to end."""
_KEPT = 8
_PAUSE_AFTER_ERROR_S = 5.0


def handle_number(handle: Handle) -> int:
    """A device handle as a number, to compare handles of different Python objects."""
    return int(ctypes.cast(handle, ctypes.c_void_p).value or 0)


class EventWatch:
    """Waits for XID events of all devices on one daemon thread and keeps the latest few of each."""

    def __init__(self, caller: Caller, clock: Clock) -> None:
        self._caller = caller
        self._clock = clock
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._uuids: dict[int, str] = {}
        self._xids: dict[str, deque[XidEvent]] = {}
        self._seen: dict[str, tuple[XidEvent, ...]] = {}
        self._event_set: Handle = None
        self._thread: threading.Thread | None = None
        self.refusal: Refusal | None = None

    def start(self, devices: tuple[tuple[str, Any], ...]) -> None:
        """Register (uuid, handle) and begin to wait. One device that refuses does not keep the others out."""
        event_set = self._caller.call("nvmlEventSetCreate")
        if isinstance(event_set, Refusal):
            self.refusal = event_set
            return
        self._event_set = event_set
        for uuid, handle in devices:
            self.register(uuid, handle)
        if not self._uuids:
            self._event_set = None
            self._caller.call("nvmlEventSetFree", event_set)
            return
        self._thread = threading.Thread(target=self._wait, args=(event_set,), name="nvml-events", daemon=True)
        self._thread.start()

    def register(self, uuid: str, handle: Handle) -> None:
        """Wait for the events of one more device; a handle that is registered already is left as it is."""
        if self._event_set is None or handle_number(handle) in self._uuids:
            return
        supported = self._caller.call("nvmlDeviceGetSupportedEventTypes", handle)
        if isinstance(supported, Refusal) or not supported & _XID:
            self.refusal = supported if isinstance(supported, Refusal) else REFUSALS[NOT_SUPPORTED]
            return
        answer = self._caller.call("nvmlDeviceRegisterEvents", handle, _XID, self._event_set)
        if isinstance(answer, Refusal):
            self.refusal = answer
            return
        self._uuids[handle_number(handle)] = uuid

    @property
    def is_waiting(self) -> bool:
        """Whether events of at least one device are waited for."""
        return self._thread is not None and self._thread.is_alive()

    def xids(self, uuid: str) -> tuple[XidEvent, ...]:
        """The latest events of a device, oldest first; the same object while nothing is new."""
        return self._seen.get(uuid, ())

    def stop(self) -> bool:
        """End the thread; `False` when it did not end because its call does not return."""
        self._stop.set()
        if self._thread is None:
            return True
        self._thread.join(_WAIT_MS / 1000 + 0.5)
        return not self._thread.is_alive()

    def _wait(self, event_set: Answer) -> None:
        while not self._stop.is_set():
            event = self._caller.call("nvmlEventSetWait_v2", event_set, _WAIT_MS)
            if not isinstance(event, Refusal):
                self._note(event)
            elif event.is_final:
                self.refusal = event
                break
            elif event.code != TIMEOUT:
                self._stop.wait(_PAUSE_AFTER_ERROR_S)
        self._caller.call("nvmlEventSetFree", event_set)

    def _note(self, event: Answer) -> None:
        uuid = self._uuids.get(handle_number(event.device))
        if uuid is None or not event.eventType & _XID:
            return
        with self._lock:
            kept = self._xids.setdefault(uuid, deque(maxlen=_KEPT))
            kept.append(XidEvent(xid=int(event.eventData), seen_s=self._clock.wall_s()))
            self._seen[uuid] = tuple(kept)
