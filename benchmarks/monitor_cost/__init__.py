"""What traintop costs beside nvitop and gpustat, all three over the same fake driver library."""
