"""What every test stands on."""

from __future__ import annotations

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # So a shell starts what runs in the background; children inherit it, and ^C would never end a command under test.
    signal.signal(signal.SIGINT, signal.default_int_handler)
