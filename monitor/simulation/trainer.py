"""A real, small training: a two-layer network learns a curve. Standard library only, started as a process of its own.

It does what a training script does, so that a monitor has something real to read: a progress bar on stderr, lines of
figures on stdout, pauses for evaluation, checkpoint folders. It computes a few milliseconds a step and sleeps the rest.

It imports nothing of ours: `python -I trainer.py --output_dir out` runs it alone.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import os
import random
import shutil
import signal
import sys
import threading
import time
from pathlib import Path
from types import FrameType

_PR_SET_PDEATHSIG = 1
HIDDEN_UNITS = 24
EVALUATION_BATCHES = 40
BAR_EVERY_S = 0.25
BAR_CELLS = 10
STEPS_PER_EPOCH = 1000
MOMENTUM = 0.9


class Network:
    """y = w2 · tanh(w1 · x + b1) + b2, learned by gradient descent with momentum."""

    def __init__(self, seed: int) -> None:
        chance = random.Random(seed)  # noqa: S311 - initial weights, no secret
        self._chance = chance
        self.weights: dict[str, list[float]] = {
            "w1": [chance.uniform(-4.0, 4.0) for _ in range(HIDDEN_UNITS)],
            "b1": [chance.uniform(-3.0, 3.0) for _ in range(HIDDEN_UNITS)],
            "w2": [chance.uniform(-0.3, 0.3) for _ in range(HIDDEN_UNITS)],
            "b2": [0.0],
        }
        self._velocity = {name: [0.0] * len(values) for name, values in self.weights.items()}

    def batch(self, size: int) -> list[tuple[float, float]]:
        """Points of the curve to learn, with a little noise."""
        points = []
        for _ in range(size):
            x = self._chance.uniform(-2.0, 2.0)
            points.append((x, math.sin(3.0 * x) + 0.4 * math.sin(9.0 * x) + self._chance.gauss(0.0, 0.05)))
        return points

    def train(self, batch: list[tuple[float, float]], learning_rate: float) -> tuple[float, float]:
        """One step; the mean squared error before it and the length of the gradient."""
        w1, b1, w2, b2 = (self.weights[name] for name in ("w1", "b1", "w2", "b2"))
        slopes = {name: [0.0] * len(values) for name, values in self.weights.items()}
        loss = 0.0
        for x, wanted in batch:
            hidden = [math.tanh(w * x + b) for w, b in zip(w1, b1, strict=True)]
            error = sum(w * h for w, h in zip(w2, hidden, strict=True)) + b2[0] - wanted
            loss += error * error
            slopes["b2"][0] += error
            for unit, value in enumerate(hidden):
                slopes["w2"][unit] += error * value
                inner = error * w2[unit] * (1.0 - value * value)
                slopes["w1"][unit] += inner * x
                slopes["b1"][unit] += inner
        norm = 0.0
        for name, values in self.weights.items():
            for place in range(len(values)):
                slope = 2.0 * slopes[name][place] / len(batch)
                norm += slope * slope
                self._velocity[name][place] = MOMENTUM * self._velocity[name][place] - learning_rate * slope
                values[place] += self._velocity[name][place]
        return loss / len(batch), math.sqrt(norm)

    def loss(self, batch: list[tuple[float, float]]) -> float:
        """Mean squared error, learning nothing."""
        w1, b1, w2, b2 = (self.weights[name] for name in ("w1", "b1", "w2", "b2"))
        total = 0.0
        for x, wanted in batch:
            guess = sum(w * math.tanh(v * x + b) for w, v, b in zip(w2, w1, b1, strict=True)) + b2[0]
            total += (guess - wanted) ** 2
        return total / len(batch)


class Bar:
    """A progress bar on stderr in the shape that tqdm prints, redrawn a few times a second."""

    def __init__(self, total: int, label: str = "") -> None:
        self._total = total
        self._label = f"{label}: " if label else ""
        self._start_s = self._drawn_s = time.monotonic()

    def show(self, done: int) -> None:
        """Redraw where the last one is old enough, and always at the end."""
        now_s = time.monotonic()
        if done >= self._total or now_s - self._drawn_s >= BAR_EVERY_S:
            self._drawn_s = now_s
            sys.stderr.write("\r" + self._label + bar_text(done, self._total, now_s - self._start_s))
            if done >= self._total:
                sys.stderr.write("\n")
            sys.stderr.flush()


def bar_text(done: int, total: int, elapsed_s: float) -> str:
    """One state of a progress bar, in the shape that tqdm prints."""
    share = done / total
    picture = ("█" * int(share * BAR_CELLS)).ljust(BAR_CELLS)
    start = f"{share * 100:3.0f}%|{picture}| {done}/{total} [{clock_text(elapsed_s)}<"
    if not done or elapsed_s <= 0:
        return start + "?, ?it/s]"
    per_step_s = elapsed_s / done
    pace = f"{per_step_s:5.2f}s/it" if per_step_s > 1 else f"{1 / per_step_s:5.2f}it/s"
    return start + f"{clock_text((total - done) * per_step_s)}, {pace}]"


def clock_text(seconds: float) -> str:
    """Minutes and seconds, with hours where there are any."""
    minutes, rest_s = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest_s:02d}" if hours else f"{minutes:02d}:{rest_s:02d}"


class Training:
    """The loop: steps, lines of figures, evaluations, checkpoints."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._network = Network(options.seed)
        self._directory = Path(options.output_dir)
        self._directory.mkdir(parents=True, exist_ok=True)
        self._loss_sum = 0.0
        self._loss_count = 0
        self._due_s = time.monotonic()

    def run(self) -> None:
        """All steps."""
        options = self._options
        print(f"***** Running training *****\n  Total optimization steps = {options.max_steps}", flush=True)  # noqa: T201
        bar = Bar(options.max_steps)
        for step in range(1, options.max_steps + 1):
            batch = self._network.batch(options.per_device_train_batch_size)
            rate = options.learning_rate * (1.0 - 0.9 * step / options.max_steps)
            loss, norm = self._network.train(batch, rate)
            self._loss_sum += loss
            self._loss_count += 1
            self._wait(options.step_ms / 1000.0)
            bar.show(step)
            if step % options.logging_steps == 0:
                self._log(step, norm, rate)
            if step % options.eval_steps == 0:
                self._evaluate(step)
            if step % options.save_steps == 0:
                self._save(step)
        print("Training completed.", flush=True)  # noqa: T201

    def _wait(self, period_s: float) -> None:
        """Until the next step is due; after a hold-up (a stopped process) without catching up."""
        self._due_s = max(self._due_s + period_s, time.monotonic() - period_s)
        time.sleep(max(0.0, self._due_s - time.monotonic()))

    def _log(self, step: int, norm: float, rate: float) -> None:
        figures = {
            "loss": round(self._loss_sum / self._loss_count, 5),
            "grad_norm": round(norm, 5),
            "learning_rate": round(rate, 8),
            "epoch": round(step / STEPS_PER_EPOCH, 2),
        }
        self._loss_sum, self._loss_count = 0.0, 0
        print(figures, flush=True)  # noqa: T201

    def _evaluate(self, step: int) -> None:
        """A pause in training, with a bar of its own and little computing."""
        start_s = time.monotonic()
        bar = Bar(EVALUATION_BATCHES, "Evaluating")
        total = 0.0
        for batch in range(1, EVALUATION_BATCHES + 1):
            total += self._network.loss(self._network.batch(8))
            time.sleep(self._options.eval_seconds / EVALUATION_BATCHES)
            bar.show(batch)
        self._due_s = time.monotonic()
        figures = {
            "eval_loss": round(total / EVALUATION_BATCHES, 5),
            "eval_runtime": round(time.monotonic() - start_s, 2),
            "epoch": round(step / STEPS_PER_EPOCH, 2),
        }
        print(figures, flush=True)  # noqa: T201

    def _save(self, step: int) -> None:
        """One checkpoint folder; only the newest `save_total_limit` are kept."""
        folder = self._directory / f"checkpoint-{step}"
        folder.mkdir(exist_ok=True)
        state = {"global_step": step, "max_steps": self._options.max_steps, "epoch": step / STEPS_PER_EPOCH}
        (folder / "model.json").write_text(json.dumps(self._network.weights))
        (folder / "trainer_state.json").write_text(json.dumps(state))
        kept = sorted(self._directory.glob("checkpoint-*"), key=lambda path: int(path.name.rpartition("-")[2]))
        for old in kept[: -self._options.save_total_limit]:
            shutil.rmtree(old, ignore_errors=True)


