"""Why the driver did not answer: NVML's error codes as our reason words and as plain sentences with the way out.

The table is our own: the binding's text for half of the codes needs a working driver. Meanings after nvml.h
(`nvmlReturn_t`, API version 13).
"""

from __future__ import annotations

import dataclasses

SUCCESS = 0
UNINITIALIZED = 1
INVALID_ARGUMENT = 2
NOT_SUPPORTED = 3
NO_PERMISSION = 4
NOT_FOUND = 6
INSUFFICIENT_SIZE = 7
DRIVER_NOT_LOADED = 9
TIMEOUT = 10
LIBRARY_NOT_FOUND = 12
FUNCTION_NOT_FOUND = 13
GPU_IS_LOST = 15
RESET_REQUIRED = 16
LIBRARY_MISMATCH = 18
ARGUMENT_VERSION_MISMATCH = 25
INVALID_STATE = 29
UNKNOWN = 999


@dataclasses.dataclass(frozen=True, slots=True)
class Refusal:
    """A call that gave no value. `reason` is one of the words of `monitor.types.record.Missing`."""

    reason: str
    sentence: str
    code: int | None = None

    @property
    def is_final(self) -> bool:
        """True when asking again cannot help before the driver changes."""
        return self.reason in ("not_supported", "driver_too_old")


_TABLE: tuple[tuple[int, str, str], ...] = (
    (SUCCESS, "not_yet", "The driver has no samples for this yet."),
    (UNINITIALIZED, "failed", "The connection to the driver was closed; it is opened again."),
    (INVALID_ARGUMENT, "failed", "The driver no longer knows this GPU under its old handle; GPUs are listed again."),
    (NOT_SUPPORTED, "not_supported", "This GPU, or the mode it is in, does not have this figure."),
    (NO_PERMISSION, "no_permission", "The driver does not allow this to an ordinary user here."),
    (5, "failed", "The driver was already started by this process."),
    (NOT_FOUND, "not_yet", "The driver has nothing to report for this."),
    (INSUFFICIENT_SIZE, "failed", "The list grew while it was read; it is read again at the next tick."),
    (8, "failed", "A power cable of this GPU is missing or loose."),
    (DRIVER_NOT_LOADED, "failed", "The NVIDIA kernel module is not loaded."),
    (TIMEOUT, "timeout", "The driver did not answer in time."),
    (11, "failed", "The kernel has a problem with this GPU's interrupt; see the kernel log."),
    (LIBRARY_NOT_FOUND, "failed", "There is no NVIDIA driver library on this machine."),
    (FUNCTION_NOT_FOUND, "driver_too_old", "The installed driver is too old for this figure."),
    (14, "failed", "The GPU's own configuration memory is damaged; the board probably needs replacing."),
    (GPU_IS_LOST, "lost", "The GPU fell off the bus; it needs a reset or a reboot."),
    (RESET_REQUIRED, "lost", "The GPU must be reset before it works again."),
    (17, "no_permission", "The operating system or the container blocks access to the GPU's control device."),
    (LIBRARY_MISMATCH, "failed", "Driver and driver library have different versions."),
    (19, "failed", "The GPU is in use in a way that does not allow this."),
    (20, "failed", "The host has too little free memory for the driver."),
    (21, "not_yet", "The driver has no data for this yet."),
    (22, "not_supported", "This is not to be had on a vGPU while ECC is on."),
    (23, "failed", "The driver has run out of resources for this call."),
    (24, "not_supported", "The GPU does not have this frequency."),
    (ARGUMENT_VERSION_MISMATCH, "driver_too_old", "The installed driver does not know this version of the question."),
    (26, "driver_too_old", "The driver has dropped this question in favour of a newer one."),
    (27, "not_yet", "The GPU is not ready yet."),
    (28, "failed", "The driver found no such GPU."),
    (INVALID_STATE, "failed", "The GPU is in a state in which it does not answer; it may need a reset."),
    (30, "failed", "The GPU does not have this kind of reset; it may need a reboot."),
    (UNKNOWN, "failed", "The driver reported an unknown internal error."),
)

REFUSALS: dict[int, Refusal] = {code: Refusal(reason, sentence, code) for code, reason, sentence in _TABLE}
NAME_MISSING = Refusal("driver_too_old", "The installed nvidia-ml-py is too old for this figure.")
ANSWER_BROKEN = Refusal("failed", "The driver's answer could not be read.")
IMPOSSIBLE = Refusal("failed", "The driver gave a figure that cannot be true.")


def refusal_of_code(code: int) -> Refusal:
    """The refusal for an NVML return code, also for codes that nobody has named yet."""
    known = REFUSALS.get(code)
    return known or Refusal("failed", f"The driver answered with the unknown error code {code}.", code)


def refusal_of_error(error: Exception) -> Refusal:
    """The refusal for whatever the binding raised. `NVMLError` is unhashable, so only its number is used."""
    code = getattr(error, "value", None)
    if isinstance(code, int):
        return refusal_of_code(code)
    if type(error).__name__ == "NVMLLibraryMismatchError":
        return REFUSALS[FUNCTION_NOT_FOUND]
    if isinstance(error, TypeError):  # an old binding without this argument
        return NAME_MISSING
    return ANSWER_BROKEN


def opening_sentence(refusal: Refusal, *, in_container: bool, in_wsl: bool) -> tuple[str, str]:
    """DriverInfo.state and one plain sentence, with the way out, for an error at `nvmlInit`."""
    code = refusal.code
    if code == LIBRARY_NOT_FOUND:
        if in_container:
            return "absent", (
                "No NVIDIA driver library in this container: start it with --gpus and the driver capability `utility`."
            )
        if in_wsl:
            return (
                "absent",
                "No NVIDIA driver library: install NVIDIA's Windows driver (not a Linux one) and run wsl --update.",
            )
        return "absent", "No NVIDIA driver library (libnvidia-ml.so.1) on this machine: it has no NVIDIA driver."
    if code == DRIVER_NOT_LOADED:
        if in_container:
            return "absent", (
                "The NVIDIA driver library is here but not the driver: no /dev/nvidiactl in this container, "
                "or the kernel module is not loaded on the host."
            )
        return "absent", (
            "The NVIDIA kernel module is not loaded: load it (modprobe nvidia), or rebuild it after a kernel update."
        )
    if code == LIBRARY_MISMATCH:
        way_out = "restart this container" if in_container else "reboot, or reload the kernel module"
        return "failed", (f"Driver and driver library have different versions, usually after an update: {way_out}.")
    if code == UNKNOWN and in_container:
        return "failed", (
            "The driver reports an unknown error. Where this container saw its GPUs before, the host has usually "
            "taken them away (systemctl daemon-reload does): restart this container."
        )
    if code == NO_PERMISSION:
        return (
            "failed",
            "No permission to open the NVIDIA devices: check the rights of /dev/nvidiactl and /dev/nvidia*.",
        )
    return "failed", f"The NVIDIA driver did not start: {refusal.sentence}"
