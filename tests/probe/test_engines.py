"""Frameworks that step in ways of their own, as invented modules of the same names and shapes."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from monitor.probe.file import ProbeReading, read_probe
from monitor.probe.folder import probe_file
from monitor.types.identity import ProcessIdentity
from tests.probe.test_startup import fake_torch, python

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the probe works on Linux alone")

DEEPSPEED = """
import torch.optim.optimizer


class Module:
    def parameters(self):
        return [torch.optim.optimizer.Parameter()]


class DeepSpeedEngine:
    def __init__(self):
        self.global_steps, self.skipped_steps, self.micro_steps, self.module = 300, 20, 0, Module()
        self.optimizer = torch.optim.optimizer.Optimizer()

    def step(self):
        self.micro_steps += 1
        if self.micro_steps % 4 == 0:
            self._take_model_step(None)

    def _take_model_step(self, lr_kwargs):
        overflow = self.global_steps % 5 == 4
        for _group in range(0 if overflow else 3):
            self.optimizer.step()
        self.skipped_steps += overflow
        self.global_steps += 1
"""
TRAIN_DEEPSPEED = """
from deepspeed.runtime.engine import DeepSpeedEngine
engine = DeepSpeedEngine()
for _ in range(40):
    engine.step()
"""
KERAS = """
class CallbackList:
    def __init__(self, model):
        self._model = model

    def on_train_batch_begin(self, batch, logs=None):
        pass

    def on_train_batch_end(self, batch, logs=None):
        pass
"""
TRAIN_KERAS = """
from keras.src.callbacks.callback_list import CallbackList


class Adam:
    gradient_accumulation_steps = 2


class Model:
    optimizer = Adam()

    def count_params(self):
        return 12


callbacks = CallbackList(Model())
for epoch in range(3):
    for batch in range(0, 20, 5):
        callbacks.on_train_batch_begin(batch)
        callbacks.on_train_batch_end(batch + 4, {})
"""
MEGATRON = """
calls = [0]


def train_step(forward_step_func, data_iterator, model):
    calls[0] += 1
    return {"loss": 1.0}, int(calls[0] % 10 == 0), 0.5


def train():
    for _ in range(30):
        assert train_step(None, None, None)[2] == 0.5
"""
TRAIN_MEGATRON = """
from megatron.training.training import train
train()
"""
TELL = """
import json, os
with open('/proc/self/stat', 'rb') as stat:
    print(json.dumps([os.getpid(), int(stat.read().rpartition(b')')[2].split()[19])]))
"""


def counted(folder: Path, module: str, source: str, program: str) -> ProbeReading:
    """What the probe of such a program showed in the end."""
    folder.chmod(0o700)
    fakes = Path(fake_torch(folder / "fake"))
    path = fakes / (module.replace(".", "/") + ".py")
    path.parent.mkdir(parents=True)
    path.write_text(source)
    done = python(program + TELL, paths=(str(fakes),), mark=str(folder))
    assert done.stderr == ""
    pid, start_ticks = json.loads(done.stdout)
    process = ProcessIdentity(pid=pid, start_ticks=start_ticks)
    return read_probe(probe_file(str(folder), pid), process, os.geteuid())


def test_deepspeed_counts_by_its_engine_and_not_by_parameter_groups(tmp_path: Path) -> None:
    reading = counted(tmp_path, "deepspeed.runtime.engine", DEEPSPEED, TRAIN_DEEPSPEED)
    assert (reading.count, reading.resumed_at) == (8, 280), "2 of 10 steps overflowed"
    engine, optimizer = reading.facts.optimizers
    assert (engine.name, engine.kind, engine.params) == ("DeepSpeedEngine", "engine", 7)
    assert (optimizer.name, optimizer.count) == ("Optimizer", 24)


def test_keras_counts_batches_by_its_accumulation(tmp_path: Path) -> None:
    reading = counted(tmp_path, "keras.src.callbacks.callback_list", KERAS, TRAIN_KERAS)
    assert reading.count == 30
    assert reading.facts.optimizers[0].name == "Adam"


def test_megatron_counts_by_its_own_step_function(tmp_path: Path) -> None:
    assert counted(tmp_path, "megatron.training.training", MEGATRON, TRAIN_MEGATRON).count == 27, "3 were skipped"
