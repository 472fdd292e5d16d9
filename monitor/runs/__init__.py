"""Runs: processes grouped into what people call a run, and what is known of each."""
