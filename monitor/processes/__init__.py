"""Processes and the host, read from /proc."""
