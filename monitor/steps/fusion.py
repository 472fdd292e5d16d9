"""The point where readings of a run's counters meet. Conflicts are shown, never averaged.

A deterministic reducer: the same events in the same order give the same state. Its clock is the stream's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from monitor.steps.track import Track, TrackRate
from monitor.steps.trail import MOST_LIVE, Trail
from monitor.types.record import Missing
from monitor.types.run import EndHow, RunEnd, SourceReading
from monitor.types.steps import Phase, StepEvent, StepUnit, StepValue

MAX_TRACKS = 24
MAX_VALUES = 24
MAX_SHOWN = 16
STALL_FLOOR_S = 30.0
"""A silence shorter than this is never called a stall."""
STALL_PHASES = frozenset({"evaluating", "saving", "generating"})
_ENDS: dict[str, tuple[EndHow, int]] = {
    "error": ("error", 1),
    "killed": ("killed", 2),
    "time_limit": ("time_limit", 3),
    "out_of_memory": ("out_of_memory", 4),
    "finished": ("finished", 5),
}
"""With its weight: "error" stands before the line that says which, and nothing un-finishes a run but further steps."""
_UNNAMED = "(most recent call last):"
"""Of an error that says so, the name comes at the end of the traceback."""


@dataclass(frozen=True)
class FusedSteps:
    """What all sources together say of a run's steps. `None` is unknown, and `missing` says why."""

    step: float | None = None
    unit: StepUnit = "step"
    total: float | None = None
    total_source: str = ""
    epoch: float | None = None
    step_seconds: float | None = None
    wall_seconds_per_step: float | None = None
    rate_clock: Literal["source", "watched"] | None = None
    rate_window_s: float | None = None
    rate_steps: float | None = None
    rate_spread_ratio: float | None = None
    phase: Phase = "starting"
    phase_since_s: float | None = None
    last_step_s: float | None = None
    values: tuple[StepValue, ...] = ()
    ended: RunEnd | None = None
    sources: tuple[SourceReading, ...] = ()
    missing: tuple[Missing, ...] = ()
    source: str = ""
    """The reader whose counter is used."""
    confidence: float = 0.0
    notes: tuple[str, ...] = ()
    """What a person should know of these figures: resumed, accumulation, printed by the log."""
    trail: Trail | None = None
    """The points that the rate comes from, for the finish time."""


