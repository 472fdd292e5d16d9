"""The NVIDIA driver as a source of GPU samples. No method raises; each may block for as long as a sick driver does."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType

from monitor.clean import clean
from monitor.clock import Clock
from monitor.nvml.abilities import abilities
from monitor.nvml.binding import Answer, Binding, load_binding
from monitor.nvml.calls import Caller
from monitor.nvml.device import Device
from monitor.nvml.errors import ANSWER_BROKEN, Refusal, opening_sentence
from monitor.nvml.events import EventWatch
from monitor.nvml.identity import PLACEHOLDER, Tools, read_identity, read_uuid
from monitor.nvml.links import read_links
from monitor.nvml.machine import Machine
from monitor.nvml.throughput import PcieMeter, run_in_thread
from monitor.sources import DriverInfo
from monitor.types.gpu import GpuIdentity, GpuLink, GpuSample
from monitor.types.messages import Ability
from monitor.types.requests import Watch

_REOPEN_PAUSE_S = 10.0
_PUBLISH_PERIOD_S = 10.0
"""How often `info` is compared with what is known, besides when something is seen to change."""
_MAX_GPUS = 1024
_UNLISTED = Refusal("lost", "The driver no longer lists this GPU: it was removed, or it fell off the bus.")
_NO_GPU = "The NVIDIA driver works but has no GPU to offer: none is installed, or this container or job was given none."
_ASLEEP = "The GPU is powered down to save energy. traintop leaves it asleep and reads it as soon as it is in use."


class Driver:
    """Reads all GPUs through NVML. Implements `monitor.sources.GpuSource`.

    GPUs that are powered down are not woken; once in use, reading keeps them awake until `release`.
    `machine`, `import_module` and `start_thread` are there for tests; `with_events` waits for XID events on a thread.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        machine: Machine | None = None,
        import_module: Callable[[str], ModuleType] = importlib.import_module,
        start_thread: Callable[[Callable[[], None]], None] = run_in_thread,
        with_events: bool = True,
    ) -> None:
        self._clock = clock
        self._machine = machine or Machine()
        self._import_module = import_module
        self._start_thread = start_thread
        self._with_events = with_events
        self._binding: Binding | None = None
        self._tools: Tools | None = None
        self._devices: list[Device] = []
        self._links: tuple[GpuLink, ...] = ()
        self._readings = 0
        self._publish_at_s = 0.0
        self._state = "absent"
        self._detail = ""
        self._versions: tuple[str | None, str | None] = (None, None)
        self._sleeping: tuple[GpuIdentity, ...] = ()
        self._asleep_since_s = 0.0
        self._reopen_at_s = 0.0
        self._initialised = False
        self._info = DriverInfo(state="absent")

    # -- GpuSource ---------------------------------------------------------------------------------------------------

    def open(self) -> DriverInfo:
        """Find the driver and its GPUs. May be called again after `release`, or when there was no driver."""
        if not self._initialised:
            self._open()
            self._publish()
        return self._info

    def info(self) -> DriverInfo:
        """What was found; a new object whenever something changed."""
        return self._info

    def read(self, watch: Watch) -> tuple[GpuSample, ...]:
        """One sample per GPU and MIG instance, in the driver's order. Dear figures only for the GPUs that are shown."""
        if self._sleeping:
            if self._machine.sleeping_gpus():
                return self._sleeping_samples()
            self._sleeping = ()
            self._open()
            self._publish()
        if self._tools is None:
            return ()
        shown = frozenset(watch.gpu_uuids) if watch.view == "gpu" else frozenset()
        samples: list[GpuSample] = []
        for device in self._devices:
            samples.extend(_read(device, shown))
        self._measure_pcie(self._tools, shown)
        self._after_reading(self._tools)
        return tuple(samples)

    def release(self) -> None:
        """Let go of the GPUs: end the event thread, free buffers, close the library. `open` takes them again."""
        self._close()
        self._state, self._detail = "released", "traintop has let go of the GPUs."
        self._publish()

    # -- Opening and closing -----------------------------------------------------------------------------------------

    def _open(self) -> None:
        self._devices, self._links, self._readings = [], (), 0
        self._versions = (None, None)
        sleeping = self._machine.sleeping_gpus()
        if sleeping:
            self._fall_asleep(sleeping)
            return
        if self._binding is None:
            loaded = load_binding(self._import_module)
            if isinstance(loaded, str):
                self._state, self._detail = "failed", loaded
                return
            self._binding = loaded
        caller = Caller(self._binding)
        opened = caller.call("nvmlInit")
        if isinstance(opened, Refusal):
            self._state, self._detail = opening_sentence(
                opened, in_container=self._machine.in_container(), in_wsl=self._machine.in_wsl()
            )
            return
        self._initialised = True
        self._versions = (_text(caller.call("nvmlSystemGetDriverVersion")), _cuda_version(caller))
        self._tools = Tools(
            caller=caller,
            clock=self._clock,
            machine=self._machine,
            events=EventWatch(caller, self._clock),
            pcie=PcieMeter(caller, self._clock, self._start_thread),
            pid_max=self._machine.pid_max(),
        )
        devices = self._enumerate(self._tools, {})
        if isinstance(devices, Refusal) or not devices:
            self._close()
            self._state, self._detail = "absent", _NO_GPU
            if isinstance(devices, Refusal):
                self._state = "failed"
                self._detail = f"The NVIDIA driver does not say how many GPUs it has: {devices.sentence}"
            return
        self._devices = devices
        self._state, self._detail = "ok", ""
        if self._with_events:
            self._tools.events.start(
                tuple((device.identity.uuid, device.handle) for device in self._devices if device.handle is not None)
            )

    def _enumerate(self, tools: Tools, known: dict[str, Device]) -> list[Device] | Refusal:
        """A device for every index. A GPU that was known by its UUID keeps its place in history and its state."""
        count = tools.caller.call("nvmlDeviceGetCount")
        if isinstance(count, Refusal):
            return count
        devices = [self._device(tools, index, known) for index in range(min(int(count), _MAX_GPUS))]
        working = {device.identity.uuid for device in devices if device.handle is not None}
        # A number that gives no handle may have been that of a GPU which has another number now.
        devices = [device for device in devices if device.handle is not None or device.identity.uuid not in working]
        found = {device.identity.uuid for device in devices}
        gone = [device for uuid, device in known.items() if uuid not in found and not device.is_placeholder]
        for device in gone:
            device.handle = None
            device.mark_bad(_UNLISTED)
        return sorted((*devices, *gone), key=lambda device: device.identity.index)

    def _device(self, tools: Tools, index: int, known: dict[str, Device]) -> Device:
        handle = tools.caller.call("nvmlDeviceGetHandleByIndex", index)
        uuid = handle if isinstance(handle, Refusal) else read_uuid(tools.caller, handle)
        if isinstance(uuid, Refusal):
            device = next((old for old in known.values() if old.identity.index == index), None)
            if device is None:
                placeholder = GpuIdentity(uuid=f"{PLACEHOLDER}{index}", index=index, name=f"GPU {index}")
                device = Device(tools, index, placeholder, None)
            device.handle = None
            device.mark_bad(uuid)
            return device
        identity, instances = read_identity(tools, index, handle, uuid)
        device = Device(tools, index, identity, handle)
        device.instances = instances
        old = known.get(uuid)
        if old is not None:
            device.take_over(old)
        return device

    def _fall_asleep(self, addresses: tuple[str, ...]) -> None:
        self._state, self._detail = "ok", _ASLEEP
        self._asleep_since_s = self._clock.wall_s()
        self._sleeping = tuple(
            GpuIdentity(uuid=f"PCI-{address}", index=index, name="NVIDIA GPU", pci_bus_id=address)
            for index, address in enumerate(clean(address, 32) for address in addresses)
        )

    def _close(self) -> None:
        """Never at exit: only when asked to, and without `nvmlShutdown` while a call of the event thread hangs."""
        tools, self._tools = self._tools, None
        self._sleeping = ()
        if tools is None:
            return
        quiet = tools.events.stop()
        for device in self._devices:
            device.close()
        self._devices, self._links = [], ()
        if quiet and self._initialised:
            tools.caller.call("nvmlShutdown")
        self._initialised = False

    # -- Around a reading --------------------------------------------------------------------------------------------

    def _measure_pcie(self, tools: Tools, shown: frozenset[str]) -> None:
        """Start to measure PCIe throughput of the shown GPUs; where GPM gives it, the slow call is left out."""
        tools.pcie.measure(
            tuple(
                (device.identity.uuid, device.handle)
                for device in self._devices
                if device.identity.uuid in shown
                and device.handle is not None
                and device.state == "ok"
                and not device.identity.unified_memory
                and not device.gpm.is_supported(device.handle)
            )
        )

    def _after_reading(self, tools: Tools) -> None:
        """Repair what the reading showed to be broken, and say what changed. Links wait for the second reading."""
        self._readings += 1
        now_s = self._clock.boot_s()
        if any(device.is_closed for device in self._devices) and now_s >= self._reopen_at_s:
            self._reopen_at_s = now_s + _REOPEN_PAUSE_S
            self._close()
            self._open()
            self._publish()
            return
        changed = self._take_handles_again(tools) or any(device.identity_changed for device in self._devices)
        if self._readings == 2:
            working = tuple((device.identity, device.handle) for device in self._devices if device.handle is not None)
            nvlinks = {device.identity.uuid: device.nvlinks or () for device in self._devices}
            self._links = read_links(tools.caller, working, nvlinks)
        if changed or self._readings <= 2 or now_s >= self._publish_at_s:
            for device in self._devices:
                device.identity_changed = False
            self._publish_at_s = now_s + _PUBLISH_PERIOD_S
            self._publish()

    def _take_handles_again(self, tools: Tools) -> bool:
        """Ask once more for the handles of GPUs that gave none; list all anew when the driver has forgotten one.

        A forgotten handle means that GPUs were removed or MIG was changed: other handles may then mean other GPUs.
        True when something changed.
        """
        known = {device.identity.uuid: device for device in self._devices}
        if any(device.is_stale for device in self._devices) and self._clock.boot_s() >= self._reopen_at_s:
            self._reopen_at_s = self._clock.boot_s() + _REOPEN_PAUSE_S
            devices = self._enumerate(tools, known)
            if isinstance(devices, Refusal):
                return False
            self._devices = devices
            for device in devices:
                device.is_stale = False
                if device.handle is not None:
                    tools.events.register(device.identity.uuid, device.handle)
            return True
        changed = False
        for position, device in enumerate(self._devices):
            if device.handle is None and device.may_ask():
                fresh = self._device(tools, device.identity.index, known)
                if fresh is device:  # refused again
                    continue
                uuid = fresh.identity.uuid
                if uuid in known if device.is_placeholder else uuid != device.identity.uuid:
                    device.mark_bad(_UNLISTED)  # another GPU has its number now
                    continue
                self._devices[position], changed = fresh, True
                tools.events.register(uuid, fresh.handle)
        return changed

    def _publish(self) -> None:
        """Make a new `DriverInfo` when something differs from the last one."""
        identities: list[GpuIdentity] = list(self._sleeping)
        for device in self._devices:
            identities.append(device.identity)
            identities.extend(instance.identity for instance in device.instances)
        info = DriverInfo(
            state=self._state,
            detail=self._detail,
            driver_version=self._versions[0],
            cuda_version=self._versions[1],
            gpus=tuple(identities),
            links=self._links,
            abilities=self._abilities(),
        )
        if info != self._info:
            self._info = info

    def _abilities(self) -> tuple[Ability, ...]:
        return abilities(self._state, self._detail, self._versions[0], self._devices, self._tools)

    def _sleeping_samples(self) -> tuple[GpuSample, ...]:
        return tuple(
            GpuSample(
                uuid=identity.uuid,
                taken_s=self._clock.wall_s(),
                state="asleep",
                state_since_s=self._asleep_since_s,
                state_detail=_ASLEEP,
                processes_known=False,
            )
            for identity in self._sleeping
        )


def _read(device: Device, shown: frozenset[str]) -> tuple[GpuSample, ...]:
    """One device's samples; should reading it fail in a way that nobody thought of, the others are still shown."""
    try:
        return device.read(is_shown=device.identity.uuid in shown, shown_instances=shown)
    except Exception:
        return device.fail(ANSWER_BROKEN)


def _text(answer: Answer) -> str | None:
    return None if isinstance(answer, Refusal) else clean(answer, 64)


def _cuda_version(caller: Caller) -> str | None:
    """12090 is 12.9."""
    number = caller.call("nvmlSystemGetCudaDriverVersion_v2")
    if isinstance(number, Refusal):
        number = caller.call("nvmlSystemGetCudaDriverVersion")
    return None if isinstance(number, Refusal) else f"{number // 1000}.{number % 1000 // 10}"
