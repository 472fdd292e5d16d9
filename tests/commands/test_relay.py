"""The hand-over from the first picture to the full screen loses nothing and keeps the order."""

from __future__ import annotations

from collections.abc import Callable

from monitor.types.messages import Bye, Message
from monitor.types.requests import Request, Stop
from tui.relayed import RelayedSource


def message(number: int) -> Message:
    return Bye(taken_s=float(number), boot_s=float(number))


class ManualSource:
    """Says what the test makes it say."""

    def __init__(self) -> None:
        self.exit_status = 0
        self.sent: list[Request] = []
        self.closed = False
        self.say: Callable[[Message], None] = lambda _message: None
        self.finish: Callable[[str], None] = lambda _reason: None

    def start(self, on_message: Callable[[Message], None], on_end: Callable[[str], None]) -> None:
        self.say, self.finish = on_message, on_end

    def send(self, request: Request) -> None:
        self.sent.append(request)

    def close(self) -> None:
        self.closed = True


def test_what_came_before_is_told_first_and_once() -> None:
    source = ManualSource()
    relay = RelayedSource(source)
    relay.begin()
    source.say(message(1))
    source.say(message(2))
    assert [one.taken_s for one in relay.early()] == [1.0, 2.0]
    assert relay.early() == []
    heard: list[float] = []
    ends: list[str] = []
    relay.start(lambda one: heard.append(one.taken_s), ends.append)
    source.say(message(3))
    assert heard == [1.0, 2.0, 3.0]
    assert ends == []
    source.exit_status = 1
    source.finish("over")
    assert (ends, relay.end, relay.exit_status) == (["over"], "over", 1)


def test_an_end_before_anybody_listened_is_told() -> None:
    source = ManualSource()
    relay = RelayedSource(source)
    relay.begin()
    source.finish("broken")
    ends: list[str] = []
    relay.start(lambda _message: None, ends.append)
    assert ends == ["broken"]


def test_requests_and_the_close_go_through() -> None:
    source = ManualSource()
    relay = RelayedSource(source)
    relay.send(Stop())
    relay.close()
    assert source.sent == [Stop()]
    assert source.closed
