"""What a simulated run writes: a progress bar on stderr and a line of figures every few steps on stdout."""

from __future__ import annotations

import math

from monitor.simulation.noise import noise, seed_of
from monitor.simulation.run import SimulatedRun
from monitor.simulation.timeline import Moment

_EVALUATION_BATCHES = 120
_BAR_CELLS = 10


def loss_at(run: SimulatedRun, step: int) -> float:
    """Training loss: a power law down to a floor, with noise."""
    plan = run.plan
    half_way = max(20.0, plan.total / 40)
    fallen = math.pow(1.0 + step / half_way, -0.65)
    smooth = plan.loss_floor + (plan.loss_first - plan.loss_floor) * fallen
    return max(0.0001, smooth * (1.0 + 0.025 * noise(run.seed, step)))


def figures_at(run: SimulatedRun, step: int) -> dict[str, float]:
    """What is logged at this step."""
    plan = run.plan
    done = step / max(1, plan.total)
    return {
        "loss": round(loss_at(run, step), 4),
        "grad_norm": round(0.8 * (1.0 + 0.4 * noise(seed_of(run.seed, "norm"), step)), 4),
        "learning_rate": plan.learning_rate * (1.0 - done),
        "epoch": round(step / plan.steps_per_epoch, 2),
    }


def figures_line(run: SimulatedRun, step: int) -> str:
    """The figures as the Hugging Face Trainer prints them."""
    return str(figures_at(run, step))


def logged_step(run: SimulatedRun, step: int) -> int:
    """The last step at or before this one whose figures were printed."""
    return step - step % run.plan.log_every


def bar_line(run: SimulatedRun, moment: Moment, elapsed_s: float) -> str:
    """The training bar, in the shape that tqdm prints."""
    return bar(moment.step, run.plan.total, elapsed_s)


def evaluation_line(moment: Moment) -> str:
    """The bar of a running evaluation."""
    done = int(_EVALUATION_BATCHES * moment.part)
    return bar(done, _EVALUATION_BATCHES, moment.phase_s)


def bar(done: int, total: int, elapsed_s: float) -> str:
    """One state of a progress bar."""
    share = done / total if total else 0.0
    filled = int(share * _BAR_CELLS)
    picture = "█" * filled + " " * (_BAR_CELLS - filled)
    if not done or elapsed_s <= 0:
        return f"{share * 100:3.0f}%|{picture}| {done}/{total} [{_hours(elapsed_s)}<?, ?it/s]"
    per_step_s = elapsed_s / done
    pace = f"{per_step_s:5.2f}s/it" if per_step_s > 1 else f"{1 / per_step_s:5.2f}it/s"
    left_s = (total - done) * per_step_s
    return f"{share * 100:3.0f}%|{picture}| {done}/{total} [{_hours(elapsed_s)}<{_hours(left_s)}, {pace}]"


def _hours(seconds: float) -> str:
    minutes, rest_s = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest_s:02d}" if hours else f"{minutes:02d}:{rest_s:02d}"


def tail_lines(run: SimulatedRun, at_s: float, count: int) -> tuple[str, ...]:
    """The last lines of its output at this time, oldest first; after its end with what it ended with."""
    plan = run.plan
    ended = at_s >= run.ends_s
    moment = run.moment(min(at_s, run.ends_s - 0.001))
    if moment is None:
        return ()
    if not plan.total:
        return ("(a simulated process that logs no steps)",)
    last = logged_step(run, moment.step)
    first = max(plan.log_every, last - (count - 2) * plan.log_every)
    lines = [figures_line(run, step) for step in range(first, last + 1, plan.log_every)]
    if ended:
        lines.extend(plan.ends_text if run.how != "finished" else ("Training completed.",))
    elif moment.phase == "evaluating":
        lines.append(evaluation_line(moment))
    else:
        lines.append(bar_line(run, moment, at_s - plan.starts_s - plan.startup_s))
    return tuple(lines[-count:])
