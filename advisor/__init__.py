"""What it means: finish times now; workload, memory and speed models, diagnosis and advice later. Pure functions."""
