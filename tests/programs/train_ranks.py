"""Two or more ranks over gloo, started by torchrun, of which all print: `train_ranks.py --truth FILE`."""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
import torch
import torch.distributed as dist

from tests.programs.counted import Counted, option


def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    counted = Counted(option("--truth", "truth") + (f".{rank}" if rank else ""))
    summed = torch.ones(4)
    for at in range(1, 100_000):
        time.sleep(0.03)
        dist.all_reduce(summed)
        summed /= dist.get_world_size()
        counted.step()
        print(f"[rank{rank}] step {at}/100000 loss {2 / at:.4f}", flush=True)


if __name__ == "__main__":
    main()
