"""Print how near the finish times come: ours, the plain mean's, tqdm's and rich's on the same cuts of the same runs."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable
from pathlib import Path

from advisor.finish.estimator import FinishEstimator
from advisor.finish.plan import Plan
from benchmarks.finish.bars import BARS, mean_range, quantile
from benchmarks.finish.cuts import Cut, invented, recorded
from monitor.types.record import Range
from monitor.types.steps import ProgressPoint

MISSED = 1.0
"""No answer counts as an error of 100 %."""


class Scores:
    """What one group of cuts gave."""

    def __init__(self) -> None:
        self.errors: dict[str, list[float]] = {}
        self.covered: list[bool] = []
        self.intervals: list[tuple[float, float]] = []

    def add(self, cut: Cut, ours: Range | None) -> None:
        """Compare all answers for one cut with the truth."""
        self._error("ours", None if ours is None else ours.likely, cut.truth_s)
        for name, left in BARS.items():
            self._error(name, left(cut.seen, cut.total), cut.truth_s)
        if ours is None:
            return
        self.covered.append(ours.low <= cut.truth_s <= ours.high)
        theirs = mean_range(cut.seen, cut.total)
        if theirs is not None:
            self.intervals.append((_winkler(ours.low, ours.high, cut.truth_s), _winkler(*theirs, cut.truth_s)))

    def _error(self, name: str, answer_s: float | None, truth_s: float) -> None:
        error = MISSED if answer_s is None else abs(answer_s / truth_s - 1)
        self.errors.setdefault(name, []).append(error)

    def row(self, group: str) -> str:
        """One line of the table."""
        out = f"{group[:28]:28s} {len(self.errors['ours']):5d} |"
        for name in ("ours", *BARS):
            errors = self.errors[name]
            near = sum(error <= 0.1 for error in errors) / len(errors)
            out += (
                f" {_percent(quantile(errors, 0.5)):>6s} {_percent(quantile(errors, 0.9)):>6s} {_percent(near):>4s} |"
            )
        cover = sum(self.covered) / len(self.covered) if self.covered else 0.0
        if self.intervals:
            ratio = quantile([a for a, _ in self.intervals], 0.5) / quantile([b for _, b in self.intervals], 0.5)
            return f"{out} {_percent(cover):>5s} {ratio:6.2f}"
        return f"{out} {_percent(cover):>5s}      -"


def _winkler(low: float, high: float, truth: float) -> float:
    return (high - low + 10 * max(low - truth, truth - high, 0.0)) / truth


def _percent(ratio: float) -> str:
    return f"{100 * ratio:.0f}%" if ratio >= 0.1 else f"{100 * ratio:.1f}%"


def judge(cuts: Iterable[Cut]) -> str:
    """The table of all groups, and what an answer costs."""
    groups: dict[str, Scores] = {}
    adding_s: list[float] = []
    asking_s: list[float] = []
    for cut in cuts:
        points = [ProgressPoint(time_s=s, step=n, clock="text") for s, n in cut.seen]
        estimator = FinishEstimator()
        began = time.perf_counter()
        for point in points:
            estimator.add(point)
        added = time.perf_counter()
        left = estimator.estimate(Plan(total=cut.total))
        asking_s.append(time.perf_counter() - added)
        adding_s.append((added - began) / len(points))
        for group in {cut.group, cut.group.partition(":")[0]}:
            groups.setdefault(group, Scores()).add(cut, left.seconds)
    heads = "".join(f" {name:>18s} |" for name in ("ours", *BARS))
    lines = [
        "relative error of the time left: median, p90, share within 10 %; cover: of our 80 % range;",
        "score: of that range (Winkler, median) over that of the mean with its own past error; below 1 is better",
        "",
        f"{'':28s} {'cuts':>5s} |{heads} {'cover':>5s} {'score':>6s}",
        *(scores.row(group) for group, scores in sorted(groups.items())),
        "",
        f"a point added: {1e6 * quantile(adding_s, 0.5):.0f} us (median); an answer: "
        f"{1e3 * quantile(asking_s, 0.5):.1f} ms (median), {1e3 * max(asking_s):.1f} ms (most)",
    ]
    return "\n".join(lines)


def main() -> None:
    """Read the arguments and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.finish", description=__doc__)
    parser.add_argument("--traces", type=Path, help="folder of JSON Lines traces with time, step and total_steps")
    parser.add_argument("--seeds", type=int, default=12, help="invented runs of each family (default 12)")
    parser.add_argument("--first-seed", type=int, default=1000)
    arguments = parser.parse_args()
    if arguments.traces is not None and not arguments.traces.is_dir():
        parser.error(f"{arguments.traces}: no such folder")
    cuts = list(
        invented(arguments.seeds, arguments.first_seed) if arguments.traces is None else recorded(arguments.traces)
    )
    print(judge(cuts) if cuts else "no trace here that is long enough")


if __name__ == "__main__":
    main()