def end_with_starter() -> None:
    """End when whoever started this ends: its pipe to our stdin closes, and on Linux the kernel sends a signal.

    The signal alone would not do: it comes when the starting *thread* ends, so it is obeyed only once the parent has
    changed.
    """
    parent = os.getppid()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        if os.getppid() != parent:
            os._exit(0)

    def on_stdin() -> None:
        while os.read(0, 4096):
            pass
        os._exit(0)

    threading.Thread(target=on_stdin, name="stdin", daemon=True).start()
    if sys.platform == "linux":
        signal.signal(signal.SIGUSR1, on_signal)
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGUSR1, 0, 0, 0)


def parse(arguments: list[str]) -> argparse.Namespace:
    """The command line, in the spelling that is usual for training scripts."""
    parser = argparse.ArgumentParser(description="A small real training that a demo shows.")
    parser.add_argument("--output_dir", required=True)
    parser.add_argument("--run_name", default="demo-mlp")
    parser.add_argument("--max_steps", type=int, default=36_000)
    parser.add_argument("--per_device_train_batch_size", type=int, default=16)
    parser.add_argument("--learning_rate", type=float, default=0.004)
    parser.add_argument("--logging_steps", type=int, default=50)
    parser.add_argument("--eval_steps", type=int, default=500)
    parser.add_argument("--eval_seconds", type=float, default=3.0)
    parser.add_argument("--save_steps", type=int, default=1000)
    parser.add_argument("--save_total_limit", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--step_ms", type=float, default=40.0)
    parser.add_argument("--end_with_stdin", action="store_true")
    return parser.parse_args(arguments)


def main() -> None:
    """Train until the steps are done or the starter ends."""
    options = parse(sys.argv[1:])
    if options.end_with_stdin:
        end_with_starter()
    Training(options).run()


if __name__ == "__main__":
    main()
