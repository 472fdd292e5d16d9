"""Checks of what the driver knows and refuses, of its events, sample buffers and of how a GPU is named."""

from __future__ import annotations

import os
import time

from benchmarks.on_gpu.assumptions import Check, Observed, Subject, judged, unknown
from benchmarks.on_gpu.sample_buffers import buffer
from monitor.clean import clean
from monitor.nvml.errors import INVALID_ARGUMENT, NOT_SUPPORTED, SUCCESS, TIMEOUT, Refusal
from monitor.nvml.events import handle_number
from monitor.nvml.gpm import GpmMeter

_UNKNOWN_FIELD = 9999
_EVENT_WAIT_MS = 200
_XID = 0x8


def _unknown_field(subject: Subject) -> Observed:
    """One field that nobody knows must not spoil the others of its batch."""
    values = subject.ask("nvmlDeviceGetFieldValues", [(_UNKNOWN_FIELD, 0), (83, 0), (186, 0)])
    codes = [int(value.nvmlReturn) for value in values]
    ok = codes[0] in (INVALID_ARGUMENT, NOT_SUPPORTED) and SUCCESS in codes[1:]
    return judged(ok, f"codes {codes} for field {_UNKNOWN_FIELD}, 83 and 186 in one call")


def _handles_last(subject: Subject) -> Observed:
    again = subject.target.caller.call("nvmlDeviceGetHandleByIndex", subject.target.index)
    if isinstance(again, Refusal):
        return judged(False, again.sentence)
    same = handle_number(again) == handle_number(subject.target.handle)
    return judged(same, "the second handle is the same pointer" if same else "the second handle is another pointer")


def _uuid_form(subject: Subject) -> Observed:
    uuid = subject.target.uuid
    return judged(uuid.startswith("GPU-") and len(uuid) == 40, f"{uuid[:4]}…, {len(uuid)} characters")


def _minor_is_device_file(subject: Subject) -> Observed:
    path = f"/dev/nvidia{subject.ask('nvmlDeviceGetMinorNumber')}"
    return judged(os.path.exists(path), f"{path} {'exists' if os.path.exists(path) else 'does not exist'}")


def _pci_in_sysfs(subject: Subject) -> Observed:
    bus_id = clean(subject.ask("nvmlDeviceGetPciInfo").busId, 32).lower()
    path = f"/sys/bus/pci/devices/{bus_id[-12:]}"
    return judged(
        os.path.exists(path), f"the driver says {bus_id}; {path} {'is' if os.path.exists(path) else 'is not'} there"
    )


def _temperatures_agree(subject: Subject) -> Observed:
    new, old = (subject.ask(name, 0) for name in ("nvmlDeviceGetTemperatureV", "nvmlDeviceGetTemperature"))
    return judged(abs(new - old) <= 2, f"{new} and {old} °C")


def _reasons_agree(subject: Subject) -> Observed:
    new, old = (subject.ask(f"nvmlDeviceGetCurrentClocks{word}Reasons") for word in ("Event", "Throttle"))
    return judged(new == old, f"{new:#x} and {old:#x}")


def _link_now_and_max(subject: Subject) -> Observed:
    now, best = subject.ask("nvmlDeviceGetCurrPcieLinkGeneration"), subject.ask("nvmlDeviceGetMaxPcieLinkGeneration")
    state = subject.ask("nvmlDeviceGetPerformanceState")
    return judged(0 < now <= best, f"generation {now} of {best} in performance state {state}")


def _event_wait(subject: Subject) -> Observed:
    caller = subject.target.caller
    event_set = caller.call("nvmlEventSetCreate")
    if isinstance(event_set, Refusal):
        return unknown(event_set.sentence)
    try:
        subject.ask("nvmlDeviceRegisterEvents", _XID, event_set)
        begun_s = time.monotonic()
        event = caller.call("nvmlEventSetWait_v2", event_set, _EVENT_WAIT_MS)
        took_ms = (time.monotonic() - begun_s) * 1000
    finally:
        caller.call("nvmlEventSetFree", event_set)
    code = event.code if isinstance(event, Refusal) else "an event"
    ok = code == TIMEOUT and took_ms < 3 * _EVENT_WAIT_MS
    return judged(ok, f"{code} after {took_ms:.0f} ms, asked to wait {_EVENT_WAIT_MS} ms")


