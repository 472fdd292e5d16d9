"""What lies beside a process: its settings, configuration files, checkpoints, versions and scheduler."""
