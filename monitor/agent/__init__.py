"""The agent: a child process that owns the driver and reads processes, and speaks the stream."""
