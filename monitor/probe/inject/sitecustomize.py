"""Loaded by every Python that finds this folder on PYTHONPATH: sets up the probe, then runs the one it hides.

Plain enough for Python 2.7 too, where it only hands on: a run may start other interpreters. Never raises of its own.
"""

import os
import sys

try:
    if sys.version_info >= (3, 8):  # noqa: UP036 - other interpreters load this too
        import _traintop_probe  # type: ignore[import-not-found]

        _traintop_probe.install()
except Exception:  # a run is never harmed by its monitor, and nobody asked for words
    pass

# The path is what it would be without us; children find this folder through the environment.
_here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [_path for _path in sys.path if os.path.abspath(_path) != _here]

if sys.version_info >= (3, 5):  # noqa: UP036
    import _frozen_importlib
    import _frozen_importlib_external

    _spec = _frozen_importlib_external.PathFinder.find_spec("sitecustomize", sys.path)
    if _spec is not None and _spec.loader is not None:
        # The hidden one takes the place of this one. What it raises, `site` reports just as it would without us.
        _theirs = _frozen_importlib.module_from_spec(_spec)
        sys.modules["sitecustomize"] = _theirs
        _spec.loader.exec_module(_theirs)
else:
    _ours = sys.modules.pop("sitecustomize")
    try:
        import sitecustomize  # noqa: F401 - the next one on the path
    except ImportError:
        sys.modules["sitecustomize"] = _ours
