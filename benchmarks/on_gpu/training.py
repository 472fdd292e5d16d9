"""A short real training for a real GPU (or, to prove the script, for the CPU), with pauses and growing memory.

`python -m benchmarks.on_gpu.training --dtype bf16 --seconds 30` prints `step N/M loss X` lines. With
`--grow-to 0.95` it holds ever more memory until that share of the card is in use; with `--grow-to 2` it runs out of
memory, as runs do. It grows evenly over the first part of its time, so that a monitor can see it come.
"""

from __future__ import annotations

import argparse
import sys
import time

import torch
from torch import nn

GROWTH_TIME_RATIO = 0.7
"""Share of the time in which the memory is filled."""
PIECE_RATIO = 0.01
"""Share of the card that is taken at a time."""


class Block(nn.Module):
    """A plain pre-norm transformer block."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm_attention = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm_mlp = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Shapes: (batch, sequence, width) in and out."""
        normed = self.norm_attention(tokens)
        tokens = tokens + self.attention(normed, normed, normed, need_weights=False)[0]
        out: torch.Tensor = tokens + self.mlp(self.norm_mlp(tokens))
        return out


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dtype", choices=("bf16", "fp32"), default="bf16")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--max_steps", type=int, default=100_000)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--sequence", type=int, default=512)
    parser.add_argument("--grow-to", type=float, default=0.0, help="share of the card's memory to grow to")
    parser.add_argument("--eval_every", type=int, default=100)
    return parser.parse_args()


def grow(held: list[torch.Tensor], options: argparse.Namespace, time_ratio: float, device: torch.device) -> None:
    """Hold as much as is due at this share of the time; what is due may be more than the card has."""
    free, total = torch.cuda.mem_get_info()
    due = min(options.grow_to, min(options.grow_to, 1.2) * time_ratio / GROWTH_TIME_RATIO)
    while total - free < due * total:
        held.append(torch.empty(int(PIECE_RATIO * total), dtype=torch.uint8, device=device))
        free, total = torch.cuda.mem_get_info()


def main() -> None:
    """Train until the time is up."""
    options = arguments()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(0)
    model = nn.Sequential(*(Block(options.width, 16) for _ in range(options.layers))).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    batch = torch.randn(options.batch, options.sequence, options.width, device=device)
    held: list[torch.Tensor] = []
    begin = time.monotonic()
    end = begin + options.seconds
    step = 0
    while time.monotonic() < end and step < options.max_steps:
        with torch.autocast(device.type, torch.bfloat16, enabled=options.dtype == "bf16"):
            loss = (model(batch) - batch.roll(1, 1)).float().pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step += 1
        print(f"step {step}/{options.max_steps} loss {loss.item():.4f}", flush=True)
        if options.grow_to and device.type == "cuda":
            grow(held, options, (time.monotonic() - begin) / options.seconds, device)
        if step % options.eval_every == 0:
            with torch.no_grad():
                for _ in range(20):
                    model(batch)
    print(f"Training completed after {step} steps", file=sys.stderr)


if __name__ == "__main__":
    main()
