from __future__ import annotations

from monitor.stream.rereading import REREAD_S, Rereading
from monitor.types.messages import Message, Snapshot
from monitor.types.process import ProcessEnd
from monitor.types.steps import StepEvent
from tests.stream.invented import identity


def tick(at_s: float, *steps: float | None, pid: int = 1) -> Snapshot:
    events = tuple(StepEvent(process=identity(pid), source="tqdm", step=step) for step in steps)
    return Snapshot(taken_s=at_s, boot_s=at_s, steps=events)


def told(message: Message) -> list[float | None]:
    assert isinstance(message, Snapshot)
    return [event.step for event in message.steps]


def test_what_one_agent_told_the_next_does_not_tell_again() -> None:
    rereading = Rereading()
    assert told(rereading.filtered(tick(1.0, 10, 11, 12))) == [10, 11, 12]
    rereading.begin()
    assert told(rereading.filtered(tick(2.0, 9, 10, 11, 12, None, 13))) == [None, 13]
    assert told(rereading.filtered(tick(3.0, 12))) == [12], "a count that falls after it was caught up with has fallen"


def test_other_processes_and_later_falls_are_told() -> None:
    rereading = Rereading()
    rereading.filtered(tick(1.0, 100))
    rereading.begin()
    assert told(rereading.filtered(tick(2.0, 5, pid=2))) == [5]
    assert told(rereading.filtered(tick(3.0, 50))) == []
    assert told(rereading.filtered(tick(2.0 + REREAD_S + 0.1, 3))) == [3], "it was started again meanwhile"


def test_the_dead_are_forgotten() -> None:
    rereading = Rereading()
    rereading.filtered(tick(1.0, 100))
    rereading.filtered(Snapshot(taken_s=2, boot_s=2, ended=(ProcessEnd(process=identity(1), seen_s=2),)))
    rereading.begin()
    assert told(rereading.filtered(tick(3.0, 5))) == [5]
