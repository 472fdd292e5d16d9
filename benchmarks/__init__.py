"""Measurements: what traintop costs and how it compares. Nothing here is a test; figures are printed, not asserted."""
