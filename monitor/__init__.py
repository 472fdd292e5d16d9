"""What is: GPUs, processes, steps, facts, runs, history, recording, transport, state on disk."""
