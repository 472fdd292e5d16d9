"""Small real training programs, and what the monitor says of them while they run."""
