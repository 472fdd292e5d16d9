from __future__ import annotations

from tests.fake_nvml.fixtures import stub_library

__all__ = ["stub_library"]
