"""`python -m benchmarks.on_gpu`: at most six minutes on a machine with an NVIDIA GPU; see docs/on_gpu.md."""

from __future__ import annotations

import argparse
import math
import os
import signal
import sys
from pathlib import Path
from types import FrameType

from benchmarks.on_gpu.study import TOTAL_S, Options, Study

WATCH_S = 3.0


def seconds(text: str) -> float:
    """A positive number of seconds from the command line.

    Raises:
        argparse.ArgumentTypeError: it is none.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return value


def arguments(argv: list[str] | None = None) -> Options:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.on_gpu", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("on_gpu_report"), help="folder for report and recording")
    parser.add_argument("--seconds-per-part", type=seconds, help="shorten every part to so long")
    parser.add_argument("--seconds", type=seconds, default=TOTAL_S, help="end after so long (%(default)s)")
    parser.add_argument("--gpu", type=int, help="measure the GPU of this index; by default the first free one")
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has torch, for the trainings")
    parser.add_argument(
        "--share",
        action="store_true",
        help="train on a GPU in use too (a screen hangs on it), without filling it",
    )
    given = parser.parse_args(argv)
    short = given.seconds_per_part
    return Options(
        given.out,
        seconds_per_part=short,
        total_s=min(given.seconds, TOTAL_S),
        gpu=given.gpu,
        python=given.python,
        share=given.share,
        watch_s=WATCH_S if short is None else min(WATCH_S, short / 20),  # some twenty checks watch something
    )


def main(argv: list[str] | None = None) -> int:
    """Run it; the exit status: 0, 1 where a part did not come to its end, 2 where there is nothing to measure."""
    options = arguments(argv)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _asked)
    study = Study(options)
    try:
        status = study.run()
    except KeyboardInterrupt:
        study.sentence, status = "It was interrupted before there was anything to report.", 1
    except OSError as error:
        study.sentence, status = f"{error.filename or options.out}: {error.strerror}.", 2
    if study.sentence:
        print(study.sentence, file=sys.stderr)
    elif study.report is not None:
        for part, sentence in study.report.troubles():
            print(f"{part}: {sentence}")
        print(f"Written in {options.out}: {', '.join(study.written())}")
    if study.is_hung:
        # A thread that hangs in the driver would keep the interpreter from ending.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    return status


def _asked(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
