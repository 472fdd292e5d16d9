"""The settings file: read with one sentence for each fault, written atomically, never a reason to fail."""

from __future__ import annotations

import os
import re
import stat
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field

from monitor.clean import clean
from tui.settings.schema import SETTINGS, Setting, SettingValue

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_MAX_BYTES = 65_536


@dataclass(frozen=True)
class Settings:
    """What the user has set, defaults elsewhere."""

    path: str = ""
    """Where they are written to; empty: nowhere."""
    values: Mapping[str, SettingValue] = field(default_factory=lambda: {one.name: one.default for one in SETTINGS})
    complaints: tuple[str, ...] = ()
    """One sentence for each thing in the file that could not be used, with file and line."""

    @property
    def theme(self) -> str | None:
        """Name of the theme, where one is set."""
        return self._text("theme")

    @property
    def window(self) -> str | None:
        """Words of the time window, where one is set."""
        return self._text("window")

    @property
    def sort(self) -> str | None:
        """Order of the runs, where one is set."""
        return self._text("sort")

    @property
    def interval_s(self) -> float:
        """Seconds between two looks."""
        value = self.values["interval"]
        return value if isinstance(value, float) else 1.0

    @property
    def mouse(self) -> bool:
        """Whether the mouse is taken."""
        return self.values["mouse"] is not False

    @property
    def ascii(self) -> bool | None:
        """True: ASCII only; False: never; None: the locale decides."""
        value = self.values["ascii"]
        return value if isinstance(value, bool) else None

    def _text(self, name: str) -> str | None:
        value = self.values.get(name)
        return value if isinstance(value, str) else None


def load_settings(path: str) -> Settings:
    """Read the file. Whatever is wrong in it gets one sentence and the default; a missing file is no fault."""
    values: dict[str, SettingValue] = {one.name: one.default for one in SETTINGS}
    text, complaint = _read(path)
    if text is None:
        return Settings(path=path, values=values, complaints=(complaint,) if complaint else ())
    shown = clean(path, 300)
    try:
        found = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        sentence = f"{shown}: no valid TOML ({clean(str(error), 200)}); the defaults are used."
        return Settings(path=path, values=values, complaints=(sentence,))
    complaints: list[str] = []
    known = {one.name: one for one in SETTINGS}
    for name, value in found.items():
        where = f"{shown}, line {_line_of(text, name)}"
        setting = known.get(name)
        if setting is None:
            complaints.append(f"{where}: there is no setting {clean(name, 60)!r}{_nearest(name)}; it is ignored.")
            continue
        problem = _accept(setting, value, values)
        if problem:
            complaints.append(f"{where}: {name} {problem}; the default is used.")
    return Settings(path=path, values=values, complaints=tuple(complaints))


def _accept(setting: Setting, value: object, values: dict[str, SettingValue]) -> str:
    try:
        values[setting.name] = setting.accept(value)
    except (ValueError, TypeError) as error:
        return str(error)
    return ""


def _read(path: str) -> tuple[str | None, str]:
    """The text of the file, or `None` with a complaint (empty where there simply is no file)."""
    if not path:
        return None, ""
    shown = clean(path, 300)
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except (FileNotFoundError, NotADirectoryError):
        return None, ""
    except OSError as error:
        return None, f"{shown}: cannot be read ({error.strerror}); the defaults are used."
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None, f"{shown}: is no regular file; the defaults are used."
        try:
            data = file.read(_MAX_BYTES + 1)
        except OSError as error:
            return None, f"{shown}: cannot be read ({error.strerror}); the defaults are used."
    if len(data) > _MAX_BYTES:
        return None, f"{shown}: is larger than {_MAX_BYTES // 1024} KiB; the defaults are used."
    try:
        return data.decode("utf-8"), ""
    except UnicodeDecodeError as error:
        number = data[: error.start].count(b"\n") + 1
        return None, f"{shown}, line {number}: is not UTF-8; the defaults are used."


def _line_of(text: str, name: str) -> int:
    pattern = re.compile(rf"""\s*\[*\s*["']?{re.escape(name)}["']?\s*[=.\]]""")
    for number, one in enumerate(text.splitlines(), 1):
        if pattern.match(one):
            return number
    return 1


def _nearest(name: str) -> str:
    import difflib

    found = difflib.get_close_matches(name, [one.name for one in SETTINGS], n=1)
    return f" (did you mean {found[0]!r}?)" if found else ""


def save_setting(path: str, name: str, value: SettingValue) -> str:
    """Change one key, leaving the rest of the file and its comments as they are. Returns a sentence when it failed.

    Raises:
        ValueError: there is no such setting or the value is out of its bounds: a mistake in the program.
        TypeError: the value is of another kind.
    """
    setting = next((one for one in SETTINGS if one.name == name), None)
    if setting is None:
        raise ValueError(f"there is no setting {name!r}")
    setting.accept(value)
    if not path:
        return "There is no home directory to write the settings to."
    text, complaint = _read(path)
    if text is None and complaint:
        return complaint
    new = _with(text or "", name, value)
    try:
        tomllib.loads(text or "")
        tomllib.loads(new)
        _write(path, new)
    except tomllib.TOMLDecodeError:
        return f"{clean(path, 300)} cannot be changed safely and is left as it is."
    except OSError as error:
        return f"{clean(path, 300)} cannot be written: {error.strerror}."
    return ""


def _with(text: str, name: str, value: SettingValue) -> str:
    new = f"{name} = {_toml(value)}"
    lines = text.splitlines()
    tables = next((at for at, one in enumerate(lines) if one.lstrip().startswith("[")), len(lines))
    for at in range(tables):
        if re.match(rf"\s*{re.escape(name)}\s*=", lines[at]):
            lines[at] = new
            break
    else:
        lines.insert(tables, new)
    return "\n".join(lines) + "\n"


def _toml(value: SettingValue) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)


def _write(path: str, text: str) -> None:
    folder = os.path.dirname(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(prefix=".settings-", dir=folder)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
