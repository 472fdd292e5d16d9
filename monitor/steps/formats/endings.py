"""Words with which runs end. A run that steps on afterwards takes them back: that is judged where readings meet."""

from __future__ import annotations

import re

from monitor.steps.formats.line_format import EVIDENCE_CHARS, FileText, Origin
from monitor.steps.formats.stamps import line_time_s
from monitor.steps.lines import Line
from monitor.types.steps import StepEvent

_PREFIX = r"^(?:\[?rank ?\d+\]?:? ?|\([^)]{1,60}\) )?"
# Plain words that every line is searched for first; the patterns are tried only on lines that hold one.
_HINTS = (
    "memory",
    "oom",
    "cancelled",
    "killed",
    "interrupt",
    "traceback",
    "error",
    "exception",
    "train",
    "finished",
    "complete",
    "exit",
    "signal",
    "alloc",
    "limit",
    "terminat",
    "fault",
    "metrics",
)
_ENDINGS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "out_of_memory",
        re.compile(
            r"CUDA out of memory|torch(?:\.cuda)?\.OutOfMemoryError|CUDA error: out of memory"
            r"|RESOURCE_EXHAUSTED: Out of memory|CUBLAS_STATUS_ALLOC_FAILED|oom[-_ ]kill|Out Of Memory handler"
        ),
    ),
    ("time_limit", re.compile(r"CANCELLED AT \S+ DUE TO TIME LIMIT|DUE TO TIME LIMIT")),
    (
        "killed",
        re.compile(
            r"slurmstepd: error: .{0,80}CANCELLED|(?:^|\W)Killed(?:\s*$|\s{2,})|^KeyboardInterrupt|"
            + _PREFIX[1:]
            + r"KeyboardInterrupt\s*$|exit status 137|SignalException: .{0,60}got signal|Received SIGTERM"
            r"|terminated by signal 9|exitcode {0,4}: -9\b|^Terminated\s*$"
        ),
    ),
    (
        "error",
        re.compile(
            _PREFIX + r"(?:Traceback \(most recent call last\):|.{0,80}ChildFailedError"
            r"|terminate called after throwing an instance of|Fatal Python error: )"
            r"|Segmentation fault(?: \(core dumped\))?\s*$|^srun: error: .{1,80}: Exited with exit code [1-9]"
        ),
    ),
    (
        "finished",
        re.compile(
            r"^\W*(?:.{0,60}[-|\]:] ?)?(?:training (?:is )?(?:complete|completed|done|finished|has finished)\b"
            r"|finished training|done training|end of training)"
            r"|Training completed\. Do not forget to share|`Trainer\.fit` stopped|\[after training is done\]"
            r"|epochs completed in \d|Overall training speed:|Training of experiment is done|exits successfully"
            r"|\*{3,} train metrics \*{3,}|signaling trainer to stop"
            r"|^(?:\([^)]{1,60}\) )?\(?\W?final validation metrics:"
            r"|the training was finished at|(?:script|job|training) finished successfully",
            re.IGNORECASE,
        ),
    ),
)
_EXCEPTION = re.compile(_PREFIX + r"[A-Za-z_][\w.]{0,80}(?:Error|Exception|Exit)\b")
"""The line that closes a traceback, at the margin."""
TRACEBACK_LINES = 200
_SOURCE_LINE = re.compile(r"(?:^|[:;] )raise \w")
"""A traceback quotes the code that raised; the message itself follows and is the better evidence."""
_NONE: tuple[str | None, int] = (None, 0)


class EndingsFormat:
    """Reads how a run ended."""

    name = "endings"

    def __init__(self) -> None:
        self._ignored = False
        self._traceback = 0
        """Lines for which an exception is still waited for."""

    def read(self, line: Line, text: FileText, origin: Origin) -> tuple[StepEvent, ...]:  # noqa: ARG002
        """An end, with the line that tells it."""
        if line.text.startswith("Exception ignored in"):
            self._ignored = True  # the traceback that follows ended nothing
            return ()
        if self._traceback:
            self._traceback -= 1
        lower = line.text.lower()
        if lower.endswith("]") or not any(hint in lower for hint in _HINTS):  # bars end so, by the thousand
            self._ignored = False
            return ()
        if _SOURCE_LINE.search(line.text.strip()):
            return ()
        how, at = next(
            ((how, found.start()) for how, pattern in _ENDINGS if (found := pattern.search(line.text))), _NONE
        )
        if how == "error":
            self._traceback = TRACEBACK_LINES
        elif how is None and self._traceback and _EXCEPTION.match(line.text):
            how, self._traceback = "error", 0
        if how is None or (how == "error" and self._ignored):
            self._ignored = False
            return ()
        return (
            StepEvent(
                process=origin.process,
                source=self.name,
                where=origin.where,
                event_s=(stamp := line_time_s(line.text)),
                event_clock="none" if stamp is None else "text",
                seen_s=origin.seen_s,
                ended=how,
                confidence=0.7,
                evidence=_around(line.text, at),
            ),
        )


def _around(text: str, at: int) -> str:
    """The line from its beginning where what was found fits in, else from there on."""
    return text[:EVIDENCE_CHARS] if at < EVIDENCE_CHARS // 2 else text[at : at + EVIDENCE_CHARS]
