"""The frameworks themselves, where they are installed: their own step count against the probe's."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from monitor.probe.file import read_probe
from monitor.probe.folder import MARK, probe_file
from monitor.probe.launch import inject_folder
from monitor.types.identity import ProcessIdentity

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="the probe works on Linux alone"),
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed here"),
]
TELL = """
import json, os
with open('/proc/self/stat', 'rb') as stat:
    print('TOLD', json.dumps([os.getpid(), int(stat.read().rpartition(b')')[2].split()[19]), int(truth)]))
"""
KERAS = """
import os
os.environ["KERAS_BACKEND"] = "torch"
import keras, numpy
model = keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(1)])
model.compile(optimizer=keras.optimizers.Adam(), loss="mse")
rows = numpy.ones((64, 4)), numpy.ones((64, 1))
model.fit(*rows, batch_size=8, epochs=3, verbose=0, validation_split=0.25)
truth = model.optimizer.iterations
"""
TRAINER = """
import sys, torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments
rows = [{"input_ids": torch.arange(16), "labels": torch.arange(16)} for _ in range(200)]


def trainer(steps):
    arguments = TrainingArguments(
        output_dir=FOLDER, max_steps=steps, per_device_train_batch_size=4, gradient_accumulation_steps=2,
        save_steps=12, report_to=[], use_cpu=True, disable_tqdm=True, eval_strategy="steps", eval_steps=5,
    )
    model = GPT2LMHeadModel(GPT2Config(n_embd=32, n_layer=1, n_head=2, vocab_size=64, n_positions=16))
    return Trainer(model=model, args=arguments, train_dataset=rows, eval_dataset=rows[:8])


one = trainer(20 if RESUME else 12)
one.train(resume_from_checkpoint=FOLDER + "/checkpoint-12" if RESUME else None)
truth = one.state.global_step
"""
LIGHTNING = """
import lightning, torch


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def training_step(self, batch, _at):
        return self.layer(batch).sum()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


trainer = lightning.Trainer(
    max_epochs=3, accumulate_grad_batches=4, logger=False, enable_checkpointing=False, enable_progress_bar=False,
    enable_model_summary=False, accelerator="cpu",
)
trainer.fit(Module(), torch.utils.data.DataLoader([torch.ones(4)] * 64, batch_size=4))
truth = trainer.global_step
"""


def counted(program: str, folder: Path) -> tuple[int, int, int]:
    """What the framework says, what the probe counted, and where it says that the run went on."""
    folder.chmod(0o700)
    paths = os.pathsep.join((inject_folder(), *filter(None, [os.environ.get("PYTHONPATH", "")])))
    environment = {**os.environ, "PYTHONPATH": paths, MARK: str(folder), "HOME": str(folder)}
    argv = [sys.executable, "-W", "ignore", "-c", program + TELL]
    done = subprocess.run(argv, env=environment, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    line = next(line for line in done.stdout.splitlines() if line.startswith("TOLD "))
    pid, start_ticks, truth = json.loads(line[5:])
    process = ProcessIdentity(pid=pid, start_ticks=start_ticks)
    reading = read_probe(probe_file(str(folder), pid), process, os.geteuid())
    return truth, reading.count, reading.resumed_at


@pytest.mark.parametrize(("name", "program", "steps"), [("keras", KERAS, 18), ("lightning", LIGHTNING, 12)])
def test_the_count_is_the_frameworks_own(name: str, program: str, steps: int, tmp_path: Path) -> None:
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed here")
    assert counted(program, tmp_path) == (steps, steps, 0)


def test_the_trainer_is_counted_and_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    if importlib.util.find_spec("transformers") is None or importlib.util.find_spec("accelerate") is None:
        pytest.skip("the Hugging Face Trainer is not installed here")
    program = f"FOLDER = {str(tmp_path / 'out')!r}\nRESUME = %d\n{TRAINER}"
    assert counted(program % 0, tmp_path) == (12, 12, 0)
    assert counted(program % 1, tmp_path) == (20, 8, 12)
