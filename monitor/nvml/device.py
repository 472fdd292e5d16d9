"""One GPU: its handle, what it is, and how to read it. A GPU in trouble keeps its row, its index and its UUID."""

from __future__ import annotations

from typing import Any

import msgspec

from monitor.nvml.binding import Handle
from monitor.nvml.calls import FIRST_PAUSE_S, LONGEST_PAUSE_S
from monitor.nvml.errors import GPU_IS_LOST, INVALID_ARGUMENT, INVALID_STATE, RESET_REQUIRED, UNINITIALIZED, Refusal
from monitor.nvml.gpm import GpmMeter
from monitor.nvml.identity import PLACEHOLDER, Tools
from monitor.nvml.links import active_links
from monitor.nvml.metrics import SAMPLE_METRICS, THROTTLE_TIME, Tier
from monitor.nvml.mig import MigInstance, read_instances
from monitor.nvml.process_use import ProcessUse
from monitor.nvml.processes import Claim, ProcessList, ProcessLister
from monitor.nvml.reading import MetricReader
from monitor.nvml.sums import held_bytes, missing_of_list, process_records, unattributed_bytes
from monitor.types.gpu import EccCounts, GpmActivity, GpuIdentity, GpuSample, NvLink, PcieLink, ThrottleTime, XidEvent
from monitor.types.record import Missing

_NEEDS_RESET = (RESET_REQUIRED, INVALID_STATE)
_SHOWN_WHEN_BAD = ("gpu_util_ratio", "memory_used_bytes", "power_w", "temperature_c")
_FLAT = frozenset(GpuSample.__struct_fields__)
_MEMORY_FIELDS = ("memory_total_bytes", "memory_used_bytes", "memory_free_bytes", "memory_reserved_bytes")
_XID_OFF_THE_BUS = 79


