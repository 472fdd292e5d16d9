"""A recording played back in its own time, or faster, as a message source."""

from __future__ import annotations

import threading
from collections.abc import Callable

from monitor.clock import Clock, SystemClock
from monitor.stream.codec import ForeignStreamError
from monitor.stream.recording import RecordingReader, open_recording
from monitor.types.identity import ProcessIdentity
from monitor.types.messages import Message, Text
from monitor.types.requests import Request, Tail

NOT_RECORDED = "not in this recording"
MIN_SPEED = 0.1
MAX_SPEED = 1000.0
MAX_BEHIND_S = 1.0
MAX_WAIT_S = 30.0
"""Of the viewer's time, for one message: whoever recorded slept meanwhile, or the time is made up; it is skipped."""


class Pace:
    """When a message is due, by the viewer's clock: its distance from the message before, divided by the speed."""

    def __init__(self, speed: float) -> None:
        self._speed = speed
        self._position_s: float | None = None
        self._due_s = 0.0

    @property
    def speed(self) -> float:
        """How many seconds of the recording pass in one of the viewer's."""
        return self._speed

    def set_speed(self, speed: float, now_s: float) -> None:
        """Change the speed; what is left to the next message shrinks or grows with it."""
        speed = min(MAX_SPEED, max(MIN_SPEED, speed))
        if self._due_s > now_s:
            self._due_s = now_s + (self._due_s - now_s) * self._speed / speed
        self._speed = speed

    def approach(self, boot_s: float, now_s: float) -> None:
        """The next message has this time stamp. A clock that went back (another boot) takes no time."""
        gap_s = 0.0 if self._position_s is None else max(0.0, boot_s - self._position_s)
        self._position_s = boot_s
        # Counted from the due time before, so that the time that painting takes does not add up. A viewer that fell
        # far behind goes on from now instead of racing through what it missed.
        from_s = self._due_s if now_s - self._due_s < MAX_BEHIND_S else now_s
        self._due_s = from_s + min(MAX_WAIT_S, gap_s / self._speed)

    def remaining_s(self, now_s: float) -> float:
        """How long until the message is due."""
        return self._due_s - now_s

    def shift(self, seconds: float) -> None:
        """Time that passed while paused."""
        self._due_s += seconds


class ReplaySource:
    """Plays a file, or standard input for "-". `speed` 1 is as it was."""

    def __init__(
        self,
        path: str,
        speed: float = 1.0,
        *,
        clock: Clock | None = None,
        sleep: Callable[[float], None] | None = None,
    ) -> None:
        """Open the recording.

        Raises:
            RecordingError: it cannot be opened; the sentence names the file.
        """
        self.exit_status = 0
        self._reader: RecordingReader = open_recording(path)
        self._clock = clock or SystemClock()
        self._pace = Pace(min(MAX_SPEED, max(MIN_SPEED, speed)))
        self._state = threading.Condition()
        self._sleep = sleep or self._sleep_on_state
        self._paused = False
        self._closed = False
        self._on_message: Callable[[Message], None] = lambda _message: None
        self._calling = threading.RLock()
        self._texts: dict[ProcessIdentity, Text] = {}
        self._stamps = (0.0, 0.0)

    @property
    def paused(self) -> bool:
        """Whether it stands still."""
        return self._paused

    @property
    def speed(self) -> float:
        """How many seconds of the recording pass in one of the viewer's."""
        return self._pace.speed

    @property
    def notes(self) -> tuple[str, ...]:
        """What was odd about the file, once it was read to its end."""
        return self._reader.notes

    def start(self, on_message: Callable[[Message], None], on_end: Callable[[str], None]) -> None:
        """Begin to play."""
        self._on_message = on_message
        threading.Thread(target=self._run, args=(on_end,), name="traintop-replay", daemon=True).start()

    def pause(self) -> None:
        """Stand still."""
        self._set_paused(True)

    def resume(self) -> None:
        """Go on."""
        self._set_paused(False)

    def set_speed(self, speed: float) -> None:
        """Play at another speed, from 0.1 to 1000."""
        with self._state:
            self._pace.set_speed(speed, self._clock.boot_s())
            self._state.notify_all()

    def send(self, request: Request) -> None:
        """Text is given as it was recorded; nothing else can be asked of a recording."""
        if not isinstance(request, Tail) or request.max_bytes <= 0:
            return
        taken_s, boot_s = self._stamps
        known = self._texts.get(request.process)
        self._deliver(
            known
            if known is not None
            else Text(taken_s=taken_s, boot_s=boot_s, process=request.process, refused=NOT_RECORDED)
        )

    def close(self) -> None:
        """Stop playing."""
        with self._state:
            self._closed = True
            self._state.notify_all()
        if self._calling.acquire(timeout=0.1):
            self._calling.release()

    def _run(self, on_end: Callable[[str], None]) -> None:
        try:
            for message in self._reader:
                self._wait_for(message)
                if self._closed:
                    self._reader.close()
                    return
                self._stamps = (message.taken_s, message.boot_s)
                if isinstance(message, Text):
                    self._texts[message.process] = message
                self._deliver(message)
            reason = " ".join(self._reader.notes)
        except ForeignStreamError as error:
            self.exit_status = 2
            reason = str(error)
        with self._calling:
            if not self._closed:
                on_end(reason)

    def _deliver(self, message: Message) -> None:
        with self._calling:
            if not self._closed:
                self._on_message(message)

    def _wait_for(self, message: Message) -> None:
        with self._state:
            self._pace.approach(message.boot_s, self._clock.boot_s())
        while not self._closed:
            with self._state:
                left_s = self._pace.remaining_s(self._clock.boot_s())
                paused = self._paused
            if paused:
                self._stand_still()
            elif left_s > 0:
                self._sleep(left_s)
            else:
                return

    def _stand_still(self) -> None:
        since_s = self._clock.boot_s()
        with self._state:
            self._state.wait_for(lambda: self._closed or not self._paused)
            self._pace.shift(self._clock.boot_s() - since_s)

    def _set_paused(self, paused: bool) -> None:
        with self._state:
            self._paused = paused
            self._state.notify_all()

    def _sleep_on_state(self, seconds: float) -> None:
        """Sleep until something changes or the time is over."""
        with self._state:
            if not (self._closed or self._paused):
                self._state.wait(seconds)
