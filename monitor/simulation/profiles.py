"""The simulated nodes, by name. All names of people, runs and paths are invented."""

from __future__ import annotations

from dataclasses import replace

from monitor.simulation.models import A100, GB10, H100, H100_SLICE, RTX_4090
from monitor.simulation.plans import GIB, GpuPlan, MemoryPlan, Profile, RunPlan

DEFAULT_PROFILE = "eight"

_COOL = (0.054, 0.055, 0.053, 0.056, 0.055, 0.054)
_HOT = 0.15
"""Settles above the slowdown temperature at full load."""


def _argv(line: str) -> tuple[str, ...]:
    return tuple(line.split())


_DEMO = RunPlan(
    name="demo-mlp",
    argv=_argv(
        "python train.py --run_name demo-mlp --output_dir out/demo-mlp --max_steps 36000 "
        "--per_device_train_batch_size 16 --learning_rate 0.004 --seed 1"
    ),
    gpus=(0,),
    cwd="/home/you/demo",
    stand_in=True,
    starts_s=-20.0,
    startup_s=2.0,
    total=36_000,
    step_s=0.04,
    log_every=50,
    evaluate_every=500,
    evaluate_s=3.0,
    save_every=1000,
    save_s=0.3,
    loss_first=0.9,
    loss_floor=0.02,
    learning_rate=0.004,
    load_ratio=0.88,
    intensity_ratio=0.8,
    memory=MemoryPlan(weights_bytes=4 * GIB, training_bytes=11 * GIB, evaluation_bytes=12 * GIB),
)

_LLAMA = RunPlan(
    name="llama3-8b-sft",
    argv=_argv(
        "python -u train.py --model_name_or_path llama3-8b --run_name llama3-8b-sft --output_dir "
        "out/llama3-8b-sft --max_steps 40000 --per_device_train_batch_size 4 "
        "--per_device_eval_batch_size 8 --learning_rate 2e-5 --bf16 true --seed 42"
    ),
    launcher=_argv("torchrun --nproc_per_node 6 train.py --run_name llama3-8b-sft"),
    gpus=(1, 2, 3, 4, 5, 6),
    workers=4,
    cwd="/home/you/sft",
    starts_s=-24_493.0,
    startup_s=95.0,
    total=40_000,
    step_s=1.84,
    evaluate_every=500,
    evaluate_s=52.0,
    save_every=1000,
    save_s=20.0,
    steps_per_epoch=13_334,
    memory=MemoryPlan(
        weights_bytes=15 * GIB,
        training_bytes=int(71.3 * GIB),
        evaluation_bytes=int(74.9 * GIB),
        context_bytes=int(1.3 * GIB),
    ),
    rank_rss_bytes=11 * GIB,
)


def _disk_sweep() -> tuple[RunPlan, ...]:
    """Four siblings on the CPU whose data comes too slowly."""
    return tuple(
        RunPlan(
            name=f"sweep lr={rate}",
            argv=_argv(f"python sweep.py --lr {rate} --epochs 9 --data /mnt/nfs/images --layers 12"),
            user="bob",
            cwd="/home/bob/sweep",
            waits_for_disk=True,
            starts_s=-5_400.0 - 7 * number,
            startup_s=12.0,
            total=9_000,
            step_s=6.1 + 0.2 * number,
            steps_per_epoch=1000,
            loss_first=1.6,
            loss_floor=0.8,
            learning_rate=float(rate),
            rank_cpu_ratio=0.12,
            rank_rss_bytes=2 * GIB,
        )
        for number, rate in enumerate(("3e-4", "1e-4", "3e-5", "1e-5"))
    )


def _gpus(count: int, **special: GpuPlan) -> tuple[GpuPlan, ...]:
    return tuple(
        special.get(f"gpu{number}", GpuPlan(model=H100, cooling_c_per_w=_COOL[number % len(_COOL)]))
        for number in range(count)
    )


ONE = Profile(
    name="one",
    sentence="One GPU in a desktop machine, with one run.",
    gpus=(GpuPlan(model=RTX_4090, cooling_c_per_w=0.098),),
    runs=(_DEMO,),
    host="desk",
    cpu_count=24,
    memory_total_bytes=64 * GIB,
)

EIGHT = Profile(
    name="eight",
    sentence="Eight GPUs: a small run on GPU 0, one run over six GPUs of which one is too hot, one GPU free.",
    gpus=_gpus(8, gpu6=GpuPlan(model=H100, cooling_c_per_w=_HOT)),
    runs=(_DEMO, _LLAMA, *_disk_sweep()),
)


