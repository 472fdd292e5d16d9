"""A tiny GPT-2 under the Hugging Face Trainer, with accumulation and evaluation: `train_trainer.py --truth FILE`."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
sys.path.insert(0, str(Path(__file__).parents[2]))
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments  # type: ignore[import-not-found, unused-ignore]

from tests.programs.counted import Counted, option


class Words(torch.utils.data.Dataset):  # type: ignore[type-arg, misc, unused-ignore]
    """Random words, slow to come."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> dict[str, object]:
        time.sleep(0.002)
        words = torch.arange(16) % (index + 2)
        return {"input_ids": words, "labels": words}


class Told(TrainerCallback):  # type: ignore[misc, unused-ignore]
    """Counts optimizer steps."""

    def __init__(self, counted: Counted) -> None:
        self.counted = counted

    def on_step_end(self, *_: object, **__: object) -> None:
        self.counted.step()


def main() -> None:
    torch.set_num_threads(1)
    config = GPT2Config(n_layer=1, n_head=2, n_embd=16, vocab_size=4096, n_positions=16, bos_token_id=0, eos_token_id=0)
    arguments = TrainingArguments(
        output_dir=option("--truth", "truth") + ".out",
        max_steps=int(option("--max_steps", "2000")),
        per_device_train_batch_size=4,
        gradient_accumulation_steps=2,
        logging_steps=20,
        eval_strategy="steps",
        eval_steps=100,
        save_strategy="no",
        report_to=[],
        use_cpu=True,
    )
    Trainer(
        model=GPT2LMHeadModel(config),
        args=arguments,
        train_dataset=Words(4000),
        eval_dataset=Words(400),
        callbacks=[Told(Counted(option("--truth", "truth")))],
    ).train()


if __name__ == "__main__":
    main()
