"""The real command over the compiled stub of the driver library: sentences, statuses, and a driver that hangs."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import jsonschema
import pytest

from tests.commands.test_real_command import MAIN, agents_of, one_object, run
from tests.fake_nvml.build_stub import build, compiler
from tests.terminal.pty_session import PtySession
from tui.outputs import schemas

pytestmark = [pytest.mark.slow, pytest.mark.skipif(compiler() is None, reason="no C compiler")]


@pytest.fixture(scope="module")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the stub."""
    folder = tmp_path_factory.mktemp("stub")
    build(folder)
    return folder


def environment(stub: Path, home: Path, **settings: object) -> dict[str, str]:
    fake = {f"FAKE_NVML_{name}": str(value) for name, value in settings.items()}
    own = {"LD_LIBRARY_PATH": str(stub), "HOME": str(home), "XDG_STATE_HOME": "", "TERM": "xterm-256color"}
    return {**os.environ, **own, **fake}  # whatever terminal the tests themselves run in


def test_eight_gpus(stub: Path, tmp_path: Path) -> None:
    done = run("once", "--json", env=environment(stub, tmp_path, GPUS=8))
    found = one_object("once", done.stdout)
    assert done.returncode == 0
    assert [gpu["index"] for gpu in found["gpus"]] == list(range(8))
    assert all(gpu["power_w"] > 0 for gpu in found["gpus"])


@pytest.mark.parametrize(
    ("code", "status", "words"), [(18, 1, "different versions"), (9, None, "driver"), (12, None, "driver")]
)
def test_a_driver_that_does_not_start_is_a_sentence_and_a_status(
    code: int, status: int | None, words: str, stub: Path, tmp_path: Path
) -> None:
    done = run("once", "--json", env=environment(stub, tmp_path, INIT_RC=code))
    found = one_object("once", done.stdout)
    assert words in found["driver_detail"]
    assert found["gpus"] == []
    assert done.returncode == (status if status is not None else 0 if found["driver_state"] == "absent" else 1)
    assert b"Traceback" not in done.stderr


def test_one_lost_gpu_hides_no_other(stub: Path, tmp_path: Path) -> None:
    done = run("once", "--json", env=environment(stub, tmp_path, GPUS=3, LOST_GPU=1))
    found = json.loads(done.stdout)
    jsonschema.validate(found, schemas.schema("once"))
    assert [gpu["state"] for gpu in found["gpus"]] == ["ok", "lost", "ok"]
    assert found["gpus"][1]["power_w"] is None
    assert done.returncode == 1


def test_a_driver_that_hangs_leaves_the_screen_usable(stub: Path, tmp_path: Path) -> None:
    env = environment(stub, tmp_path, GPUS=2, HANG_AFTER_S=1)
    with PtySession([sys.executable, MAIN], env, columns=120, rows=30) as one:
        assert one.read_until_shown("no answer from the driver", 12), one.picture()
        one.type(b"?")
        assert one.read_until_shown("esc: back", 3), one.picture()
        one.type(b"\x1b")
        one.read(0.5)
        one.type(b"q")
        assert one.wait(2) == 0
        assert one.attributes() == one.attributes_before
        assert agents_of(one.process.pid) == []
