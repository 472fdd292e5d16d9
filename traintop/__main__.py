"""The entry point: put the folder that holds our code first on `sys.path`, then start the command.

An installed traintop adds one name to site-packages, `traintop`; the folders `monitor`, `advisor`, `tui` and
`themes` lie inside it. In a checkout they lie beside it. Training repositories often have a `monitor` or an
`advisor` of their own, so ours must be found first, and only in this process.
"""

from __future__ import annotations

import os
import sys


def code_root() -> str:
    """The folder that holds `monitor/`, `advisor/`, `tui/` and `themes/`: inside this package when installed."""
    package = os.path.dirname(os.path.abspath(__file__))
    installed = os.path.isdir(os.path.join(package, "monitor"))
    return package if installed else os.path.dirname(package)


def main() -> int:
    """Run the command line and return its exit status."""
    root = code_root()
    if root in sys.path:
        sys.path.remove(root)
    sys.path.insert(0, root)
    from tui.start import start

    return start(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
