"""One torch, many small trainings: each in a forked child of its own, which tells what it did as a line of JSON.

`hook_cases.py NAME…` prints {"case", "pid", "start_ticks", "truth"} for each; what the probe counted lies in its file.
"""

# torch's own types are half there; this program is held to what it does, not to them.
# mypy: allow-untyped-calls, disable-error-code="arg-type,index,misc,no-any-return,operator"

from __future__ import annotations

import atexit
import contextlib
import json
import os
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator

import torch
import torch._dynamo  # every first step wants it: once here, not once in each child
from torch import nn

warnings.filterwarnings("ignore")
CASES: dict[str, Callable[[], int]] = {}


def case(function: Callable[[], int]) -> Callable[[], int]:
    CASES[function.__name__] = function
    return function


def model(width: int = 4) -> nn.Module:
    return nn.Sequential(nn.Linear(width, width), nn.Linear(width, 1))


def backward(net: nn.Module, width: int = 4) -> None:
    net(torch.ones(2, width)).sum().backward()


def train(net: nn.Module, optimizer: torch.optim.Optimizer, steps: int = 10) -> int:
    for _ in range(steps):
        backward(net)
        optimizer.step()
        optimizer.zero_grad()
    return steps


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """A process group of one."""
    with tempfile.TemporaryDirectory() as folder:
        torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=0, world_size=1)
        try:
            yield
        finally:
            torch.distributed.destroy_process_group()


@case
def plain() -> int:
    net = model()
    return train(net, torch.optim.AdamW(net.parameters(), lr=0.25))


@case
def accumulation() -> int:
    net = model()
    optimizer = torch.optim.AdamW(net.parameters())
    for micro_batch in range(40):
        backward(net)
        if micro_batch % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()
    return 10


@case
def scheduler() -> int:
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 3)
    for _ in range(10):
        train(net, optimizer, 1)
        schedule.step()
    return 10


@case
def lbfgs() -> int:
    net = model()
    optimizer = torch.optim.LBFGS(net.parameters(), max_iter=4)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = (net(torch.ones(2, 4)) ** 2).sum()
        loss.backward()
        return loss

    for _ in range(6):
        optimizer.step(closure)
    return 6


@case
def gan() -> int:
    """The larger one makes 50 steps, the smaller one 10."""
    large, small = model(16), model(4)
    optimizers = torch.optim.SGD(large.parameters()), torch.optim.AdamW(small.parameters())
    for at in range(50):
        backward(large, 16)
        optimizers[0].step()
        if at % 5 == 0:
            train(small, optimizers[1], 1)
    return 50


def scaled(**options: bool) -> int:
    net = model()
    optimizer = torch.optim.AdamW(net.parameters(), **options)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0)
    for at in range(20):
        scaler.scale(net(torch.ones(2, 4)).sum()).backward()
        if at % 5 == 4:
            next(net.parameters()).grad[0, 0] = float("inf")
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    return 16


@case
def grad_scaler() -> int:
    return scaled()


@case
def grad_scaler_fused() -> int:
    return scaled(fused=True)


@case
def zero_redundancy() -> int:
    from torch.distributed.optim import ZeroRedundancyOptimizer

    with alone():
        net = model()
        return train(net, ZeroRedundancyOptimizer(net.parameters(), optimizer_class=torch.optim.AdamW, lr=0.1))


@case
def fsdp2() -> int:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    with alone():
        net = model()
        fully_shard(net, mesh=init_device_mesh("cpu", (1,)))
        return train(net, torch.optim.AdamW(net.parameters()))


@case
def optimizer_in_backward() -> int:
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 1))
    optimizers = {parameter: torch.optim.SGD([parameter]) for parameter in net.parameters()}

    def stepped(parameter: torch.Tensor) -> None:
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()

    for parameter in net.parameters():
        parameter.register_post_accumulate_grad_hook(stepped)
    for _ in range(10):
        backward(net)
    return 10


@case
def foreign_class() -> int:
    class Own:
        def __init__(self, parameters: Iterator[nn.Parameter]) -> None:
            self.parameters = list(parameters)

        def step(self) -> None:
            with torch.no_grad():
                for parameter in self.parameters:
                    parameter -= 0.1 * parameter.grad

    net = model()
    optimizer = Own(net.parameters())
    for _ in range(10):
        backward(net)
        optimizer.step()
    return 0


