"""Starting up: in every Python at hand, beside other people's sitecustomize, and with no torch imported for it."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from monitor.probe.folder import MARK
from monitor.probe.launch import inject_folder

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the probe works on Linux alone")

INJECT = Path(inject_folder())
VERSIONS = ("2.7", "3.6", "3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
LOOK = (
    "import sys; print(('sitecustomize' in sys.modules, '_traintop_probe' in sys.modules, 'torch' in sys.modules, "
    "[p for p in sys.path if 'inject' in p], len([f for f in sys.meta_path if type(f).__name__ == 'Finder'])))"
)
FAKE_TORCH = """
_pre, _post = {}, {}


def register_optimizer_step_pre_hook(hook):
    _pre[len(_pre)] = hook


def register_optimizer_step_post_hook(hook):
    _post[len(_post)] = hook


class Parameter:
    dtype, requires_grad, device = "torch.float32", True, None

    def numel(self):
        return 7


class Optimizer:
    def __init__(self):
        self.param_groups, self.state = [{"params": [Parameter()], "lr": 0.5}], {}

    def step(self):
        def wrapper():
            for hook in _pre.values():
                assert hook(self, (), {}) is None
            for hook in _post.values():
                assert hook(self, (), {}) is None

        wrapper()
"""
TRAIN = """
import os, sys
import torch.optim.optimizer as o
assert o.__loader__ is o.__spec__.loader and type(o.__loader__).__name__ == 'SourceFileLoader'
import inspect
inspect.getsource(o.Optimizer)
assert sys.modules['_traintop_steps']._probe is None
optimizer = o.Optimizer()
for _ in range(5):
    optimizer.step()
import struct
with open(os.environ['TRAINTOP_PROBE'] + '/probe-%d' % os.getpid(), 'rb') as file:
    print(struct.unpack_from('<QQ', file.read(), 64)[1])
"""


def interpreter(version: str) -> str:
    """A Python of that version: the one that runs, or one of pyenv's; the test is skipped where there is none."""
    if version == ".".join(map(str, sys.version_info[:2])):
        return sys.executable
    found = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
    if not found:
        pytest.skip(f"there is no Python {version} here")
    return str(found[-1])


def python(
    program: str, *flags: str, executable: str = sys.executable, paths: tuple[str, ...] = (), mark: str = ""
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(INJECT), *paths)), MARK: mark or "on"}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    return subprocess.run(
        [executable, *flags, "-c", program], env=environment, capture_output=True, text=True, timeout=30
    )


