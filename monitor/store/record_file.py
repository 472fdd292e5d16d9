"""One small file of state: private, replaced as a whole, and never trusted because it happens to be there."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile

MAX_BYTES = 4 * 1024 * 1024
"""Far more than the state may grow to; a larger file is not ours."""


class StateError(Exception):
    """The state cannot be kept here. The text is a sentence for the user."""


def state_folder(environment: dict[str, str]) -> str:
    """Where state lives: $XDG_STATE_HOME/traintop, else ~/.local/state/traintop (XDG base directory specification)."""
    base = environment.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):  # the specification says to ignore a relative one
        base = os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "traintop")


def prepare_folder(folder: str) -> None:
    """Make the folder, 0700, or check the one that is there.

    Raises:
        StateError: it belongs to somebody else, others may write in it, or it cannot be made.
    """
    try:
        os.makedirs(os.path.dirname(folder), mode=0o700, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)
        found = os.lstat(folder)
    except OSError as error:
        raise StateError(f"{folder} cannot be made: {error.strerror}; nothing is remembered.") from None
    if not stat.S_ISDIR(found.st_mode):
        raise StateError(f"{folder} is not a folder of ours; nothing is remembered.")
    _refuse_foreign(folder, found)


def read_private(path: str) -> bytes | None:
    """The bytes of a file of ours; `None` when there is none.

    Raises:
        StateError: it is no regular file, belongs to somebody else, others may write it, or it is far too large.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StateError(f"{path} cannot be opened: {error.strerror}.") from None
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise StateError(f"{path} is not a regular file.")
        _refuse_foreign(path, found)
        try:
            data = file.read(MAX_BYTES + 1)
        except OSError as error:
            raise StateError(f"{path} cannot be read: {error.strerror}.") from None
    if len(data) > MAX_BYTES:
        raise StateError(f"{path} is larger than {MAX_BYTES // 1024 // 1024} MiB and was not read.")
    return data


def replace_private(path: str, data: bytes) -> None:
    """Put `data` in place of the file, 0600, so that a reader sees the old file or the new one, never a part.

    Raises:
        StateError: it cannot be written.
    """
    temporary = None
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=".new-", dir=os.path.dirname(path))  # O_EXCL and 0600
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        raise StateError(f"{path} cannot be written: {error.strerror}.") from None


def set_aside(path: str) -> str:
    """Move a file that cannot be used out of the way and return its new name; only the latest such file is kept."""
    aside = path + ".broken"
    try:
        os.replace(path, aside)
    except OSError as error:
        raise StateError(f"{path} cannot be set aside: {error.strerror}.") from None
    return aside


def _refuse_foreign(path: str, found: os.stat_result) -> None:
    owner = os.getuid() if hasattr(os, "getuid") else found.st_uid
    if found.st_uid != owner:
        raise StateError(f"{path} belongs to another user; nothing is remembered.")
    if found.st_mode & 0o022:
        raise StateError(f"{path} can be written by other users; nothing is remembered until that is changed.")
