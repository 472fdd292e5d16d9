"""traintop: `top` for training runs. This package is the installed command and nothing else."""

__version__ = "0.1.0"
