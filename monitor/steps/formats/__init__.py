"""Formats of log lines: each reads a counter, figures or an end out of clean text."""
