"""How a run ended, from what its processes wrote last, from the system, and from how far it had come."""

from __future__ import annotations

from typing import NamedTuple

from monitor.steps.formats.endings import EndingsFormat
from monitor.steps.formats.line_format import FileText, Origin
from monitor.steps.lines import Line
from monitor.types.identity import ProcessIdentity
from monitor.types.process import ProcessEnd
from monitor.types.run import EndHow, RunEnd

MAX_TAIL_LINES = 400
_CAUSE_FIRST: tuple[str, ...] = ("out_of_memory", "time_limit", "error", "killed", "finished", "unknown")
"""When ranks end differently, the first of these is the cause and the others follow from it."""
_TOLD_FIRST = ("out_of_memory", "time_limit", "killed", "error", "finished")
"""Within one process: an interrupt ends in a traceback too."""
_HOW: dict[str, EndHow] = {
    "finished": "finished",
    "out_of_memory": "out_of_memory",
    "error": "error",
    "killed": "killed",
    "time_limit": "time_limit",
}


class Last(NamedTuple):
    """What is known of one process at its end."""

    process: ProcessIdentity
    end: ProcessEnd | None = None
    """`None` when it was only seen no more."""
    told: RunEnd | None = None
    """What its step events said."""
    step: float | None = None
    total: float | None = None
    leads: bool = False
    """It is the process whose step counts for the run."""


def how_ended(lasts: tuple[Last, ...], seen_s: float) -> RunEnd:
    """One verdict over all processes of a run. Where nothing was written and nothing is known: unknown, said so."""
    verdicts = [_one(last, seen_s) for last in lasts]
    leading = next((verdict for last, verdict in zip(lasts, verdicts, strict=True) if last.leads), None)
    if leading is not None and leading.how == "finished":
        return leading  # ranks that are stopped by their launcher after the end undo nothing
    known = [verdict for verdict in verdicts if verdict.how != "unknown"]
    if known:
        return min(known, key=lambda verdict: _CAUSE_FIRST.index(verdict.how))
    step = next((last.step for last in lasts if last.leads), None)
    at = "" if step is None else f" at step {step:,.0f}"
    return RunEnd(how="unknown", seen_s=seen_s, evidence=f"ended without a message{at}")


def _one(last: Last, seen_s: float) -> RunEnd:
    end = last.end
    told = last.told or (None if end is None else _from_tail(end))
    if told is not None and told.how in ("finished", "out_of_memory", "time_limit"):
        return RunEnd(how=told.how, seen_s=seen_s, evidence=told.evidence)
    if end is not None and end.host_oom_kills:
        return RunEnd(
            how="killed", seen_s=seen_s, evidence="host out of memory: the kernel killed a process of its group"
        )
    if told is not None and told.how != "unknown":
        return RunEnd(how=told.how, seen_s=seen_s, evidence=told.evidence)
    if last.step is not None and last.total is not None and last.step >= last.total > 0:
        return RunEnd(how="finished", seen_s=seen_s, evidence=f"reached step {last.step:,.0f} of {last.total:,.0f}")
    return RunEnd(how="unknown", seen_s=seen_s)


def _from_tail(end: ProcessEnd) -> RunEnd | None:
    """The cause among the closing lines; a traceback counts as what its own lines name."""
    found: dict[str, str] = {}
    words, text, origin = EndingsFormat(), FileText(), Origin(process=end.process, seen_s=end.seen_s)
    for row, line in enumerate(end.tail[-MAX_TAIL_LINES:]):
        for event in words.read(Line(line, row), text, origin):
            if event.ended is not None:
                found[event.ended] = event.evidence
                last = event.ended
    if not found:
        return None
    how = last if last == "finished" else min(found, key=_TOLD_FIRST.index)
    evidence = found[how] if how != "error" else _exception(end.tail) or found[how]
    return RunEnd(how=_HOW.get(how, "unknown"), seen_s=end.seen_s, evidence=evidence)


def _exception(tail: tuple[str, ...]) -> str:
    """The line that names the exception: the last one that starts at the margin with a word and a colon."""
    for line in reversed(tail[-MAX_TAIL_LINES:]):
        head, mark, _ = line.partition(":")
        if (
            mark
            and head.replace(".", "").replace("_", "").isalnum()
            and head.endswith(("Error", "Exception", "Interrupt"))
        ):
            return line[:160]
    return ""
