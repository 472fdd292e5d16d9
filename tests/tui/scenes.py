"""Invented moments to show: their messages, and the view they amount to. Shared by all tests of screens and outputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from monitor.types.facts import Container
from monitor.types.gpu import GpuSample, ThrottleTime, XidEvent
from monitor.types.messages import Fault, Snapshot
from monitor.types.record import Missing
from monitor.types.run import RunEnd, SourceReading
from monitor.types.steps import StepEvent, StepValue
from tests.tui.parts import (
    BOOT_S,
    GIB,
    NOW_S,
    TICKS,
    assessment,
    busy,
    facts_of,
    gpu,
    hello,
    idle,
    pair,
    process,
    run,
    sample_of,
    sft,
    snapshot,
)
from tests.tui.scene import Scene
from tui.view import View


def eight_gpus(**changes: object) -> Scene:
    """A run of seven cards, one of them hot, and a free one; a sweep of four on the CPU waits for disk."""
    cards = tuple(gpu(index) for index in range(8))
    pids = tuple(4711 + rank for rank in range(7))
    hot: dict[str, Any] = {
        "load": 0.83,
        "temperature_c": 87.0,
        "power_w": 652.0,
        "sm_mhz": 1410,
        "throttle": ("hw_thermal",),
        "throttle_times": (ThrottleTime(reason="hw_thermal", total_s=240.0),),
    }

    def tick(number: int) -> Snapshot:
        samples = [
            busy(card, number, pid=pid, **(hot if card.index == 6 else {}))
            for card, pid in zip(cards, pids, strict=False)
        ]
        samples.append(idle(cards[7]))
        return snapshot(
            number,
            tuple(samples),
            processes=tuple(sample_of(pid) for pid in (*pids, 5101, 5102, 5103, 5104)),
            pairings=tuple(pair(card, pid) for card, pid in zip(cards, pids, strict=False)),
        )

    mine = sft(pids, cards[:7])
    sweep = tuple(
        run(
            f"sweep lr={rate}",
            (5101 + number,),
            user="bob",
            group_id="sweep",
            group_name="sweep lr=… (4)",
            step=880.0 + 37 * number,
            total=9000.0,
            unit="step",
            step_seconds=0.213,
            rss_bytes=int(3.1 * GIB),
            values=(StepValue(name="loss", value=0.92 + 0.03 * number),),
            waits_for_disk=number == 0,
        )
        for number, rate in enumerate(("3e-4", "1e-4", "3e-5", "1e-5"))
    )
    argv = ("python", "train.py", "--model", "llama3-8b", "--output_dir", "out", "--bf16")
    facts = [facts_of(pid, "ada", argv, mine=True) for pid in pids]
    facts += [facts_of(pid, "bob", ("python", "sweep.py", "--lr", "3e-4")) for pid in range(5101, 5105)]
    scene = Scene(
        hello(cards),
        tuple(tick(number) for number in range(TICKS)),
        tuple(facts),
        (mine, *sweep),
        {mine.run_id: assessment(mine, 15.05 * 3600), sweep[1].run_id: assessment(sweep[1], 1700, 0.1)},
    )
    return replace(scene, **changes)  # type: ignore[arg-type]


def one_gpu() -> Scene:
    """A single card at work on one run."""
    card = gpu(0, "NVIDIA GeForce RTX 4090", 25_757_220_864)
    mine = run(
        "vit-small-cifar",
        (812,),
        (card,),
        mine=True,
        gpu_memory_bytes=int(9.2 * GIB),
        step=3_120.0,
        unit="optimizer_step",
        total=9_750.0,
        step_seconds=0.184,
        rate_clock="watched",
        rate_window_s=96.0,
        rate_steps=520.0,
        values=(StepValue(name="loss", value=0.4821),),
        sources=(
            SourceReading(
                source="tqdm",
                where="stderr → train.log",
                step=3120,
                total=9750,
                seen_s=NOW_S - 0.2,
                confidence=0.95,
                used=True,
            ),
        ),
    )

    def tick(number: int) -> Snapshot:
        sample = busy(
            card,
            number,
            load=0.88,
            used_gib=10.1,
            pid=812,
            power_w=371.0,
            power_limit_w=450.0,
            temperature_c=66.0,
            sm_mhz=2730,
            fan_ratio=0.52,
            nvlink=None,
            ecc=None,
        )
        return snapshot(number, (sample,), processes=(sample_of(812, 1.4, 4.1),), pairings=(pair(card, 812),))

    facts = (facts_of(812, "ada", ("python", "train_vit.py", "--epochs", "50"), mine=True),)
    return Scene(
        hello((card,), host="desk"),
        tuple(tick(n) for n in range(TICKS)),
        facts,
        (mine,),
        {mine.run_id: assessment(mine, 1220)},
    )


def many_gpus(count: int) -> Scene:
    """16 or 64 cards: runs of eight each by several users, a few cards free."""
    cards = tuple(gpu(index, "NVIDIA H200", 150_754_820_096) for index in range(count))
    users = ("ada", "bob", "chen", "dora", "emil", "fay", "gus", "hana")
    names = (
        "moe-16x3b",
        "vit-g-pretrain",
        "whisper-ft",
        "llama3-70b-lora",
        "diffusion-xl",
        "protein-lm",
        "qwen-sft",
        "reward-model",
    )
    size = 8 if count > 16 else 6
    blocks = [cards[start : start + size] for start in range(0, count - 4, size)]
    blocks = [block for block in blocks if len(block) == size]
    runs, facts, pairings = [], [], []
    owner: dict[str, int] = {}
    for number, block in enumerate(blocks):
        pids = tuple(20_000 + 100 * number + rank for rank in range(size))
        user = users[number % len(users)]
        runs.append(
            run(
                names[number % len(names)],
                pids,
                block,
                user=user,
                mine=user == "ada",
                gpu_memory_bytes=int(118 * GIB) * size,
                step=1000.0 * (number + 3) + 17,
                total=60_000.0,
                unit="optimizer_step",
                step_seconds=2.1 + 0.3 * number,
                values=(StepValue(name="loss", value=2.4 - 0.1 * number),),
            )
        )
        for card, pid in zip(block, pids, strict=True):
            facts.append(facts_of(pid, user, ("python", "train.py"), mine=user == "ada"))
            pairings.append(pair(card, pid))
            owner[card.uuid] = pid

    def tick(number: int) -> Snapshot:
        samples = tuple(
            busy(card, number, used_gib=119.0, pid=owner[card.uuid], load=0.97 - 0.02 * (card.index % 3))
            if card.uuid in owner
            else idle(card)
            for card in cards
        )
        processes = tuple(sample_of(pid) for pid in owner.values())
        return snapshot(number, samples, processes=processes, pairings=tuple(pairings))

    marks = {one.run_id: assessment(one, 3600.0 * (9 + 7 * place)) for place, one in enumerate(runs)}
    return Scene(hello(cards, host="dgx-04"), tuple(tick(n) for n in range(TICKS)), tuple(facts), tuple(runs), marks)


def shared_server() -> Scene:
    """Eight cards, several runs on some, a server, a notebook, an ended run and people without a run."""
    cards = tuple(gpu(index, "NVIDIA A100-SXM4-40GB", 42_949_672_960) for index in range(8))
    mine = run(
        "bert-base-de",
        (901,),
        (cards[2],),
        mine=True,
        gpu_memory_bytes=int(12.4 * GIB),
        step=640.0,
        total=2000.0,
        unit="optimizer_step",
        step_seconds=0.96,
        values=(StepValue(name="loss", value=2.113),),
    )
    others = (
        run(
            "vllm llama3-8b",
            (911,),
            (cards[0],),
            user="bob",
            kind="serving",
            server="vLLM",
            phase="not_training",
            gpu_memory_bytes=int(36.1 * GIB),
        ),
        run(
            "unet-seg",
            (921, 922),
            cards[3:5],
            user="chen",
            step=88.0,
            total=120.0,
            unit="epoch",
            step_seconds=64.0,
            gpu_memory_bytes=int(51.0 * GIB),
            phase="evaluating",
        ),
        run(
            "train.py --seed 3",
            (931,),
            (cards[2],),
            user="dora",
            gpu_memory_bytes=int(9.8 * GIB),
            missing=(Missing(field="step", reason="no_permission", detail="its output is a terminal of another user"),),
        ),
        run(
            "analysis.ipynb",
            (941,),
            (cards[5],),
            user="emil",
            kind="notebook",
            phase="not_training",
            gpu_memory_bytes=int(4.4 * GIB),
        ),
        run(
            "gpt2-med",
            (951,),
            (),
            user="ada",
            mine=True,
            phase="ended",
            step=1730.0,
            total=5000.0,
            ended=RunEnd(
                how="out_of_memory",
                seen_s=NOW_S - 720,
                evidence="torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB",
            ),
        ),
    )
    used = {0: (911, 36.9), 2: (901, 23.6), 3: (921, 26.1), 4: (922, 26.0), 5: (941, 5.1), 6: (961, 17.0)}

    def tick(number: int) -> Snapshot:
        samples = []
        for card in cards:
            if card.index not in used:
                samples.append(idle(card, power_limit_w=400.0, power_w=52.0))
                continue
            pid, gib = used[card.index]
            load = {0: 0.31, 5: 0.0, 6: 0.99}.get(card.index, 0.9)
            samples.append(
                busy(
                    card,
                    number,
                    load=load,
                    used_gib=gib,
                    pid=pid,
                    power_w=90 + 290 * load,
                    power_limit_w=400.0,
                    sm_mhz=1410,
                    pcie=None,
                )
            )
        pairings = tuple(pair(cards[index], pid) for index, (pid, _) in used.items())
        return snapshot(
            number, tuple(samples), pairings=pairings, processes=tuple(sample_of(pid) for pid, _ in used.values())
        )

    facts = (
        facts_of(901, "ada", ("python", "run_mlm.py"), mine=True),
        facts_of(911, "bob", ("vllm", "serve", "llama3-8b")),
        facts_of(921, "chen", ("python", "seg.py")),
        facts_of(
            931,
            "dora",
            ("python", "train.py"),
            container=Container(runtime="docker", container_id="4f1c", name="dora-vit"),
        ),
        facts_of(941, "emil", ("ipykernel",), kind="notebook"),
        facts_of(961, "fay", ("blender",), kind="other"),
    )
    runs = (mine, *others)
    return Scene(
        hello(cards, host="lab3"),
        tuple(tick(n) for n in range(TICKS)),
        facts,
        runs,
        {mine.run_id: assessment(mine, 1306)},
    )


def lost_gpu() -> Scene:
    """Card 3 has fallen off the bus, card 5 reports an error, card 1 may not be read."""
    scene = eight_gpus()
    cards = scene.hello.gpus

    def broken(one: Snapshot) -> Snapshot:
        import msgspec

        samples = list(one.gpus)
        samples[1] = GpuSample(
            uuid=cards[1].uuid,
            state="no_permission",
            state_detail="no permission to read this GPU (device nodes are closed to this user)",
        )
        samples[3] = GpuSample(
            uuid=cards[3].uuid,
            state="lost",
            state_detail="The GPU is lost: it fell off the bus (look for Xid 79 in the kernel log).",
            state_since_s=NOW_S - 20,
        )
        samples[5] = msgspec.structs.replace(samples[5], xids=(XidEvent(xid=94, seen_s=NOW_S - 300),))
        return msgspec.structs.replace(one, gpus=tuple(samples))

    fault = Fault(
        taken_s=NOW_S,
        boot_s=BOOT_S,
        key="gpu-3",
        source="driver",
        sentence="GPU 3 is lost; the others are read as before.",
        gpu_uuid=gpu(3).uuid,
    )
    return replace(scene, snapshots=tuple(broken(one) for one in scene.snapshots), faults=(fault,))


def no_driver() -> Scene:
    """No NVIDIA driver; one run on the CPU."""
    mine = run(
        "tiny-gpt-cpu",
        (333,),
        (),
        mine=True,
        step=412.0,
        total=1000.0,
        unit="step",
        step_seconds=0.0482,
        rss_bytes=int(1.3 * GIB),
        values=(StepValue(name="loss", value=3.071),),
        cpu_ratio=3.9,
    )
    facts = (facts_of(333, "ada", ("python", "train_tiny.py"), mine=True),)
    ticks = tuple(snapshot(n, (), processes=(sample_of(333, 3.9, 1.3),)) for n in range(TICKS))
    greeting = hello(
        (),
        host="laptop",
        driver_state="absent",
        driver_detail="No NVIDIA driver here: libnvidia-ml.so.1 was not found.",
        driver_version=None,
    )
    return Scene(greeting, ticks, facts, (mine,), {mine.run_id: assessment(mine, 29)})


def containers() -> Scene:
    """Pids of the driver that belong to other namespaces: named as such, never by a wrong name."""
    cards = tuple(gpu(index) for index in range(2))

    def tick(number: int) -> Snapshot:
        samples = (busy(cards[0], number, pid=2_721_979), busy(cards[1], number, pid=42, used_gib=10.1))
        pairings = (pair(cards[0], 2_721_979, "other_namespace"), pair(cards[1], 42, "hidden"))
        return snapshot(number, samples, pairings=pairings)

    return Scene(hello(cards, in_container=True), tuple(tick(n) for n in range(TICKS)))


HOSTILE = (
    "python [/foo] x",
    "[/]",
    "run [@click=app.bell]x[/]",
    "w[=]",
    "訓練 日本語 データ",
    "zalgo e\u0301\u0302\u0303 é",
    "[link=x]lr=[1e-4]",
)
"""Names that are cleaned but would break markup or columns."""


def hostile() -> Scene:
    """Names and users that try to be markup."""
    card = gpu(0, "NVIDIA [bold] H100[/] [/x]")
    runs = tuple(
        run(name, (700 + number,), (card,) if number == 0 else (), user="[/u]", mine=number == 0, command=name)
        for number, name in enumerate(HOSTILE)
    )
    facts = tuple(facts_of(700 + number, "[/u]", (name,)) for number, name in enumerate(HOSTILE))
    ticks = tuple(
        snapshot(n, (busy(card, n, pid=700),), pairings=(pair(card, 700),), processes=(sample_of(700),))
        for n in range(TICKS)
    )
    faults = (Fault(taken_s=NOW_S, boot_s=BOOT_S, key="x", source="steps", sentence="log [/var/log] said [red]no[/]"),)
    return Scene(hello((card,), host="[/host]"), ticks, facts, runs, {}, faults)


def training_events(pid: int, step: int, at_s: float) -> StepEvent:
    """One reading of a counter, for scenes that go through the reducers."""
    return StepEvent(
        process=process(pid),
        source="tqdm",
        where="stderr → train.log",
        unit="optimizer_step",
        step=float(step),
        total=1000.0,
        total_source="progress bar",
        seen_s=at_s,
        confidence=0.95,
    )


SCENES: dict[str, Callable[[], Scene]] = {
    "one": one_gpu,
    "eight": eight_gpus,
    "sixteen": lambda: many_gpus(16),
    "sixty_four": lambda: many_gpus(64),
    "shared": shared_server,
    "lost": lost_gpu,
    "no_driver": no_driver,
    "containers": containers,
    "hostile": hostile,
}


@lru_cache(maxsize=16)
def scene(name: str) -> Scene:
    """A scene by its name, built once."""
    return SCENES[name]()


@lru_cache(maxsize=32)
def view_of(name: str, upto: int | None = None) -> View:
    """The view of a scene, built once."""
    return scene(name).view(upto)
