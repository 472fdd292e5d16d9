"""Trains a little with a real optimizer, says nothing, and then holds still: `train_optimizer.py --truth FILE`."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
import torch

from tests.programs.counted import Counted, option


def main() -> None:
    rank = os.environ.get("RANK", "")
    counted, steps = Counted(option("--truth", "truth") + (f".{rank}" if rank else "")), int(option("--steps", "100"))
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.125)
    for _ in range(steps):
        for _micro_batch in range(3):
            model(torch.ones(2, 4)).sum().backward()
            time.sleep(0.005)
        optimizer.step()
        counted.step()
        optimizer.zero_grad()
    time.sleep(60)


if __name__ == "__main__":
    main()
