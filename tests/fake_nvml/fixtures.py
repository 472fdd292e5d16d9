"""Fixtures over the fakes; a test folder imports them in its conftest."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fake_nvml.build_stub import build, compiler


@pytest.fixture(scope="session")
def stub_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the compiled stub, for LD_LIBRARY_PATH; skipped where there is no C compiler."""
    if compiler() is None:
        pytest.skip("no C compiler")
    return build(tmp_path_factory.mktemp("stub")).parent
