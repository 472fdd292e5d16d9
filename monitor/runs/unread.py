"""Why a run's step cannot be read, and what would make it readable, from the least effort on."""

from __future__ import annotations

import re
from collections.abc import Sequence

from monitor.types.facts import OpenFile, ProcessFacts
from monitor.types.record import Missing

_TO_FILE = "start it with `> train.log 2>&1`"
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_SENTENCES = {
    "terminal": "goes to a terminal, which cannot be read from outside",
    "pipe": "goes into a pipe that leads to no readable file",
    "null": "is thrown away (/dev/null)",
    "socket": "goes to a socket (a service's journal or a notebook)",
    "deleted_file": "goes to a file that was deleted",
}
_STREAMS = ("stdout", "stderr")


def why_unread(trainers: Sequence[ProcessFacts]) -> Missing:
    """The reason for a missing step, as a sentence."""
    if trainers and not any(fact.mine for fact in trainers):
        user = next((fact.user for fact in trainers if fact.user), None)
        owner = f"it belongs to {user}" if user else "it belongs to another user"
        detail = f"{owner}: its output cannot be read from here; run traintop as that user{_container_way(trainers)}"
        return Missing(field="step", reason="no_permission", detail=detail)
    files = [file for fact in trainers for file in fact.open_files]
    refused = next((one for fact in trainers for one in fact.missing if one.field == "open_files"), None)
    if refused is not None and not files:
        return Missing(field="step", reason=refused.reason, detail=refused.detail or "its open files cannot be read")
    return _nothing_in(files)


def _nothing_in(files: Sequence[OpenFile]) -> Missing:
    """Where its output goes stands first, because a log may be anything that happens to be open for writing."""
    streams = sorted((file for file in files if file.role in _STREAMS), key=lambda file: _STREAMS.index(file.role))
    lost = next((file for file in streams if file.kind in _SENTENCES), None)
    names = ", ".join(list(dict.fromkeys(_short(file) for file in files if file.kind == "file"))[:3])
    if lost is None and not names:
        return Missing(field="step", reason="not_yet", detail="it writes to no file that is known here")
    if lost is None:
        return Missing(field="step", reason="not_yet", detail=f"no step has been found yet in what it writes ({names})")
    if any(file.kind == "file" for file in streams):
        detail = f"no step has been found yet in what it writes ({names}); its {lost.role} {_SENTENCES[lost.kind]}"
        return Missing(field="step", reason="not_yet", detail=f"{detail}; {_TO_FILE}")
    way = f"{_TO_FILE} or through `| tee train.log`" if lost.kind == "pipe" else _TO_FILE
    also = f"; nor is a step in what else it writes ({names})" if names else ""
    return Missing(field="step", reason="not_supported", detail=f"its output {_SENTENCES[lost.kind]}{also}; {way}")


def _container_way(trainers: Sequence[ProcessFacts]) -> str:
    """The command that shows a container's output; for a person to run, so only with a name that is plain."""
    for fact in trainers:
        container = fact.container
        if container is None or container.runtime not in ("docker", "podman"):
            continue
        for name in (container.name or "", container.container_id):
            if _PLAIN.fullmatch(name):
                return f" or look with `{container.runtime} logs {name}`"
    return ""


def _short(file: OpenFile) -> str:
    return file.path.rsplit("/", 1)[-1] or file.role
