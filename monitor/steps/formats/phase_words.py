"""Lines that announce an evaluation before it runs: `Evaluating...`, `***** Running Evaluation *****`."""

from __future__ import annotations

import re

from monitor.steps.formats.bar_text import last_bar
from monitor.steps.formats.figures import figures
from monitor.steps.formats.line_format import EVIDENCE_CHARS, FileText, Origin, phase_event
from monitor.steps.formats.stamps import line_time_s
from monitor.steps.lines import Line
from monitor.types.steps import Phase, StepEvent

MAX_CHARS = 160
_HINTS = ("evaluati", "validati", " eval")
_ANNOUNCED = re.compile(
    r"(?:^|[\]:|>] ?|[-*] )[^\w]{0,8}"
    r"(?:(?:run(?:ning)?|start(?:ing|ed)?|begin(?:ning)?|doing|performing)\s+(?:the\s+)?(?:evaluation|validation|eval)\b"
    r"(?!\s+(?:every|results?))"
    r"|(?:evaluating|validating)\b(?!\s+(?:every|interval|results?)))",
    re.IGNORECASE,
)


class PhaseWordsFormat:
    """Reads announcements; one holds until the next line. Words for saving come after it as often as before."""

    name = "phase_words"

    def __init__(self) -> None:
        self._announced = False

    def read(self, line: Line, text: FileText, origin: Origin) -> tuple[StepEvent, ...]:  # noqa: ARG002
        """That an evaluation begins, or that the one that was announced is over."""
        content = line.text
        announces = _announces(content)
        if announces == self._announced:
            return ()
        if not announces and (not line.whole or last_bar(content) is not None):
            return ()  # a bar tells by itself what it is of
        self._announced = announces
        phase: Phase = "evaluating" if announces else "training"
        stamp = line_time_s(content)
        return (phase_event(self.name, phase, origin, content[:EVIDENCE_CHARS], confidence=0.6, event_s=stamp),)


def _announces(content: str) -> bool:
    if len(content) > MAX_CHARS:
        return False
    lower = content.lower()
    if not any(hint in lower for hint in _HINTS):
        return False
    return _ANNOUNCED.search(content) is not None and not figures(content)
