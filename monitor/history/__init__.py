"""History: ring buffers of figures over time, filled from the stream."""