class Device:
    """A GPU. `handle` is `None` as long as the driver does not give one out."""

    def __init__(self, tools: Tools, index: int, identity: GpuIdentity, handle: Handle) -> None:
        self._tools = tools
        self.identity = identity
        self.handle = handle
        self.reader = MetricReader(tools.caller, SAMPLE_METRICS, spread_s=float(index))
        self.lister = ProcessLister(tools.caller, tools.pid_max)
        self.use = ProcessUse(tools.caller)
        self.gpm = GpmMeter(tools.caller)
        self.instances: list[MigInstance] = []
        self.nvlinks: tuple[int, ...] | None = None
        self.process_list = ProcessList()
        self.is_stale = False
        """Set when the driver no longer knows the handle: GPUs must be listed again."""
        self.is_closed = False
        """Set when the library says that nobody opened it."""
        self.identity_changed = False
        self._groups: dict[str, Any] = {}
        self._bad: Refusal | None = None
        self._state = "ok"
        self._since_s: float | None = None
        self._retry_at_s = 0.0
        self._pause_s = FIRST_PAUSE_S

    @property
    def is_placeholder(self) -> bool:
        """True as long as nobody knows which GPU this is, because its handle was never given out."""
        return self.identity.uuid.startswith(PLACEHOLDER)

    @property
    def state(self) -> str:
        """GpuSample.state."""
        return self._state

    def mark_bad(self, refusal: Refusal) -> None:
        """The whole GPU does not answer, for this reason. Asked again after a growing pause."""
        self._bad = refusal
        state = _state_of(refusal)
        if state != self._state:
            self._state, self._since_s = state, self._tools.clock.wall_s()
        self._retry_at_s = self._tools.clock.boot_s() + self._pause_s
        self._pause_s = min(self._pause_s * 2, LONGEST_PAUSE_S)

    def take_over(self, old: Device) -> None:
        """Go on where another object for the same GPU, with an older handle, stood."""
        self._bad, self._state, self._since_s = old._bad, old._state, old._since_s
        self.identity_changed = True

    def may_ask(self) -> bool:
        """False while a pause after trouble lasts."""
        return self._tools.clock.boot_s() >= self._retry_at_s

    def read(self, *, is_shown: bool, shown_instances: frozenset[str]) -> tuple[GpuSample, ...]:
        """The GPU and its MIG instances now."""
        now_s = self._tools.clock.boot_s()
        if self.handle is None or not self.may_ask():
            return (self._bad_sample(), *self._bad_instances())
        if self._bad is not None:
            self.reader.ask_all_again()
        done = self.reader.read(self.handle, now_s)
        trouble = self._trouble()
        if trouble is not None:
            return self.fail(trouble)
        if self._bad is not None:
            self._recovered()
        if Tier.SLOW in done:
            self._check_instances()
        self._update_groups(done)
        return self._samples(now_s, is_shown=is_shown, shown_instances=shown_instances)

    def fail(self, refusal: Refusal) -> tuple[GpuSample, ...]:
        """The rows of a GPU that does not answer, for this reason."""
        self.mark_bad(refusal)
        return (self._bad_sample(), *self._bad_instances())

    def close(self) -> None:
        """Give back what the driver holds for us."""
        self.gpm.close()
        for instance in self.instances:
            instance.gpm.close()

    def _trouble(self) -> Refusal | None:
        reader = self.reader
        if reader.trouble is not None:
            self.is_stale = reader.trouble.code == INVALID_ARGUMENT
            self.is_closed = reader.trouble.code == UNINITIALIZED
            return reader.trouble
        return reader.last_failure if reader.answered_count == 0 else None

    def _recovered(self) -> None:
        self._bad, self._state, self._since_s = None, "ok", None
        self._pause_s = FIRST_PAUSE_S

    def _check_instances(self) -> None:
        """MIG instances come and go while we watch."""
        if not self.identity.mig_enabled:
            return
        found = read_instances(self._tools.caller, self.identity, self.handle, self._tools.pid_max)
        if [new.identity for new in found] != [old.identity for old in self.instances] or any(
            instance.trouble is not None for instance in self.instances
        ):
            for old in self.instances:
                old.gpm.close()
            self.instances = found
            self.identity_changed = True

    def _update_groups(self, done: frozenset[Tier]) -> None:
        """Nested records are built again only when one of their figures was asked for."""
        values = self.reader.values
        if Tier.RARE in done:
            self.nvlinks = active_links(self._tools.caller, self.handle)
        if Tier.SLOW in done or Tier.RARE in done:
            self._groups["ecc"] = EccCounts(**ecc) if (ecc := _part(values, "ecc.")) else None
        self._groups["nvlink"] = _nvlink(values, self.nvlinks)
        self._groups["throttle_times"] = tuple(
            ThrottleTime(reason=field[len(THROTTLE_TIME) :], total_s=value)
            for field, value in values.items()
            if field.startswith(THROTTLE_TIME)
        )

    def _samples(self, now_s: float, *, is_shown: bool, shown_instances: frozenset[str]) -> tuple[GpuSample, ...]:
        wall_s = self._tools.clock.wall_s()
        values = self.reader.values
        figures = {field: value for field, value in values.items() if field in _FLAT}
        missing = self.reader.missing()
        total = figures.get("memory_total_bytes") or self.identity.memory_total_bytes
        listed = self.process_list = self.lister.read(self.handle, total, now_s)
        if self.identity.unified_memory:
            figures, missing = self._with_system_memory(figures, missing, listed)
        by_instance = [tuple(claim for claim in listed.claims if _is_in(claim, part)) for part in self.instances]
        in_instances = {id(claim) for claims in by_instance for claim in claims}
        claims = tuple(claim for claim in listed.claims if id(claim) not in in_instances)
        use = None if self.identity.mig_enabled else self.use
        if use is not None and claims:
            pids = frozenset(claim.pid for claim in claims)
            use.update(self.handle, pids, figures.get("gpu_util_ratio"), wall_s, now_s)
        # What belongs to instances, or to the system as well, cannot be set against processes as a whole.
        used_bytes = None if self.instances or self.identity.unified_memory else figures.get("memory_used_bytes")
        sample = GpuSample(
            uuid=self.identity.uuid,
            taken_s=wall_s,
            **figures,
            **self._groups,
            pcie=self._pcie(values, now_s),
            gpm=self._gpm(now_s, is_shown=is_shown),
            xids=self._xids(),
            processes=process_records(claims, use, now_s),
            processes_known=listed.refusal is None,
            unattributed_bytes=unattributed_bytes(used_bytes, listed),
            missing=(*missing, *missing_of_list(used_bytes, listed)),
        )
        parts = [
            instance.read(claims, wall_s, now_s, instance.identity.uuid in shown_instances)
            for instance, claims in zip(self.instances, by_instance, strict=True)
        ]
        return (sample, *parts)

    def _with_system_memory(
        self, figures: dict[str, Any], missing: tuple[Missing, ...], listed: ProcessList
    ) -> tuple[dict[str, Any], tuple[Missing, ...]]:
        """Unified memory: total and free are the system's, used is what the listed GPU processes hold."""
        figures = {field: value for field, value in figures.items() if field not in _MEMORY_FIELDS}
        missing = tuple(entry for entry in missing if entry.field not in _MEMORY_FIELDS)
        system = self._tools.machine.memory_bytes()
        if system is None:
            return figures, (*missing, Missing(field="memory_total_bytes", reason="failed"))
        figures["memory_total_bytes"], figures["memory_free_bytes"] = system
        held = held_bytes(listed)
        if held is None:
            detail = "GPU and system share their memory, and the driver does not say what each process holds."
            return figures, (*missing, Missing(field="memory_used_bytes", reason="hidden", detail=detail))
        figures["memory_used_bytes"] = held
        return figures, missing

    def _pcie(self, values: dict[str, Any], now_s: float) -> PcieLink | None:
        if self.identity.unified_memory:  # an internal link, whose figures mean nothing
            return None
        received, transmitted = self._tools.pcie.value(self.identity.uuid, now_s)
        key = (values.get("pcie.generation"), values.get("pcie.width"), values.get("pcie.replay_count"))
        link = PcieLink(
            generation=key[0],
            width=key[1],
            replay_count=key[2],
            received_bytes_per_s=received,
            transmitted_bytes_per_s=transmitted,
        )
        return None if link == PcieLink() else link

    def _gpm(self, now_s: float, *, is_shown: bool) -> GpmActivity | None:
        if not is_shown:
            self.gpm.close()
            return None
        return self.gpm.read(self.handle, now_s)

    def _xids(self) -> tuple[XidEvent, ...]:
        return self._tools.events.xids(self.identity.uuid)

    def _bad_sample(self) -> GpuSample:
        refusal = self._bad
        sentence = "" if refusal is None else refusal.sentence
        xids = self._xids()
        if refusal is not None and refusal.code == GPU_IS_LOST:
            seen = any(event.xid == _XID_OFF_THE_BUS for event in xids)
            hint = "the driver reported Xid 79" if seen else "look for Xid 79 in the kernel log"
            sentence = (
                f"The GPU is lost: it fell off the bus ({hint}). Jobs on it are dead; it needs a reset or a reboot."
            )
        reason = "failed" if refusal is None else refusal.reason
        return GpuSample(
            uuid=self.identity.uuid,
            taken_s=self._tools.clock.wall_s(),
            state=self._state,
            state_since_s=self._since_s,
            state_detail=sentence,
            memory_total_bytes=self.identity.memory_total_bytes,
            xids=xids,
            processes_known=False,
            missing=tuple(Missing(field=field, reason=reason) for field in _SHOWN_WHEN_BAD),
        )

    def _bad_instances(self) -> tuple[GpuSample, ...]:
        parent = self._bad_sample()
        return tuple(
            msgspec.structs.replace(
                parent,
                uuid=instance.identity.uuid,
                memory_total_bytes=instance.identity.memory_total_bytes,
                xids=(),
            )
            for instance in self.instances
        )


def _state_of(refusal: Refusal) -> str:
    if refusal.code in _NEEDS_RESET:
        return "needs_reset"
    if refusal.reason == "lost":
        return "lost"
    if refusal.reason == "no_permission":
        return "no_permission"
    return "error"


def _is_in(claim: Claim, instance: MigInstance) -> bool:
    """Whether the parent's list places the process in this instance; one without a number stays with the parent."""
    return claim.gpu_instance_id is not None and instance.owns(claim)


def _part(values: dict[str, Any], prefix: str) -> dict[str, Any]:
    return {field[len(prefix) :]: value for field, value in values.items() if field.startswith(prefix)}


def _nvlink(values: dict[str, Any], active: tuple[int, ...] | None) -> NvLink | None:
    part = _part(values, "nvlink.")
    errors = [part.pop(field) for field in [field for field in part if field.startswith("error_count.")]]
    if not part and active is None:
        return None
    return NvLink(
        **part,
        active_count=None if active is None else len(active),
        error_count=sum(errors) if errors else None,
    )
