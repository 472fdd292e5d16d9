"""What a node says of itself before any source has answered."""

from __future__ import annotations

import os
import time

import msgspec

from monitor.clean import clean
from monitor.clock import Clock
from monitor.sources import DriverInfo
from monitor.types.messages import Ability, Hello


def first_hello(
    clock: Clock,
    interval_s: float,
    *,
    version: str = "",
    simulated: bool = False,
    abilities: tuple[Ability, ...] = (),
) -> Hello:
    """The greeting of this machine with the driver still being asked. Reads only files that cannot block."""
    local = time.localtime(clock.wall_s())
    return Hello(
        taken_s=round(clock.wall_s(), 3),
        boot_s=round(clock.boot_s(), 3),
        version=version,
        host=clean(os.uname().nodename, 255) if hasattr(os, "uname") else "",
        boot_id=_first_line("/proc/sys/kernel/random/boot_id"),
        pid_namespace=_link("/proc/self/ns/pid"),
        user=_user(),
        interval_s=interval_s,
        simulated=simulated,
        utc_offset_s=local.tm_gmtoff,
        zone=clean(local.tm_zone, 16),
        in_container=_in_container(),
        clock_ticks_per_s=os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100,
        abilities=abilities,
    )


def hello_with(hello: Hello, info: DriverInfo, taken_s: float, boot_s: float) -> Hello:
    """The greeting once the driver has answered. What the driver says works comes before what we say works."""
    local = time.localtime(taken_s)
    named = {ability.name for ability in info.abilities}
    return msgspec.structs.replace(
        hello,
        taken_s=taken_s,
        boot_s=boot_s,
        utc_offset_s=local.tm_gmtoff,
        zone=clean(local.tm_zone, 16),
        driver_state=info.state,
        driver_detail=info.detail,
        driver_version=info.driver_version,
        cuda_version=info.cuda_version,
        gpus=info.gpus,
        links=info.links,
        abilities=info.abilities + tuple(ability for ability in hello.abilities if ability.name not in named),
    )


def _user() -> str:
    uid = os.getuid() if hasattr(os, "getuid") else None
    try:
        import pwd  # its files may be on a network directory; a name that cannot be had is the number

        return clean("" if uid is None else pwd.getpwuid(uid).pw_name, 64)
    except (ImportError, KeyError, OSError):
        return "" if uid is None else str(uid)


def _first_line(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return clean(file.read(256).split(b"\n", 1)[0], 64)
    except OSError:
        return ""


def _link(path: str) -> str:
    try:
        return clean(os.readlink(path), 64)
    except OSError:
        return ""


def _in_container() -> bool:
    """Marker files of docker and podman, else a control group path that a container runtime made."""
    if os.path.exists("/.dockerenv") or os.path.exists("/run/.containerenv"):
        return True
    try:
        with open("/proc/self/cgroup", "rb") as file:
            groups = file.read(4096)
    except OSError:
        return False
    return any(word in groups for word in (b"docker", b"kubepods", b"containerd", b"libpod", b"/lxc"))
