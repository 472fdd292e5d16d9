"""What a simulated run writes: a progress bar on stderr and a line of figures every few steps on stdout."""

from __future__ import annotations

import math

from monitor.simulation.noise import noise, seed_of
from monitor.simulation.run import SimulatedRun
from monitor.simulation.trainer import bar_text

_EVALUATION_BATCHES = 120
_SAVED_FILES = 8


def loss_at(run: SimulatedRun, step: int) -> float:
    """Training loss: a power law down to a floor, with noise."""
    plan = run.plan
    half_way = max(20.0, plan.total / 40)
    fallen = math.pow(1.0 + step / half_way, -0.65)
    smooth = plan.loss_floor + (plan.loss_first - plan.loss_floor) * fallen
    return max(0.0001, smooth * (1.0 + 0.025 * noise(run.seed, step)))


def figures_line(run: SimulatedRun, step: int) -> str:
    """The figures of a step, as the Hugging Face Trainer prints them."""
    plan = run.plan
    figures = {
        "loss": round(loss_at(run, step), 4),
        "grad_norm": round(0.8 * (1.0 + 0.4 * noise(seed_of(run.seed, "norm"), step)), 4),
        "learning_rate": plan.learning_rate * (1.0 - step / max(1, plan.total)),
        "epoch": round(step / plan.steps_per_epoch, 2),
    }
    return str(figures)


def logged_steps(run: SimulatedRun, after: int, until: int, count: int) -> list[int]:
    """The last `count` steps whose figures were printed, out of those after one step and up to another."""
    every = run.plan.log_every
    last = until - until % every
    first = max(every, after - after % every + every, last - (count - 1) * every)
    return list(range(first, last + 1, every))


def bars_at(run: SimulatedRun, at_s: float) -> tuple[str, ...]:
    """The bars that stand at the end of stderr: of training, and below it of an evaluation or a save that runs now."""
    moment = run.moment(at_s)
    if moment is None or moment.phase == "starting":
        return ()
    elapsed_s = run.timeline.age_of_step(moment.step) - run.plan.startup_s
    training = bar_text(moment.step, run.plan.total, elapsed_s)
    if moment.phase == "evaluating":
        done = int(_EVALUATION_BATCHES * moment.part)
        return (training, "Evaluating: " + bar_text(done, _EVALUATION_BATCHES, moment.phase_s))
    if moment.phase == "saving":
        done = int(_SAVED_FILES * moment.part)
        return (training, "Saving checkpoint: " + bar_text(done, _SAVED_FILES, moment.phase_s))
    return (training,)


def full_bar(run: SimulatedRun) -> str:
    """The bar after the last step."""
    return bar_text(run.plan.total, run.plan.total, run.timeline.duration_s - run.plan.startup_s)


def last_words(run: SimulatedRun) -> tuple[str, ...]:
    """What it prints when it ends."""
    if run.how != "finished":
        return run.plan.ends_text
    return (
        f"{{'train_runtime': {run.ends_s - run.plan.starts_s:.1f}, 'train_loss': {loss_at(run, run.plan.total):.4f}}}",
    )


def tail_lines(run: SimulatedRun, at_s: float, count: int) -> tuple[str, ...]:
    """The last lines of its output at this time, oldest first; after its end with what it ended with."""
    if not run.plan.total:
        return ("(a simulated process that logs no steps)",)
    alive_s = min(at_s, run.ends_s - 0.001)
    moment = run.moment(alive_s)
    if moment is None:
        return ()
    lines = [figures_line(run, step) for step in logged_steps(run, 0, moment.step, count)]
    if at_s >= run.ends_s:
        lines.extend(last_words(run))
    else:
        lines.extend(bars_at(run, alive_s))
    return tuple(lines[-count:])
