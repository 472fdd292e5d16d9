"""Invented messages for tests of the stream."""

from __future__ import annotations

from monitor.types.facts import ProcessFacts
from monitor.types.gpu import GpuSample
from monitor.types.identity import ProcessIdentity
from monitor.types.messages import Bye, Facts, Fault, Hello, Message, Snapshot, Text
from monitor.types.steps import StepEvent

START_S = 1_800_000_000.0


def identity(pid: int) -> ProcessIdentity:
    return ProcessIdentity(pid=pid, start_ticks=7)


def tick(number: int, boot_s: float | None = None) -> Snapshot:
    at_s = float(number) if boot_s is None else boot_s
    return Snapshot(
        taken_s=START_S + at_s,
        boot_s=1000.0 + at_s,
        sequence=number,
        gpus=(GpuSample(uuid="GPU-a", power_w=300.0 + number % 7),),
        steps=(StepEvent(process=identity(1), source="tqdm", step=float(number), evidence="loss 0.5 – gut"),),
    )


def stream(ticks: int) -> list[Message]:
    """A greeting, facts, ticks with a text and a fault in between, and an end."""
    messages: list[Message] = [
        Hello(taken_s=START_S, boot_s=1000.0, host="node07"),
        Facts(taken_s=START_S, boot_s=1000.0, processes=(ProcessFacts(process=identity(1), name="python"),)),
    ]
    for number in range(1, ticks + 1):
        messages.append(tick(number))
        at_s = START_S + number
        if number % 5 == 2:
            messages.append(Text(taken_s=at_s, boot_s=1000.0 + number, process=identity(1), lines=(f"step {number}",)))
        if number % 5 == 3:
            messages.append(Fault(taken_s=at_s, boot_s=1000.0 + number, key="k", source="driver", sentence="slow"))
    messages.append(Bye(taken_s=START_S + ticks, boot_s=1000.0 + ticks))
    return messages
