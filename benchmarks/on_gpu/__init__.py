"""One run of at most six minutes on a machine with an NVIDIA GPU: does the real driver behave as the fakes assume?"""
