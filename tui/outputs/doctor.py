"""What works on this machine, what does not, why, and what would fix it: `traintop doctor`."""

from __future__ import annotations

import importlib.metadata
import locale
import os
import sys

from monitor.types.messages import Ability, Hello
from tui.outputs.output import Output, moment
from tui.outputs.paint import Line, Span, line
from tui.settings.settings import Settings
from tui.terminal.ability import TerminalAbility
from tui.view import View

SCHEMA = "traintop.doctor/1"

_NEEDED = ("textual", "rich", "nvidia-ml-py", "psutil", "msgspec", "click")


class CheckOut(Output, frozen=True, kw_only=True):
    """One thing that works or does not."""

    name: str
    works: bool
    detail: str
    remedy: str


class DoctorOutput(Output, frozen=True, kw_only=True):
    """`traintop doctor --json`."""

    schema: str
    error: str | None
    taken_at: str | None
    host: str | None
    version: str | None
    checks: tuple[CheckOut, ...]
    faults: tuple[str, ...]


def failed(sentence: str) -> DoctorOutput:
    """The object for when the agent could not be asked."""
    return DoctorOutput(schema=SCHEMA, error=sentence, taken_at=None, host=None, version=None, checks=(), faults=())


def doctor_output(view: View, version: str, local: tuple[CheckOut, ...]) -> DoctorOutput:
    """What the agent found and what was found here."""
    hello = view.hello
    if hello is None:
        return DoctorOutput(
            schema=SCHEMA,
            error="The agent has not answered.",
            taken_at=None,
            host=None,
            version=version,
            checks=local,
            faults=(),
        )
    return DoctorOutput(
        schema=SCHEMA,
        error=None,
        taken_at=moment(view.taken_s, hello.utc_offset_s),
        host=hello.host or None,
        version=version,
        checks=(*_driver(hello), *(_check(one) for one in hello.abilities), *local),
        faults=tuple(f"{fault.source}: {fault.sentence}" for fault in view.faults),
    )


def _check(ability: Ability) -> CheckOut:
    return CheckOut(name=ability.name, works=ability.works, detail=ability.detail, remedy=ability.remedy)


_DRIVER = "NVIDIA driver"


def _driver(hello: Hello) -> tuple[CheckOut, ...]:
    """The driver in one line, where the agent has said nothing of it itself (it has not answered yet, or is older)."""
    return () if any(one.name == _DRIVER for one in hello.abilities) else (driver_check(hello),)


def driver_check(hello: Hello) -> CheckOut:
    """The driver as the greeting tells of it."""
    if hello.driver_state == "ok":
        cuda = f", CUDA {hello.cuda_version}" if hello.cuda_version else ""
        detail = f"version {hello.driver_version or 'unknown'}{cuda}, {len(hello.gpus)} GPUs and instances"
        return CheckOut(name=_DRIVER, works=True, detail=detail, remedy="")
    remedy = {
        "absent": "nothing to do on a machine without NVIDIA GPUs; in a container start it with --gpus all",
        "failed": "reboot or reload the driver's kernel module; see the sentence",
        "asking": "wait, or look in the kernel log for messages of NVRM",
        "released": "",
    }.get(hello.driver_state, "")
    words = {"asking": "it has not answered yet", "released": "its GPUs were let go on request"}
    detail = hello.driver_detail or words.get(hello.driver_state, hello.driver_state)
    return CheckOut(name=_DRIVER, works=False, detail=detail, remedy=remedy)


def local_checks(terminal: TerminalAbility, settings: Settings) -> tuple[CheckOut, ...]:
    """Terminal, locale, Python, dependencies, settings and permissions, as this process sees them."""
    return (
        _terminal(terminal),
        _locale(terminal),
        _colours(terminal),
        _python(),
        *_dependencies(),
        _settings(settings),
        _account(),
        _ptrace(),
    )