def _shared_runs() -> tuple[RunPlan, ...]:
    """Forty processes of several users on eight GPUs."""
    server = RunPlan(
        name="vllm",
        kind="serving",
        argv=_argv(
            "python3 /usr/local/bin/vllm serve qwen2.5-14b-instruct --port 8000 "
            "--tensor-parallel-size 2 --gpu-memory-utilization 0.9"
        ),
        user="carol",
        gpus=(1, 2),
        cwd="/srv/models",
        container="qwen-server",
        starts_s=-260_000.0,
        load_ratio=0.7,
        intensity_ratio=0.6,
        memory=MemoryPlan(weights_bytes=14 * GIB, training_bytes=int(70.8 * GIB)),
        rank_cpu_ratio=0.6,
    )
    notebook = RunPlan(
        name="notebook",
        kind="notebook",
        argv=_argv("python -m ipykernel_launcher -f /home/dave/.local/share/jupyter/runtime/kernel-7.json"),
        user="dave",
        gpus=(3,),
        cwd="/home/dave/notebooks",
        starts_s=-158_000.0,
        load_ratio=0.0,
        memory=MemoryPlan(weights_bytes=22 * GIB, training_bytes=int(31.4 * GIB)),
        rank_cpu_ratio=0.0,
        rank_rss_bytes=4 * GIB,
    )
    deepspeed = replace(
        _LLAMA,
        name="erin-dpo",
        argv=_argv("python dpo.py --deepspeed zero2.json --run_name erin-dpo --output_dir out/dpo"),
        launcher=_argv("deepspeed --num_gpus 1 dpo.py --run_name erin-dpo"),
        user="erin",
        gpus=(6,),
        workers=1,
        cwd="/home/erin/dpo",
        readable=False,
        total=6_000,
        starts_s=-9_000.0,
        evaluate_every=0,
        save_every=500,
    )
    return (_DEMO, server, notebook, *_vit_sweep(), deepspeed, *_queue(gpu=7))


