"""Reading a recording from its beginning to its end, with one sentence when that cannot be."""

from __future__ import annotations

from collections.abc import Iterator

import click

from monitor.types.messages import Message
from tui.outputs.paint import write_sentence


def recorded_messages(path: str) -> Iterator[Message]:
    """Every message, as fast as the file can be read; what was odd about it goes to stderr at the end.

    Raises:
        click.ClickException: it cannot be opened or is no recording.
    """
    from monitor.stream.codec import ForeignStreamError
    from monitor.stream.recording import RecordingError, open_recording

    try:
        reader = open_recording(path)
        yield from reader
    except (RecordingError, ForeignStreamError) as error:
        raise click.ClickException(str(error)) from None
    for note in reader.notes:
        write_sentence(f"traintop: {note}")
