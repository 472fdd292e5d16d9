"""The container or batch job a process lives in, as /proc/PID/cgroup tells: version 1, version 2 and hybrids. Pure."""

from __future__ import annotations

import re

from monitor.clean import clean
from monitor.types.facts import Container

_ID = r"([0-9a-f]{64}|[0-9a-f]{32}(?:-[0-9]+)?)"
_RUNTIMES: tuple[tuple[str, re.Pattern[str]], ...] = (
    # Kubernetes first: its paths also name the runtime that runs the pod.
    ("kubernetes", re.compile(rf"kubepods.*?(?:(?:cri-containerd|crio|docker|containerd)-|/){_ID}(?:\.scope)?(?:/|$)")),
    ("podman", re.compile(rf"libpod-(?:payload-)?{_ID}")),
    ("docker", re.compile(rf"(?:^|/)docker[-/]{_ID}")),
    ("containerd", re.compile(rf"(?:cri-containerd|nerdctl|containerd)[-/:]{_ID}")),
    ("other", re.compile(rf"(?:^|/)[a-z0-9_.-]+/{_ID}$")),
    ("lxc", re.compile(r"(?:^|/)lxc(?:\.payload)?[./]([A-Za-z0-9_.-]{1,64})")),
)
_SLURM_JOB = re.compile(r"(?:^|/)job_(\d{1,12})(?:/|$)")
_SERVICE = re.compile(r"/([A-Za-z0-9@_.:\\-]{1,128}\.service)(?:/|$)")
_USER_SERVICE = re.compile(r"^user@\d+\.service$")


def cgroup_paths(text: str) -> dict[str, str]:
    """Paths by controller of a /proc/PID/cgroup; the unified hierarchy stands under the empty name."""
    paths: dict[str, str] = {}
    for line in text.splitlines()[:64]:
        parts = line.split(":", 2)
        if len(parts) == 3:
            for controller in parts[1].split(","):
                paths[controller.removeprefix("name=")] = parts[2]
    return paths


def container_of(text: str) -> Container | None:
    """What a /proc/PID/cgroup says; `None` for a plain login session or an unreadable text."""
    paths = list(dict.fromkeys(cgroup_paths(text).values()))
    job = next((match[1] for path in paths if (match := _SLURM_JOB.search(path)) and "slurm" in path), None)
    for runtime, pattern in _RUNTIMES:
        for path in paths:
            if match := pattern.search(path):
                found = match[1]
                short = found if runtime == "lxc" else found[:12]
                return Container(
                    runtime=runtime,
                    container_id=clean(short, 64),
                    name=clean(found, 64) if runtime == "lxc" else None,
                    slurm_job_id=job,
                )
    if job is not None:
        return Container(runtime="slurm", slurm_job_id=job)
    for path in paths:
        services = [name for name in _SERVICE.findall(path) if not _USER_SERVICE.match(name)]
        if services:
            return Container(runtime="systemd", name=clean(services[-1], 128))
    return None