@case
def no_super_init() -> int:
    class Careless(torch.optim.Optimizer):
        def __init__(self, parameters: list[nn.Parameter]) -> None:
            self.param_groups = [{"params": parameters}]

        def step(self) -> None:  # type: ignore[override]
            pass

    optimizer = Careless(list(model().parameters()))
    for _ in range(10):
        optimizer.step()
    return 0


@case
def compiled() -> int:
    net = model()
    optimizer = torch.optim.AdamW(net.parameters())
    step = torch.compile(lambda: optimizer.step(), backend="eager")
    for _ in range(12):
        backward(net)
        step()
    return 12


@case
def raised() -> int:
    """A step that raises, another optimizer's steps after it, and the same one's."""
    nets = model(), model(16)
    first, second = torch.optim.LBFGS(nets[0].parameters()), torch.optim.AdamW(nets[1].parameters())

    def closure() -> float:
        raise RuntimeError("CUDA out of memory, says a test")

    for _ in range(10):
        with contextlib.suppress(RuntimeError):
            first.step(closure)
        backward(nets[1], 16)
        second.step()
    return 10


@case
def remade() -> int:
    """A new optimizer for each epoch."""
    net = model()
    for _ in range(5):
        train(net, torch.optim.AdamW(net.parameters()), 4)
    return 20


@case
def smaller_after() -> int:
    """A large model first, then a small one while the first is gone."""

    def stage(width: int, steps: int) -> None:
        net = model(width)
        optimizer = torch.optim.AdamW(net.parameters())
        for _ in range(steps):
            backward(net, width)
            optimizer.step()

    stage(16, 9)
    stage(4, 5)
    return 5


@case
def resumed() -> int:
    net = model()
    optimizer = torch.optim.AdamW(net.parameters())
    train(net, optimizer, 3)
    state = optimizer.state_dict()
    for one in state["state"].values():
        one["step"] = torch.tensor(1200.0)
    again = torch.optim.AdamW(nn.Linear(1, 1).parameters())
    del again
    pid = os.fork()  # the child resumes, as a new process would
    if pid:
        os.waitpid(pid, 0)
        os._exit(0)
    fresh = torch.optim.AdamW(net.parameters())
    fresh.load_state_dict(state)
    return train(net, fresh)


@case
def threads() -> int:
    nets = [model() for _ in range(4)]
    optimizers = [torch.optim.AdamW(net.parameters()) for net in nets]
    workers = [threading.Thread(target=train, args=pair) for pair in zip(nets, optimizers, strict=True)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return 10


@case
def loader_workers() -> int:
    """Forked before and after the first step; they make none of their own."""
    net = model()
    optimizer = torch.optim.AdamW(net.parameters())
    for _ in range(2):
        batches: torch.utils.data.DataLoader[torch.Tensor] = torch.utils.data.DataLoader(
            [torch.ones(4)] * 10, batch_size=2, num_workers=2
        )
        for batch in batches:
            net(batch).sum().backward()
            optimizer.step()
    return 10


@case
def closed_descriptors() -> int:
    """A program that closes all descriptors, as daemons do, and opens files of its own in their place."""
    net = model()
    optimizer = torch.optim.AdamW(net.parameters())
    train(net, optimizer, 3)
    os.closerange(3, 256)
    with tempfile.TemporaryFile() as theirs:
        theirs.write(b"theirs")
        train(net, optimizer, 3)
        theirs.seek(0)
        assert theirs.read() == b"theirs"
    return 6


def start_ticks() -> int:
    with open("/proc/self/stat", "rb") as stat:
        return int(stat.read().rpartition(b")")[2].split()[19])


def main() -> None:
    torch.set_num_threads(1)
    for name in sys.argv[1:]:
        pid = os.fork()
        if pid:
            os.waitpid(pid, 0)
            continue
        truth = CASES[name]()
        told = {"case": name, "pid": os.getpid(), "start_ticks": start_ticks(), "truth": truth}
        os.write(1, json.dumps(told).encode() + b"\n")
        atexit._run_exitfuncs()
        os._exit(0)


if __name__ == "__main__":
    main()
