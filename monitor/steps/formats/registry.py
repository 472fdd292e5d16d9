"""The formats that every text is read with, in order. A new format is one file and its line here."""

from __future__ import annotations

from collections.abc import Callable

from monitor.steps.formats.announced import AnnouncedFormat
from monitor.steps.formats.banners import BannersFormat, announced_settings
from monitor.steps.formats.box_table import BoxTableFormat
from monitor.steps.formats.column_table import ColumnTableFormat
from monitor.steps.formats.endings import EndingsFormat
from monitor.steps.formats.epoch_bars import EpochBarsFormat
from monitor.steps.formats.figure_lines import FigureLinesFormat
from monitor.steps.formats.hf_dict import HfDictFormat
from monitor.steps.formats.json_line import JsonLineFormat
from monitor.steps.formats.known_lines import KnownLinesFormat
from monitor.steps.formats.line_format import FileText, LineFormat, Origin
from monitor.steps.formats.phase_words import PhaseWordsFormat
from monitor.steps.formats.prefixed_json import PrefixedJsonFormat
from monitor.steps.formats.step_line import StepLineFormat
from monitor.steps.formats.tqdm import TqdmFormat
from monitor.steps.lines import Line
from monitor.types.documents import Setting
from monitor.types.steps import StepEvent

FORMATS: tuple[Callable[[], LineFormat], ...] = (
    AnnouncedFormat,
    BannersFormat,
    TqdmFormat,
    HfDictFormat,
    JsonLineFormat,
    KnownLinesFormat,
    EpochBarsFormat,
    BoxTableFormat,
    ColumnTableFormat,
    PrefixedJsonFormat,
    StepLineFormat,
    PhaseWordsFormat,
    FigureLinesFormat,
    EndingsFormat,
)


class TextReader:
    """All formats over one text, with the state that they share."""

    def __init__(self) -> None:
        self._formats = tuple(make() for make in FORMATS)
        self._text = FileText()

    def read(self, line: Line, origin: Origin) -> list[StepEvent]:
        """What the formats find in a line, in their order."""
        events: list[StepEvent] = []
        for form in self._formats:
            events.extend(form.read(line, self._text, origin))
        return events

    def settings(self) -> tuple[Setting, ...]:
        """What the text has announced of when the run ends by itself."""
        return announced_settings(self._text)
