"""The names of the demo, kept here so that a cheap look at the command line imports no profile."""

from __future__ import annotations

DEFAULT_PROFILE = "eight"
"""The same as `monitor.simulation.profiles.DEFAULT_PROFILE`; a test holds the two together."""

PLAIN_SECONDS = 4.0
"""How long the demo is watched where there is no live screen: long enough for a step rate that was really measured."""