def fake_torch(folder: Path) -> str:
    """A torch of a few lines, so that every interpreter can make a step."""
    for name in ("torch/__init__.py", "torch/optim/__init__.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    (folder / "torch/optim/optimizer.py").write_text(FAKE_TORCH)
    return str(folder)


@pytest.mark.parametrize("version", VERSIONS)
def test_it_loads_quietly_and_counts(version: str, tmp_path: Path) -> None:
    executable = interpreter(version)
    loads = version not in ("2.7", "3.6", "3.7")
    done = python(LOOK, executable=executable)
    assert done.stderr == ""
    assert done.stdout.strip() == f"(True, {loads}, False, [], {int(loads)})"
    if loads:
        tmp_path.chmod(0o700)
        done = python(TRAIN, executable=executable, paths=(fake_torch(tmp_path / "fake"),), mark=str(tmp_path))
        assert (done.stdout, done.stderr) == ("5\n", "")


@pytest.mark.parametrize("version", VERSIONS)
def test_the_hidden_sitecustomize_runs(version: str, tmp_path: Path) -> None:
    executable = interpreter(version)
    (tmp_path / "sitecustomize.py").write_text("import sys\nTHEIRS = 1\nsys.stdout.write('theirs ')\n")
    program = "import sys; sys.stdout.write(str(sys.modules['sitecustomize'].THEIRS))"
    done = python(program, executable=executable, paths=(str(tmp_path),))
    assert (done.stdout, done.stderr) == ("theirs 1", "")


def test_an_error_in_the_hidden_one_is_reported_just_as_without_us(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("raise ValueError('theirs')\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    argv = [sys.executable, "-c", "print(1)"]
    without = subprocess.run(argv, env=environment, capture_output=True, text=True)
    done = python("print(1)", paths=(str(tmp_path),))
    assert (done.stdout, done.stderr) == (without.stdout, without.stderr)
    assert "ValueError: theirs" in done.stderr


@pytest.mark.parametrize(("flag", "loaded"), [("-I", False), ("-E", False), ("-S", False), ("-s", True), ("-O", True)])
def test_flags_that_leave_it_out(flag: str, loaded: bool) -> None:
    done = python("import sys; print('_traintop_probe' in sys.modules)", flag)
    assert (done.stdout, done.stderr) == (f"{loaded}\n", "")


def test_start_up_imports_next_to_nothing() -> None:
    environment = {**os.environ, "PYTHONPATH": str(INJECT)}
    program = "import sys; print(*sys.modules)"
    argv = [sys.executable, "-c", program]
    bare = subprocess.run([sys.executable, "-E", "-c", program], env=environment, capture_output=True, text=True)
    loaded = subprocess.run(argv, env=environment, capture_output=True, text=True)
    added = set(loaded.stdout.split()) - set(bare.stdout.split())
    assert added - {"sitecustomize", "__future__"} == {"_traintop_probe"}


def test_no_folder_no_harm(tmp_path: Path) -> None:
    """Nowhere to write: nothing is said and the run goes on."""
    program = TRAIN.partition("import struct")[0] + "print('done')"
    program = f"import os; os.geteuid = lambda: 4711\n{program}"  # no folder can belong to that one
    done = python(program, paths=(fake_torch(tmp_path / "fake"),), mark=str(tmp_path / "not" / "there"))
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_nobody_else_may_look_into_the_folder(tmp_path: Path) -> None:
    """A folder that others can enter is not used, and the file is for its user alone."""
    tmp_path.chmod(0o755)
    private = tmp_path / "run"
    private.mkdir(mode=0o700)
    program = TRAIN.partition("import struct")[0] + "print(sys.modules['_traintop_steps']._folder())"
    program = f"import os; os.environ['XDG_RUNTIME_DIR'] = {str(private)!r}\n{program}"
    done = python(program, paths=(fake_torch(tmp_path / "fake"),), mark=str(tmp_path))
    assert (done.stdout.strip(), done.stderr) == (str(private / "traintop"), "")
    (file,) = (private / "traintop").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert (private / "traintop").stat().st_mode & 0o777 == 0o700


CUDA = """
asked = []


def is_initialized():
    return bool(asked) or asked.append(1)


def memory_stats(device):
    return {
        "allocated_bytes.all.current": 5,
        "allocated_bytes.all.peak": 7,
        "reserved_bytes.all.current": 11,
        "reserved_bytes.all.peak": 13,
        "inactive_split_bytes.all.current": 3,
        "num_alloc_retries": 2,
        "num_ooms": 1,
        "num_device_alloc": 99,
    }
"""
ALLOCATOR = """
import json
import torch.cuda
steps = sys.modules['_traintop_steps']
probe, told = steps._probe, []
for _ in range(2):
    probe.next_ns = 0
    optimizer.step()
    told.append(probe.allocator)
print(json.dumps(told))
"""


def test_the_allocator_is_asked_only_once_cuda_runs(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    folder = Path(fake_torch(tmp_path / "fake"))
    (folder / "torch/cuda.py").write_text(CUDA)
    done = python(TRAIN + ALLOCATOR, paths=(str(folder),), mark=str(tmp_path))
    assert done.stderr == ""
    before, after = json.loads(done.stdout.splitlines()[-1])
    assert before == {}
    assert after == {
        "allocated_bytes": 5,
        "peak_allocated_bytes": 7,
        "reserved_bytes": 11,
        "peak_reserved_bytes": 13,
        "inactive_split_bytes": 3,
        "alloc_retries": 2,
        "ooms": 1,
    }


FUSED = """
import os, sys
import torch.optim.optimizer as o


class Device:
    type, index = "cuda", 0


class Kept:
    device = Device

    def numel(self):
        return 1

    def __float__(self):
        return 501.0


class CUDA:
    capturing = bool(int(os.environ["CAPTURING"]))

    def is_initialized(self):
        return True

    def is_current_stream_capturing(self):
        return self.capturing


sys.modules["torch.cuda"] = CUDA()
optimizer = o.Optimizer()
parameter = optimizer.param_groups[0]["params"][0]
optimizer.state[parameter] = {"step": Kept()}
optimizer.step()
print(sys.modules["_traintop_steps"]._probe.main.resumed_at)
"""


@pytest.mark.parametrize(("capturing", "resumed_at"), [("0", "500"), ("1", "0")])
def test_a_step_kept_on_the_gpu_is_fetched_once_but_never_into_a_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capturing: str, resumed_at: str
) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setenv("CAPTURING", capturing)
    done = python(FUSED, paths=(fake_torch(tmp_path / "fake"),), mark=str(tmp_path))
    assert (done.stdout.strip(), done.stderr) == (resumed_at, "")


def test_a_torch_of_another_shape_is_left_alone(tmp_path: Path) -> None:
    folder = Path(fake_torch(tmp_path))
    (folder / "torch/optim/optimizer.py").write_text("VALUE = 3\n")
    done = python("import torch.optim.optimizer as o; print(o.VALUE)", paths=(str(folder),))
    assert (done.stdout, done.stderr) == ("3\n", "")


@pytest.mark.parametrize("path", sorted(INJECT.glob("*.py")), ids=lambda path: path.name)
def test_the_syntax_is_old_and_the_imports_are_the_standard_library(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))
    named = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    named |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    own = {"_traintop_probe", "sitecustomize", "_frozen_importlib", "_frozen_importlib_external"}
    assert {name.split(".")[0] for name in named if name} - own <= sys.stdlib_module_names
    assert sorted(file.name for file in INJECT.iterdir() if file.suffix) == [
        "_traintop_probe.py",
        "_traintop_steps.py",
        "sitecustomize.py",
    ]
