"""Invented log text for the tests here, and small ways to read it."""

from __future__ import annotations

from monitor.steps.formats.line_format import Origin
from monitor.steps.formats.registry import TextReader
from monitor.steps.fusion import FusedSteps, StepFusion
from monitor.steps.lines import LineSplitter
from monitor.types.steps import StepEvent

SEEN_S = 1_800_000_000.0


def events_of(text: str | bytes, reader: TextReader | None = None) -> list[StepEvent]:
    """What the formats read in a text; the rest after the last line end is taken as pending."""
    splitter = LineSplitter()
    lines = splitter.feed(text.encode() if isinstance(text, str) else text) + splitter.pending()
    reader = reader or TextReader()
    origin = Origin(None, "train.log", SEEN_S)
    return [event for line in lines for event in reader.read(line, origin)]


def counts_of(text: str | bytes) -> list[StepEvent]:
    """Only the readings with a counter."""
    return [event for event in events_of(text) if event.step is not None]


def fused(text: str | bytes) -> FusedSteps:
    """What a whole text amounts to."""
    fusion = StepFusion()
    for event in events_of(text):
        fusion.update(event, 0.0)
    return fusion.reading(SEEN_S, 0.0)


def clock(seconds: float) -> str:
    """Seconds as tqdm prints them."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes:02d}:{rest:02d}"


def bar(n: int, total: int, elapsed_s: float, label: str = "", postfix: str = "") -> str:
    """A bar as tqdm draws it."""
    left = clock((total - n) * elapsed_s / n) if n else "?"
    rate = f"{n / elapsed_s:5.2f}it/s" if n and elapsed_s else "?it/s"
    head = f"{label}: " if label else ""
    return f"\r{head}{100 * n // total:3d}%|####      | {n}/{total} [{clock(elapsed_s)}<{left}, {rate}{postfix}]"