def _vit_sweep() -> tuple[RunPlan, ...]:
    """Eight learning rates of one user, four on a GPU."""
    return tuple(
        RunPlan(
            name=f"vit sweep lr={rate}",
            argv=_argv(f"python train_vit.py optim.lr={rate} model=vit_b16 trainer.max_steps=12000"),
            user="bob",
            gpus=(4 + number // 4,),
            workers=3,
            cwd="/home/bob/vit",
            slurm_job_id=str(88_210 + number),
            starts_s=-3_000.0 - 40 * number,
            startup_s=18.0,
            total=12_000,
            step_s=0.42 + 0.01 * number,
            log_every=50,
            evaluate_every=1000,
            evaluate_s=14.0,
            steps_per_epoch=1500,
            loss_first=6.9,
            loss_floor=1.1,
            learning_rate=float(rate),
            load_ratio=0.24,
            intensity_ratio=0.8,
            memory=MemoryPlan(weights_bytes=2 * GIB, training_bytes=int(15.5 * GIB), evaluation_bytes=int(17.2 * GIB)),
            readable=False,
            rank_rss_bytes=3 * GIB,
        )
        for number, rate in enumerate(("1e-3", "5e-4", "3e-4", "1e-4", "5e-5", "3e-5", "1e-5", "5e-6"))
    )


def _queue(gpu: int) -> tuple[RunPlan, ...]:
    """Small runs of one user, each beginning when the one before has ended."""
    small = RunPlan(
        name="probe",
        argv=(),
        user="alice",
        gpus=(gpu,),
        cwd="/home/alice/probes",
        startup_s=8.0,
        total=300,
        step_s=0.3,
        log_every=20,
        evaluate_every=150,
        evaluate_s=4.0,
        loss_first=2.1,
        loss_floor=0.6,
        load_ratio=0.62,
        intensity_ratio=0.6,
        memory=MemoryPlan(weights_bytes=3 * GIB, training_bytes=int(9.5 * GIB), evaluation_bytes=11 * GIB),
    )
    return tuple(
        replace(
            small,
            name=f"probe-{number:02d}",
            argv=_argv(f"python probe.py --run_name probe-{number:02d} --layer {number} --max_steps 300"),
            starts_s=-70.0 + 112.0 * number,
        )
        for number in range(24)
    )


SHARED = Profile(
    name="shared",
    sentence="A shared server: eight GPUs, forty processes of six users, a sweep, a server, a notebook, a queue.",
    gpus=_gpus(8),
    runs=_shared_runs(),
    host="lab-gpu2",
)

_LEAK = replace(
    _LLAMA,
    name="long-context-sft",
    argv=_argv(
        "python -u train.py --run_name long-context-sft --max_seq_length 16384 --max_steps 2000 "
        "--per_device_train_batch_size 2 --output_dir out/long-context"
    ),
    launcher=(),
    gpus=(1,),
    workers=2,
    starts_s=-130.0,
    startup_s=60.0,
    total=2_000,
    step_s=2.2,
    evaluate_every=100,
    evaluate_s=15.0,
    save_every=100,
    save_s=8.0,
    memory=MemoryPlan(weights_bytes=15 * GIB, training_bytes=56 * GIB, growth_bytes_per_s=0.1194 * GIB),
    ends_s=120.0,
    ends_how="out_of_memory",
    ends_text=(
        "Traceback (most recent call last):",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.96 GiB. GPU 1 has a total capacity of "
        "79.65 GiB of which 0.42 GiB is free. (an invented message of a simulated run)",
    ),
)

NEAR_OOM = Profile(
    name="near-oom",
    sentence="Two GPUs; the run on one needs more and more memory and runs out of it after two minutes.",
    gpus=_gpus(2),
    runs=(_DEMO, _LEAK),
)

LOST = Profile(
    name="lost",
    sentence="Four GPUs; one falls off the bus after 20 s (XID 79), its run hangs and is ended a minute later.",
    gpus=_gpus(4, gpu2=GpuPlan(model=H100, lost_after_s=20.0)),
    runs=(
        replace(_DEMO, gpus=(0,)),
        replace(
            _LLAMA,
            gpus=(1, 2, 3),
            launcher=_argv("torchrun --nproc_per_node 3 train.py --run_name llama3-8b-sft"),
            starts_s=-9_000.0,
            freezes_s=20.0,
            ends_s=90.0,
            ends_how="error",
            ends_text=(
                "Traceback (most recent call last):",
                "RuntimeError: CUDA error: unspecified launch failure (an invented message of a simulated run)",
            ),
        ),
    ),
)

THROTTLED = Profile(
    name="throttled",
    sentence="Four GPUs: one held down by heat, one by heat on the board, one by a low power limit, one well.",
    gpus=(
        GpuPlan(model=H100, cooling_c_per_w=0.055),
        GpuPlan(model=H100, cooling_c_per_w=_HOT),
        GpuPlan(model=H100, cooling_c_per_w=0.24, air_c=38.0),
        GpuPlan(model=H100, power_limit_w=400.0),
    ),
    runs=(
        replace(_DEMO, gpus=(0,)),
        replace(
            _LLAMA,
            gpus=(1, 2, 3),
            launcher=_argv("torchrun --nproc_per_node 3 train.py --run_name llama3-8b-sft"),
            starts_s=-15_000.0,
        ),
    ),
)


def _many(count: int, per_gpu: int) -> tuple[RunPlan, ...]:
    """Independent runs, `per_gpu` on each GPU, of a few users."""
    users = (None, "alice", "bob", "carol", "dave")
    return tuple(
        replace(
            _LLAMA,
            name=f"job-{gpu:02d}-{place}",
            argv=("python", "train_job.py", "--run_name", f"job-{gpu:02d}-{place}", "--seed", str(gpu * 10 + place)),
            launcher=(),
            workers=0,
            user=users[gpu % len(users)],
            gpus=(gpu,),
            starts_s=-3_000.0 - 61.0 * gpu - 400.0 * place,
            step_s=0.9 + 0.01 * gpu,
            readable=users[gpu % len(users)] is None,
            load_ratio=0.9 / per_gpu,
            memory=MemoryPlan(
                weights_bytes=4 * GIB, training_bytes=int(70 * GIB / per_gpu), evaluation_bytes=int(72 * GIB / per_gpu)
            ),
        )
        for gpu in range(count)
        for place in range(per_gpu)
    )


SIXTEEN = Profile(
    name="sixteen",
    sentence="Sixteen GPUs: one run over twelve of them, two small ones, one free GPU, one too hot.",
    gpus=_gpus(16, gpu9=GpuPlan(model=H100, cooling_c_per_w=_HOT)),
    runs=(
        _DEMO,
        replace(
            _LLAMA,
            gpus=tuple(range(1, 13)),
            workers=1,
            launcher=_argv("torchrun --nproc_per_node 12 train.py --run_name llama3-8b-sft"),
        ),
        *(replace(run, gpus=(13 + place,)) for place, run in enumerate(_many(2, 1))),
    ),
    host="node16",
)

SIXTY_FOUR = Profile(
    name="sixty-four",
    sentence="Sixty-four GPUs with 256 processes, for measuring.",
    gpus=_gpus(64),
    runs=_many(64, 4),
    host="rack3",
    cpu_count=512,
    memory_total_bytes=8192 * GIB,
)

MIG = Profile(
    name="mig",
    sentence="Two GPUs, one of them split into two MIG instances.",
    gpus=(
        GpuPlan(model=H100),
        GpuPlan(model=H100, mig_enabled=True),
        GpuPlan(model=H100_SLICE, slice_of=1),
        GpuPlan(model=H100_SLICE, slice_of=1),
    ),
    runs=(
        _DEMO,
        *(
            replace(run, gpus=(2 + place,), memory=MemoryPlan(weights_bytes=4 * GIB, training_bytes=30 * GIB))
            for place, run in enumerate(_many(2, 1))
        ),
    ),
)

UNIFIED = Profile(
    name="unified",
    sentence="One GB10, whose memory is the machine's own.",
    gpus=(GpuPlan(model=GB10, cooling_c_per_w=0.42),),
    runs=(_DEMO,),
    host="spark",
    cpu_count=20,
    memory_total_bytes=120 * GIB,
)

MIXED = Profile(
    name="mixed",
    sentence="Two kinds of GPU in one machine.",
    gpus=(GpuPlan(model=A100), GpuPlan(model=A100, cooling_c_per_w=0.12), GpuPlan(model=RTX_4090, cooling_c_per_w=0.1)),
    runs=(_DEMO,),
)

PROFILES: dict[str, Profile] = {
    profile.name: profile
    for profile in (ONE, EIGHT, SHARED, NEAR_OOM, LOST, THROTTLED, SIXTEEN, SIXTY_FOUR, MIG, UNIFIED, MIXED)
}
