"""A training as a process of its own: started, looked at through its log, and ended for certain."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

from monitor.clean import clean

MODULE = "benchmarks.on_gpu.training"
CHECKOUT = Path(__file__).resolve().parents[2]
TAIL_BYTES = 16_384
TAIL_LINES = 20
END_S = 3.0
"""Given to a training between being asked and being killed."""
SMALL = ("--width", "64", "--layers", "1", "--batch", "4", "--sequence", "64")
"""For a machine where torch finds no GPU: the script is proved, the GPU is not."""

_STEP = re.compile(rb"^step (\d+)/", re.MULTILINE)
_PROBE = """
import json, sys
import torch
cuda = torch.cuda.is_available()
print(json.dumps({"version": torch.__version__, "cuda": cuda, "built_for": torch.version.cuda,
    "device": torch.cuda.get_device_name(0) if cuda else "cpu", "prefixes": [sys.prefix, sys.base_prefix]}))
"""


@dataclasses.dataclass(frozen=True)
class Torch:
    """What the interpreter of the trainings has. `prefixes` are its folders."""

    version: str
    cuda: bool
    built_for: str | None
    device: str
    prefixes: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Session:
    """One training. `grow_to` is the share of the GPU's memory to grow to; more than 1 runs out of memory."""

    name: str
    dtype: str
    seconds: float
    grow_to: float = 0.0


def find_torch(python: str, gpu_uuid: str, timeout_s: float) -> Torch | str:
    """Torch of that interpreter, or one sentence that says why there is none. Never imported into this process."""
    try:
        done = subprocess.run(
            [python, "-c", _PROBE], env=environment(gpu_uuid), capture_output=True, text=True, timeout=timeout_s
        )
    except subprocess.TimeoutExpired:
        return f"Importing torch took more than {timeout_s:.0f} s."
    except OSError as error:
        return f"The interpreter {clean(python, 200)} cannot be started: {error.strerror}."
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        return f"The interpreter {clean(python, 200)} has no torch: {clean(lines[-1] if lines else 'no message', 300)}"
    try:
        facts = json.loads(done.stdout.strip().splitlines()[-1])
        return Torch(
            clean(str(facts["version"]), 64),
            bool(facts["cuda"]),
            None if facts["built_for"] is None else clean(str(facts["built_for"]), 64),
            clean(str(facts["device"]), 96),
            tuple(str(prefix) for prefix in facts["prefixes"]),
        )
    except (ValueError, LookupError, TypeError):
        return "What torch says of itself cannot be read."


def environment(gpu_uuid: str) -> dict[str, str]:
    """Only the chosen GPU, and our code where the interpreter may be another one's."""
    return {**os.environ, "CUDA_VISIBLE_DEVICES": gpu_uuid, "PYTHONPATH": str(CHECKOUT)}


class TrainingProcess:
    """A running training. It leads a process group of its own, so that nothing of it is left behind."""

    def __init__(
        self, python: str, session: Session, seconds: float, folder: Path, gpu_uuid: str, sizes: tuple[str, ...]
    ) -> None:
        """Start it. `folder` is made; it gets the log, standard output and standard error in one.

        Raises:
            OSError: the folder, the log or the process cannot be made.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / "train.log"
        command = [python, "-m", MODULE, "--dtype", session.dtype, "--seconds", f"{seconds:g}", *sizes]
        if session.grow_to:
            command += ["--grow-to", str(session.grow_to)]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment(gpu_uuid),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Its pid."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it has not ended yet."""
        return self._process.poll() is None

    @property
    def exit_status(self) -> int | None:
        """Its status once it has ended; negative for a signal."""
        return self._process.poll()

    def last_step(self) -> int | None:
        """The newest step in its log."""
        found = _STEP.findall(self._tail())
        return int(found[-1]) if found else None

    def wait(self, seconds: float, *, for_step: bool = False) -> None:
        """Wait until it ends (or, with `for_step`, has made a step), at most so long."""
        end_s = time.monotonic() + seconds
        while time.monotonic() < end_s and self.is_running and not (for_step and self.last_step()):
            time.sleep(0.1)

    def tail(self) -> list[str]:
        """The last lines of its log, cleaned; of the many step lines only the last two."""
        lines: list[str] = [clean(line, 400) for line in self._tail().splitlines() if line.strip()]
        steps = [position for position, line in enumerate(lines) if line.startswith("step ")]
        dropped = set(steps[:-2])
        return [line for position, line in enumerate(lines) if position not in dropped][-TAIL_LINES:]

    def end(self) -> None:
        """End it and whatever it started, gently at first."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if not self.is_running:
                return
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(END_S)

    def _tail(self) -> bytes:
        try:
            with self.log.open("rb") as log:
                log.seek(max(0, os.fstat(log.fileno()).st_size - TAIL_BYTES))
                return log.read(TAIL_BYTES)
        except OSError:
            return b""
