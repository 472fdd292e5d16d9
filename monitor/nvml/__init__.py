"""The NVIDIA driver, through one choke point. The only importer of pynvml."""
