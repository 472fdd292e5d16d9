"""Watching a stream without a screen: messages come on the source's thread, the view is built on ours."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterable
from typing import Protocol

import click

from monitor.agent.faults import FAILED, SILENT
from monitor.stream.source import MessageSource
from monitor.types.messages import Fault, Hello, Message, Snapshot, SourceTiming
from tui.view import View, ViewBuilder

PATIENCE_S = 5.0
"""How long the first figures may take before what there is counts as all there is."""
POLL_S = 0.05
_ROUNDING_S = 0.003
"""Timings are rounded to milliseconds."""


class Listener(Protocol):
    """Whoever is told each message beside the view, such as the timing log."""

    def note(self, message: Message) -> None:
        """Take one message."""


class Watching:
    """Feeds a view from a source until it is enough."""

    def __init__(self, source: MessageSource, listener: Listener | None = None) -> None:
        self.builder = ViewBuilder()
        self.ended: str | None = None
        """Why the stream ended; `None` while it goes on."""
        self._source = source
        self._listener = listener
        self._messages: queue.SimpleQueue[Message | str] = queue.SimpleQueue()

    def until(self, enough: Callable[[ViewBuilder], bool], at_most_s: float) -> View:
        """Watch until `enough`, the end of the stream, or the time is over; then close the source."""
        give_up_s = time.monotonic() + at_most_s
        self._source.start(self._messages.put, self._messages.put)
        try:
            while self.ended is None and (left_s := give_up_s - time.monotonic()) > 0:
                if self._take(min(POLL_S, left_s)) and enough(self.builder):
                    break
        finally:
            self._source.close()
        return self.builder.view()

    def _take(self, wait_s: float) -> bool:
        """Take what there is; True when the view is as of a whole tick or the time moved on."""
        try:
            message = self._messages.get(timeout=wait_s)
        except queue.Empty:
            return True
        if isinstance(message, str):
            self.ended = message
            return True
        self.builder.update(message)
        if self._listener is not None:
            self._listener.note(message)
        return isinstance(message, (Snapshot, Hello, Fault))


def recorded_view(messages: Iterable[Message]) -> ViewBuilder:
    """The view at the end of a recording.

    Raises:
        click.ClickException: there is not one snapshot in it.
    """
    builder = ViewBuilder()
    for message in messages:
        builder.update(message)
    if builder.node.snapshot is None:
        raise click.ClickException("There is no snapshot in this recording.")
    return builder


def answered(timing: SourceTiming) -> bool:
    """Whether a source has said anything yet."""
    return timing.waiting_s is None or timing.took_s > 0 or timing.age_s > 0


def first_look_done(builder: ViewBuilder) -> bool:
    """Whether the driver (or its absence), the processes, the host and the steps have all been read once."""
    hello, snapshot = builder.node.hello, builder.node.snapshot
    if hello is None or snapshot is None or hello.driver_state == "asking":
        return False
    if hello.driver_state == "ok" and hello.gpus and not snapshot.gpus:
        return False
    if not all(answered(timing) for timing in snapshot.timings):
        return False
    # A stream from elsewhere may carry no timings.
    timings = {timing.source: timing for timing in snapshot.timings}
    driver, processes, steps = (timings.get(name) for name in ("driver", "processes", "steps"))
    return (not snapshot.gpus or began_after(processes, driver)) and (
        not snapshot.processes or began_after(steps, processes)
    )


def began_after(later: SourceTiming | None, earlier: SourceTiming | None) -> bool:
    """Whether the one's reading began when the other's was there: it has seen what the other found."""
    if later is None or earlier is None:
        return True
    return later.age_s + later.took_s <= earlier.age_s + _ROUNDING_S


def is_partial(view: View) -> bool:
    """Whether something that is here gave no figures: the driver, a GPU, a source."""
    hello, snapshot = view.hello, view.snapshot
    if hello is None or snapshot is None:
        return True
    if hello.driver_state in ("failed", "asking"):
        return True
    if any(gpu.state not in ("ok", "asleep") for gpu in snapshot.gpus):
        return True
    return any(fault.key.endswith((SILENT, FAILED)) for fault in view.faults)
