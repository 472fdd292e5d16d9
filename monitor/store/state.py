"""State on disk, read once and handed on as a value. Trouble with it is a sentence, never the end of the command."""

from __future__ import annotations

import os

import msgspec

from monitor.clean import clean
from monitor.clock import Clock, SystemClock
from monitor.store.record_file import (
    StateError,
    prepare_folder,
    read_private,
    replace_private,
    set_aside,
    state_folder,
)
from monitor.store.stored import StoredState, bounded

FILE_NAME = "state.json"


class StateStore:
    """The state of one user on one machine. `note` says what went wrong last; empty when nothing did."""

    def __init__(self, folder: str | None = None, clock: Clock | None = None) -> None:
        self.folder = state_folder(dict(os.environ)) if folder is None else folder
        self.note = ""
        self._clock = clock or SystemClock()
        self._usable = True

    @property
    def path(self) -> str:
        """The file."""
        return os.path.join(self.folder, FILE_NAME)

    def load(self) -> StoredState:
        """What was remembered; an empty state when there is none or it cannot be used (then `note` says why)."""
        self.note = ""
        try:
            prepare_folder(self.folder)
            data = read_private(self.path)
        except StateError as error:
            self._usable = False
            self.note = clean(str(error))
            return StoredState()
        if data is None:
            return StoredState()
        try:
            state = msgspec.json.decode(data, type=StoredState)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return self._without("cannot be read")
        if state.version != 1:
            return self._without(f"is of version {state.version}, which this traintop does not know,")
        return bounded(state, self._clock.wall_s())

    def save(self, state: StoredState) -> bool:
        """Remember this. False, with a `note`, when it could not be written; a place that was refused stays refused."""
        if not self._usable:
            return False
        now_s = self._clock.wall_s()
        state = msgspec.structs.replace(bounded(state, now_s), saved_s=round(now_s, 3))
        try:
            prepare_folder(self.folder)
            replace_private(self.path, msgspec.json.encode(state) + b"\n")
        except StateError as error:
            self.note = clean(str(error))
            return False
        return True

    def _without(self, what: str) -> StoredState:
        try:
            aside = set_aside(self.path)
        except StateError as error:
            self._usable = False
            self.note = clean(f"{self.path} {what} and stays as it is: {error}")
        else:
            self.note = clean(f"{self.path} {what} and was set aside as {os.path.basename(aside)}; we begin anew.")
        return StoredState()
