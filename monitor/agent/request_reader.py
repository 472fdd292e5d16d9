"""Requests from the front end, read on a thread of their own. End of file means that nobody is there any more."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from monitor.stream.codec import RequestDecoder
from monitor.types.requests import Request


class RequestReader:
    """Calls `on_request` for each request and `on_end` once, both on the reading thread."""

    def __init__(self, descriptor: int, on_request: Callable[[Request], None], on_end: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._on_request = on_request
        self._on_end = on_end

    def start(self) -> None:
        """Begin on a daemon thread."""
        threading.Thread(target=self._run, name="traintop-requests", daemon=True).start()

    def _run(self) -> None:
        decoder = RequestDecoder()
        while True:
            try:
                data = os.read(self._descriptor, 65536)
            except OSError:
                data = b""
            if not data:
                self._on_end()
                return
            for request in decoder.feed(data):
                self._on_request(request)
