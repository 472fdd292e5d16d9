"""A simulated node for the demo, tests and pictures: seeded and physically plausible."""
