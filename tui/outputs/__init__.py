"""What goes to stdout: text, JSON and CSV, one file an output."""
