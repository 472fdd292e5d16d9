"""Starts and ends the real training process of the demo, in a folder of its own that goes when it goes."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from types import TracebackType

from monitor.simulation import trainer

FOLDER_PREFIX = "traintop-demo-"
LOCK_NAME = ".lock"
"""Held for as long as the starter lives, however it ends; a folder whose lock is free is left over."""

RUN_NAME = "demo-mlp"
MAX_STEPS = 36_000
"""At 40 ms a step and with the pauses some 28 minutes."""

_STOP_WAIT_S = 1.0


class DemoTrainer:
    """A running trainer and its folder. Use it as a context or call `stop`; it also ends when this process ends."""

    def __init__(self, process: subprocess.Popen[bytes], directory: str, lock: int) -> None:
        self.process = process
        self.directory = directory
        self._lock: int | None = lock

    @property
    def pid(self) -> int:
        """Its pid."""
        return self.process.pid

    def stop(self) -> None:
        """End it and remove its folder. May be called again."""
        if self._lock is None:
            return
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            self.process.wait(_STOP_WAIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)
        os.close(self._lock)
        self._lock = None

    def __enter__(self) -> DemoTrainer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def start_demo_trainer(
    *,
    step_ms: float = 40.0,
    max_steps: int = MAX_STEPS,
    eval_steps: int = 500,
    eval_seconds: float = 3.0,
    save_steps: int = 1000,
    logging_steps: int = 50,
) -> DemoTrainer:
    """Start the trainer in a new folder of the system's temporary one, after sweeping what dead demos left there.

    Raises:
        OSError: no folder can be made there, or no process started.
    """
    sweep_leftovers()
    directory = tempfile.mkdtemp(prefix=FOLDER_PREFIX)
    lock = _locked(directory)
    try:
        command = [sys.executable, "-I", trainer.__file__]
        command += ["--run_name", RUN_NAME, "--output_dir", f"out/{RUN_NAME}", "--max_steps", str(max_steps)]
        command += ["--per_device_train_batch_size", "16", "--learning_rate", "0.004", "--seed", "1"]
        command += ["--step_ms", f"{step_ms:g}", "--logging_steps", str(logging_steps)]
        command += ["--eval_steps", str(eval_steps), "--eval_seconds", f"{eval_seconds:g}"]
        command += ["--save_steps", str(save_steps), "--end_with_stdin"]
        with (
            open(os.path.join(directory, "train.log"), "wb") as out,
            open(os.path.join(directory, "train.err"), "wb") as err,
        ):
            process = subprocess.Popen(
                command, cwd=directory, stdin=subprocess.PIPE, stdout=out, stderr=err, start_new_session=True
            )
    except BaseException:
        os.close(lock)
        shutil.rmtree(directory, ignore_errors=True)
        raise
    return DemoTrainer(process, directory, lock)


def sweep_leftovers() -> None:
    """Remove this user's folders of demos that were ended without a chance to tidy up."""
    try:
        entries = [entry for entry in os.scandir(tempfile.gettempdir()) if entry.name.startswith(FOLDER_PREFIX)]
    except OSError:
        return
    for entry in entries:
        if _is_left_over(entry):
            shutil.rmtree(entry.path, ignore_errors=True)


def _is_left_over(entry: os.DirEntry[str]) -> bool:
    """True for a folder of our own (no link) whose lock nobody holds."""
    try:
        status = entry.stat(follow_symlinks=False)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
            return False
        lock = os.open(os.path.join(entry.path, LOCK_NAME), os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        return _try_lock(lock)
    finally:
        os.close(lock)


def _locked(directory: str) -> int:
    """The lock of a new folder, held. It gets its name only then, so that nobody sweeps a folder that is just begun."""
    unnamed = os.path.join(directory, LOCK_NAME + ".new")
    lock = os.open(unnamed, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    _try_lock(lock)
    os.rename(unnamed, os.path.join(directory, LOCK_NAME))
    return lock


def _try_lock(lock: int) -> bool:
    import fcntl  # not on Windows, where there is no demo

    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
