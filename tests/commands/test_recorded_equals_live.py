"""What a recording shows at its end is what was shown live, figure by figure."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.stream.agent_process import AgentProcess
from monitor.stream.recording import RecordingWriter
from monitor.types.messages import Message, Snapshot
from tui.commands.recording import recorded_messages
from tui.commands.watching import Watching, recorded_view
from tui.commands.wish import AgentWish
from tui.outputs.once_json import once_output
from tui.outputs.output import encode
from tui.outputs.paint import plain
from tui.outputs.text import picture
from tui.view import ViewBuilder


class _Recorder:
    """Is told every message that the view takes."""

    def __init__(self, path: str) -> None:
        self.writer = RecordingWriter(path)

    def note(self, message: Message) -> None:
        self.writer.write(message)


@pytest.mark.slow
def test_a_recording_ends_as_the_live_view_did(tmp_path: Path) -> None:
    path = str(tmp_path / "recording")
    recorder = _Recorder(path)

    def ticks(builder: ViewBuilder) -> bool:
        snapshot = builder.node.snapshot
        return isinstance(snapshot, Snapshot) and snapshot.sequence >= 8

    source = AgentProcess(AgentWish(0.25, demo="eight").arguments())
    live = Watching(source, recorder).until(ticks, 15)
    recorder.writer.close()
    replayed = recorded_view(recorded_messages(path)).view()
    assert live.snapshot is not None
    assert live.snapshot.sequence >= 8
    assert len(live.runs) > 2
    assert any(run.step_seconds is not None for run in live.runs)
    assert encode(once_output(replayed)) == encode(once_output(live))
    assert plain(picture(replayed, 160)) == plain(picture(live, 160))
    assert replayed.runs == live.runs
    assert replayed.holdings == live.holdings
