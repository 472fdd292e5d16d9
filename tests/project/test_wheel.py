"""Installing adds exactly one name to site-packages, and the command runs wherever it is called from."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(CHECKOUT)],
        check=True,
        capture_output=True,
    )
    (built,) = out.glob("*.whl")
    return built


@pytest.mark.slow
def test_the_wheel_holds_one_top_level_name(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"traintop"}


@pytest.mark.slow
def test_installed_it_runs_beside_folders_that_shadow_its_own(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    # The dependencies of the running interpreter serve; only our wheel is unpacked, as pip would.
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    hostile = tmp_path / "their_project"
    for module in ("monitor/__init__.py", "advisor/__init__.py", "tui/__init__.py", "selectors.py", "traintop.py"):
        path = hostile / module
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("raise RuntimeError('a file of the user was imported')\n")
    script = tmp_path / "bin" / "traintop"
    script.parent.mkdir()
    script.write_text(
        f"import sys\nsys.path.append({str(site)!r})\nfrom traintop.__main__ import main\nsys.exit(main())\n"
    )
    environment = {**os.environ, "HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("PYTHONPATH", None)
    for arguments in (["--version"], ["once", "--json"], ["doctor", "--json"], ["free"], ["log", "no-such-file.log"]):
        done = subprocess.run(
            [sys.executable, str(script), *arguments], cwd=hostile, env=environment, capture_output=True, text=True
        )
        assert "a file of the user was imported" not in done.stderr + done.stdout, arguments
        assert "Traceback" not in done.stderr, (arguments, done.stderr)
        if "--json" in arguments:
            assert "schema" in json.loads(done.stdout)


@pytest.mark.slow
def test_installed_it_starts_runs_with_a_probe_in_them(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    start = f"import sys; sys.path.insert(0, {str(site)!r}); from traintop.__main__ import main; sys.exit(main())"
    look = "import sys, os; print(sys.modules['_traintop_probe'].__file__, 'monitor' in sys.modules)"
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path), "PYTHONPATH": ""}
    argv = [sys.executable, "-c", start, "run", "--", sys.executable, "-c", look]
    done = subprocess.run(argv, cwd=tmp_path, env=environment, capture_output=True, text=True)
    inject = site / "traintop" / "monitor" / "probe" / "inject" / "_traintop_probe.py"
    assert (done.stdout, done.stderr) == (f"{inject} False\n", "")


@pytest.mark.slow
def test_pip_installs_the_command(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--no-index",
            "--target",
            str(target),
            str(wheel),
        ],
        check=True,
        capture_output=True,
    )
    names = {path.name for path in target.iterdir() if not path.name.endswith(".dist-info") and path.name != "bin"}
    assert names == {"traintop"}
    assert (target / "bin" / "traintop").exists()
