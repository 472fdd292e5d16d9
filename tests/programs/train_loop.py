"""A training loop that sleeps instead of computing and tells of its steps in the way that is asked for.

`train_loop.py --truth FILE --style lines|buffered|json|bars|mute [--max_steps N] [--crash N]`
"""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.programs.counted import Counted, option

STEP_S = 0.02
EPOCH = 90
"""Steps of a bar: bars of less than two seconds, whose printed clock loses most."""


def drawn(at: int, began_s: float) -> str:
    """A bar as tqdm draws it, closed with the mean rate."""
    lasted_s = time.monotonic() - began_s
    rate = f"{at / lasted_s:5.2f}it/s" if at else "?it/s"
    return f"\rTraining: {100 * at // EPOCH:3d}%|##        | {at}/{EPOCH} [00:{int(lasted_s):02d}<00:00, {rate}]"


def main() -> None:
    counted, style = Counted(option("--truth", "truth")), option("--style", "lines")
    steps, crash = int(option("--max_steps", "100000")), int(option("--crash", "0"))
    seeded = random.Random(style)
    began_s = time.monotonic()
    for at in range(1, steps + 1):
        time.sleep(STEP_S * seeded.uniform(0.5, 1.5))
        counted.step()
        if style in ("lines", "buffered"):
            print(f"step {at}/{steps} loss {2 / at:.4f}", flush=style == "lines")
        elif style == "json":
            print(json.dumps({"step": at, "max_steps": steps, "loss": 2 / at}), flush=True)
        elif style == "bars":
            sys.stderr.write(drawn((at - 1) % EPOCH + 1, began_s))
            if at % EPOCH == 0:
                began_s = time.monotonic()
                sys.stderr.write("\n" + drawn(0, began_s))
        if at == crash:
            raise ValueError("bad batch 7")
    print("Training completed.")


if __name__ == "__main__":
    main()
