"""The time at which a file was written, as the time of what was written last."""

from __future__ import annotations

import msgspec

from monitor.types.steps import StepEvent


def with_file_time(events: list[StepEvent], modified_s: float) -> list[StepEvent]:
    """The last reading of each counter was written when the file was: that is its time, where the text has none."""
    seen: set[tuple[str, str]] = set()
    for i in range(len(events) - 1, -1, -1):
        event = events[i]
        counter = (event.source, event.series)
        if event.step is None or counter in seen:
            continue
        seen.add(counter)
        if event.event_s is None and 0 < modified_s <= event.seen_s + 1:
            events[i] = msgspec.structs.replace(event, event_s=modified_s, event_clock="file_time")
    return events