def _terminal(terminal: TerminalAbility) -> CheckOut:
    works = not terminal.live_refused
    detail = (
        f"{terminal.width}×{terminal.height}, TERM={os.environ.get('TERM', '')[:40]}"
        if works
        else terminal.live_refused
    )
    return CheckOut(
        name="live screen", works=works, detail=detail, remedy="" if works else "start it in a terminal, with TERM set"
    )


def _locale(terminal: TerminalAbility) -> CheckOut:
    name = locale.setlocale(locale.LC_CTYPE, None)
    detail = f"{name}; drawn with {'UTF-8' if terminal.unicode else 'ASCII only'}"
    return CheckOut(
        name="UTF-8", works=terminal.unicode, detail=detail, remedy="" if terminal.unicode else "export LC_ALL=C.UTF-8"
    )


def _colours(terminal: TerminalAbility) -> CheckOut:
    count = terminal.colours
    if count:
        detail = "16.7 million" if count > 256 else str(count)
    else:
        detail = "none" + (": NO_COLOR is set" if os.environ.get("NO_COLOR") else ": not a terminal that shows any")
    return CheckOut(name="colours", works=count > 0, detail=detail, remedy="")


def _python() -> CheckOut:
    version = ".".join(map(str, sys.version_info[:3]))
    works = sys.version_info >= (3, 10)
    return CheckOut(name="python", works=works, detail=version, remedy="" if works else "use Python 3.10 or newer")


def _dependencies() -> tuple[CheckOut, ...]:
    return tuple(_dependency(name) for name in _NEEDED) + _deprecated_binding()


def _dependency(name: str) -> CheckOut:
    try:
        return CheckOut(name=name, works=True, detail=importlib.metadata.version(name), remedy="")
    except importlib.metadata.PackageNotFoundError:
        return CheckOut(
            name=name, works=False, detail="not installed", remedy=f"install traintop again; it needs {name}"
        )


def _deprecated_binding() -> tuple[CheckOut, ...]:
    found: list[CheckOut] = []
    for name in ("pynvml", "nvidia-ml-py3"):
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        detail = f"{version} is installed too; it may stand in the place of nvidia-ml-py"
        found.append(
            CheckOut(name=name, works=False, detail=detail, remedy=f"uninstall {name}, then reinstall nvidia-ml-py")
        )
    return tuple(found)


def _settings(settings: Settings) -> CheckOut:
    if settings.complaints:
        return CheckOut(
            name="settings", works=False, detail=" ".join(settings.complaints), remedy="correct or remove the file"
        )
    detail = settings.path if settings.path and os.path.exists(settings.path) else "none; the defaults are used"
    return CheckOut(name="settings", works=True, detail=detail, remedy="")


def _account() -> CheckOut:
    if not hasattr(os, "geteuid"):
        return CheckOut(name="account", works=True, detail="this system has no user ids", remedy="")
    detail = (
        "root: sees every process; other users' arguments stay hidden all the same"
        if os.geteuid() == 0
        else "an ordinary user, as intended"
    )
    return CheckOut(name="account", works=True, detail=detail, remedy="")


def _ptrace() -> CheckOut:
    try:
        with open("/proc/sys/kernel/yama/ptrace_scope", encoding="ascii") as file:
            scope = file.read(8).strip()
    except OSError:
        scope = "not there"
    return CheckOut(
        name="ptrace_scope",
        works=True,
        detail=f"{scope}; not needed: nothing of a run is read through ptrace",
        remedy="",
    )


def doctor_text(output: DoctorOutput) -> list[Line]:
    """One line a check, with what would fix it below."""
    lines: list[Line] = []
    if output.error:
        lines.append(line(Span("! ", "bad"), output.error))
    for check in output.checks:
        sign = Span("ok  ", "good") if check.works else Span("no  ", "warn")
        lines.append(line(sign, Span(check.name, "strong"), f": {check.detail}" if check.detail else ""))
        if check.remedy and not check.works:
            lines.append(line(Span(f"      → {check.remedy}", "dim")))
    return lines + [line(Span("!   ", "bad"), fault) for fault in output.faults]
