"""A child that speaks the stream and misbehaves in the way that its first argument names."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time


def say(text: str) -> None:
    os.write(1, text.encode() + b"\n")


def hello() -> None:
    say('{"type":"hello","taken_s":1800000000,"boot_s":1000,"host":"fake"}')


def snapshot(sequence: int) -> None:
    at = f'"taken_s":{1800000000 + sequence},"boot_s":{1000 + sequence}'
    say(f'{{"type":"snapshot",{at},"sequence":{sequence}}}')


def polite() -> None:
    hello()
    for line in sys.stdin:
        if '"stop"' in line:
            say('{"type":"bye","taken_s":1800000001,"boot_s":1001,"reason":"stopped on request"}')
            return
        say('{"type":"fault","taken_s":1800000001,"boot_s":1001,"key":"echo","source":"agent","sentence":"echo"}')


def deaf() -> None:
    """Answers nothing, reads nothing, and takes no SIGTERM, as one that hangs in the driver does."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    hello()
    time.sleep(60)


def dies() -> None:
    hello()
    snapshot(1)
    os.kill(os.getpid(), signal.SIGKILL)


def crashes() -> None:
    hello()
    sys.stderr.write("Traceback (most recent call last):\n  File 'x'\nModuleNotFoundError: No module named 'msgspec'\n")
    sys.stderr.flush()
    sys.exit(1)


def mumbles() -> None:
    """Hostile stderr: escape codes, a line of megabytes, no end of line, and far too much of it."""
    hello()
    os.write(2, b"\x1b]52;c;ZXZpbA==\x07 [red]title\xff\xe2\x80\xae\n")
    os.write(2, b"A" * 3_000_000 + b"\n")
    for number in range(2000):
        os.write(2, b"warning %d\r" % number)
    os.write(2, b"last words without an end")
    say('{"type":"bye","taken_s":1800000001,"boot_s":1001}')


def leaves() -> None:
    """Ends in good order without being asked, as an agent does whose administrator interrupts it."""
    hello()
    say('{"type":"bye","taken_s":1800000001,"boot_s":1001,"reason":"interrupted"}')


def foreign() -> None:
    say("Segmentation fault in the login shell")
    time.sleep(60)


def newer() -> None:
    say('{"type":"hello","taken_s":1800000000,"boot_s":1000,"protocol_major":2}')
    time.sleep(60)


def greets() -> None:
    say("Welcome to node07, dear user.")
    say("")
    polite()


def silent() -> None:
    return


def unknown() -> None:
    hello()
    say('{"type":"weather","taken_s":1,"boot_s":1}')
    say("{broken")
    snapshot(1)
    polite()


def quick() -> None:
    """Ticks fast."""
    say('{"type":"hello","taken_s":1800000000,"boot_s":1000,"interval_s":0.02}')
    for number in range(3000):
        snapshot(number)
        time.sleep(0.02)


def session() -> None:
    hello()
    fault = '"type":"fault","taken_s":1,"boot_s":1,"key":"session","source":"agent"'
    say(f'{{{fault},"sentence":"{os.getsid(0)}"}}')
    threading.Event().wait(60)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