def _xid_can_be_heard(subject: Subject) -> Observed:
    mask = subject.ask("nvmlDeviceGetSupportedEventTypes")
    return judged(bool(mask & _XID), f"supported types {mask:#x}")


def _gpm_by_generation(subject: Subject) -> Observed:
    major, minor = subject.ask("nvmlDeviceGetCudaComputeCapability")
    supported = GpmMeter(subject.target.caller).is_supported(subject.target.handle)
    return judged(supported == (major >= 9), f"compute capability {major}.{minor}, GPM {'yes' if supported else 'no'}")


def _gpm_for_this_user(subject: Subject) -> Observed:
    if not GpmMeter(subject.target.caller).is_supported(subject.target.handle):
        return unknown("no GPM here")
    sample = subject.target.caller.call("nvmlGpmSampleAlloc")
    if isinstance(sample, Refusal):
        return unknown(sample.sentence)
    taken = subject.target.call("nvmlGpmSampleGet", sample)
    subject.target.caller.call("nvmlGpmSampleFree", sample)
    user = "root" if os.geteuid() == 0 else "an ordinary user"
    if isinstance(taken, Refusal):
        return judged(False, f"as {user}: {taken.sentence}")
    return judged(True, f"as {user}: a sample was taken") if user != "root" else unknown("as root: a sample was taken")


def _sample_ring(subject: Subject, kind: int, spacing_ms: tuple[float, float], span_s: tuple[float, float]) -> Observed:
    row = buffer(subject.target, kind)
    if "refused" in row:
        return unknown(row["refused"]["sentence"])
    if row["count"] < 2:
        return unknown(f"{row['count']} samples")
    gap_ms, length_s = row["spacing_ms"]["median"], row["span_s"]
    ok = spacing_ms[0] <= gap_ms <= spacing_ms[1] and span_s[0] <= length_s <= span_s[1]
    return judged(ok, f"{row['count']} samples over {length_s} s, {gap_ms} ms apart (median)")


CHECKS = (
    Check("an unknown field spoils no batch", "only that field is refused (2 or 3)", _unknown_field, "rest"),
    Check("a handle lasts", "asked again it is the same", _handles_last, "rest"),
    Check("a UUID has its form", "GPU- and 36 characters", _uuid_form, "rest"),
    Check("the minor number names the device file", "/dev/nvidiaN exists", _minor_is_device_file, "rest"),
    Check("the PCI address is that of sysfs", "its last 12 characters, lower case", _pci_in_sysfs, "rest"),
    Check("both temperature calls agree", "within 2 °C", _temperatures_agree),
    Check("both calls for throttle reasons agree", "the same bits", _reasons_agree, "rest"),
    Check("the PCIe generation is sane", "now is at most the maximum; lower when idle is fine", _link_now_and_max),
    Check("waiting for events ends in time", "TIMEOUT (10) after about the time asked for", _event_wait, "rest"),
    Check("Xid events can be heard", "0x8 is among the supported types", _xid_can_be_heard, "rest"),
    Check("GPM begins with Hopper", "supported from compute capability 9.0 on", _gpm_by_generation, "rest"),
    Check("GPM is for ordinary users", "a sample without root", _gpm_for_this_user, "rest"),
    Check(
        "the power buffer",
        "about 120 samples, 20 ms apart, over 2.4 s",
        lambda subject: _sample_ring(subject, 0, (10, 40), (1.2, 5.0)),
    ),
    Check(
        "the utilisation buffer",
        "about 100 samples, 1/6 s apart, over 16 s",
        lambda subject: _sample_ring(subject, 1, (80, 340), (8, 35)),
    ),
)
