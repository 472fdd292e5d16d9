"""Fewer events, same knowledge: of many readings of one counter in one look, those that a rate is made of."""

from __future__ import annotations

import msgspec

from monitor.types.steps import StepEvent


def thin(events: list[StepEvent], most: int) -> list[StepEvent]:
    """About `most` readings of each counter, in order: the last, and evenly chosen ones that carry a time.

    Events without a counter (phases, ends) stay, of figures alone the last. The line itself is kept with the last
    reading only.
    """
    groups: dict[tuple[str, str], list[int]] = {}
    kept: set[int] = set()
    for i, event in enumerate(events):
        if event.step is not None:
            groups.setdefault((event.source, event.series), []).append(i)
        elif event.phase is not None or event.ended is not None:
            kept.add(i)
    figures_only = [i for i, event in enumerate(events) if event.step is None and i not in kept]
    kept.update(figures_only[-1:])
    if len(kept) > 4 * most:
        kept = set(sorted(kept)[-4 * most :])
    last_of: set[int] = set()
    for indices in groups.values():
        timed = [i for i in indices if _has_time(events[i])]
        stride = max(1, -(-len(timed) // max(1, most - 1)))
        kept.update(timed[::-1][::stride])  # counted from the end, so that the freshest are always there
        kept.add(indices[-1])
        last_of.add(indices[-1])
    return [
        event if i in last_of or event.step is None else msgspec.structs.replace(event, evidence="", values=())
        for i, event in enumerate(events)
        if i in kept
    ]


def _has_time(event: StepEvent) -> bool:
    """Whether a rate can be made of it. tqdm's printed rate is none: it is never used."""
    printed = event.seconds_per_step is not None and event.source != "tqdm"
    return event.elapsed_s is not None or event.event_clock == "text" or printed