@dataclass
class StepFusion:
    """Takes every step event of one run (or of one log)."""

    most_points: int = MOST_LIVE
    _tracks: dict[tuple[object, ...], Track] = field(default_factory=dict)
    _values: dict[str, StepValue] = field(default_factory=dict)
    _epoch: float | None = None
    _phase: Phase | None = None
    _phase_since_s: float | None = None
    _ended: RunEnd | None = None
    _order: int = 0

    def update(self, event: StepEvent, boot_s: float | None = None) -> None:
        """Take one event, seen at `boot_s` by the stream's clock for durations (else the wall clock stands in)."""
        self._order += 1
        now_s = event.seen_s if boot_s is None else boot_s
        for value in event.values:
            if value.name in self._values or len(self._values) < MAX_VALUES:
                self._values[value.name] = value
        if event.epoch is not None:
            self._epoch = event.epoch
        if event.step is not None:
            self._count(event, now_s)
        if event.phase is not None and event.step is None:
            self._enter(event)
        if event.ended is not None:
            self._end(event)

    def reading(self, now_s: float, now_boot_s: float | None = None) -> FusedSteps:
        """What is known now: `now_s` wall clock, `now_boot_s` the stream's clock for durations."""
        boot_s = now_s if now_boot_s is None else now_boot_s
        chosen = self._choose(boot_s)
        if chosen is None:
            phase: Phase = "ended" if self._ended is not None else self._phase or "starting"
            return FusedSteps(
                phase=phase,
                phase_since_s=self._phase_since_s,
                epoch=self._epoch,
                values=tuple(self._values.values()),
                ended=self._ended,
                missing=(Missing(field="step", reason="not_yet", detail="no step counter has been read yet"),),
            )
        rate = chosen.rate()
        phase, since_s = self._phase_now(chosen, rate, boot_s)
        sources, notes = self._sources(chosen)
        total, total_source = self._total(chosen)
        return FusedSteps(
            step=chosen.step,
            unit=chosen.unit,
            total=total,
            total_source=total_source,
            epoch=chosen.epoch if chosen.epoch is not None else self._epoch,
            step_seconds=None if rate is None else rate.step_seconds,
            wall_seconds_per_step=None if rate is None else rate.wall_seconds_per_step,
            rate_clock=None if rate is None else rate.clock,
            rate_window_s=None if rate is None else rate.window_s,
            rate_steps=None if rate is None else rate.steps,
            rate_spread_ratio=None if rate is None else rate.spread_ratio,
            phase=phase,
            phase_since_s=since_s,
            last_step_s=chosen.changed_s,
            values=tuple(self._values.values()),
            ended=self._ended,
            sources=sources,
            missing=_missing(chosen, rate, total),
            source=chosen.source,
            confidence=chosen.confidence,
            notes=notes + (() if rate is None or not rate.note else (rate.note,)),
            trail=None if rate is None else rate.trail,
        )

    def _count(self, event: StepEvent, now_s: float) -> None:
        key = (event.process, event.where, event.source, event.series)
        track = self._tracks.get(key)
        if track is None:
            if len(self._tracks) >= MAX_TRACKS:
                worst = min(self._tracks, key=lambda k: (self._tracks[k].confidence, self._tracks[k].order))
                del self._tracks[worst]
            track = self._tracks[key] = Track(event, self.most_points)
        if track.take(event, now_s, self._order):
            self._ended = None
            self._phase = None
            self._phase_since_s = None

    def _enter(self, event: StepEvent) -> None:
        if event.phase == "training":
            self._phase = self._phase_since_s = None  # what was announced is over; whether it steps, the counts tell
            return
        if event.phase != self._phase:
            self._phase_since_s = event.event_s if event.event_s is not None else event.seen_s
        self._phase = event.phase
        if event.phase in STALL_PHASES:
            for track in self._tracks.values():
                track.stalled(event.phase)

    def _end(self, event: StepEvent) -> None:
        how, weight = _ENDS.get(event.ended or "", ("unknown", 0))
        before = 0 if self._ended is None else _ENDS.get(self._ended.how, ("unknown", 0))[1]
        named = self._ended is not None and how == "error" and self._ended.evidence.endswith(_UNNAMED)
        if self._ended is None or weight > before or (named and weight == before):
            if how == "finished" and self._ended is not None:
                return  # a launcher's closing words do not undo an error
            seen_s = event.event_s if event.event_s is not None else event.seen_s
            self._ended = RunEnd(how=how, seen_s=seen_s, evidence=event.evidence)

    def _choose(self, boot_s: float) -> Track | None:
        """The counter that is most surely the training's; of equals the one that moved last."""
        tracks = self._tracks.values()
        newest = max((track.order for track in tracks), default=0)

        def score(track: Track) -> tuple[float, int]:
            value = track.confidence
            if track.through and track.order < newest:
                value -= 0.25  # at its end, while another one goes on
            if track.silent_for(boot_s) and track.order < newest:
                value -= 0.3
            return value, track.order

        return max(tracks, key=score, default=None)

    def _phase_now(self, chosen: Track, rate: TrackRate | None, boot_s: float) -> tuple[Phase, float | None]:
        if self._ended is not None:
            return "ended", self._ended.seen_s
        if self._phase is not None:
            return self._phase, self._phase_since_s
        quiet_s = boot_s - chosen.changed_boot_s
        if chosen.moved and not chosen.through and rate is not None:
            limit_s = max(STALL_FLOOR_S, 5 * chosen.risen * rate.step_seconds, 2 * chosen.longest_s())
            if quiet_s > limit_s:
                return "stalled", chosen.changed_s
        return ("training" if chosen.step > 0 else "warming"), None

    def _sources(self, chosen: Track) -> tuple[tuple[SourceReading, ...], tuple[str, ...]]:
        ranked = sorted(self._tracks.values(), key=lambda t: (t is not chosen, -t.confidence, -t.order))
        readings: list[SourceReading] = []
        notes: list[str] = [chosen.note] if chosen.note else []
        for track in ranked[:MAX_SHOWN]:
            beside = "" if track is chosen else track.beside(chosen)
            if "gradient accumulation" in beside:
                notes.append(beside)
            readings.append(track.shown(used=track is chosen, note=beside or track.note))
        return tuple(readings), tuple(notes)

    def _total(self, chosen: Track) -> tuple[float | None, str]:
        """Its own total; else, for a counter that knows none, that of the surest one that goes along with it."""
        if chosen.total is not None or chosen.total_source:
            return chosen.total, chosen.total_source
        for track in sorted(self._tracks.values(), key=lambda t: (-t.confidence, -t.order)):
            total = None if track is chosen else track.total_for(chosen)
            if total is not None:
                return total, f"{track.total_source or track.source} ({track.where or track.source})"
        return None, ""


def _missing(chosen: Track, rate: TrackRate | None, total: float | None) -> tuple[Missing, ...]:
    missing: list[Missing] = []
    if rate is None:
        detail = "one reading so far" if not chosen.moved else "no clock in the text and not watched long enough"
        missing.append(Missing(field="step_seconds", reason="not_yet", detail=detail))
    if total is None:
        detail = chosen.total_source or "no total in what the run writes"
        missing.append(Missing(field="total", reason="not_supported", detail=detail))
    return tuple(missing)
