"""Lines of language-model frameworks. Every sample line here is invented."""

from __future__ import annotations

import pytest

from tests.steps.texts import counts_of, fused

Row = tuple[str, str, float, float | None, float | None, str]
LINES: list[Row] = [
    # what, text, step, total, seconds per step as printed, unit
    (
        "Megatron",
        " [2026-02-03 04:05:06.123456] iteration      480/   20000 | consumed samples:       122880 | elapsed time per"
        " iteration (ms): 1412.7 | throughput per GPU (TFLOP/s/GPU): 391.2 | learning rate: 1.500000E-04 | global batch"
        " size:   256 | lm loss: 3.1412E+00 | loss scale: 1.0 | grad norm: 0.412 |",
        480,
        20000,
        1.4127,
        "step",
    ),
    (
        "Megatron without a total",
        " iteration      480 | consumed samples: 122880 | elapsed time per iteration (ms): 1412.7 | lm loss: 3.1E+00 |",
        480,
        None,
        1.4127,
        "step",
    ),
    (
        "Megatron to infinity",
        " iteration      480/infinity | elapsed time per iteration (ms): 1412.7 | lm loss: 3.1E+00 |",
        480,
        None,
        1.4127,
        "step",
    ),
    (
        "Megatron-DeepSpeed in seconds",
        "[default7]: iteration       62/    1000 | consumed samples: 992 | consumed tokens: 2031616 | elapsed time per"
        " iteration (s): 12.31 | learning rate: 1.2E-06 | global batch size: 16 | lm loss: 9.04E+00 | grad norm: 4.1 |",
        62,
        1000,
        12.31,
        "step",
    ),
    (
        "GPT-NeoX",
        "  samples/sec: 61.120 | iteration      480/   20000 | elapsed time per iteration (ms): 1412.7 | learning rate:"
        " 1.5E-04 | approx flops per GPU: 85.9TFLOPS | lm_loss: 3.14E+00 | loss scale: 1.0 |",
        480,
        20000,
        1.4127,
        "step",
    ),
    (
        "nanotron",
        "02/03/2026 04:05:06 [INFO|DP=0|PP=0|TP=0]: iteration: 480 / 20000 | consumed_tokens: 1.01M |"
        " elapsed_time_per_iteration_ms: 1.41K | tokens_per_sec: 371K | lm_loss: 3.14 | lr: 0.0003 | grad_norm: 0.41",
        480,
        20000,
        None,
        "step",
    ),
    (
        "NeMo",
        "Training epoch 0, iteration 119/9999 | lr: 3e-05 | consumed_samples: 6144 | global_batch_size: 512 |"
        " global_step: 119 | reduced_train_loss: 2.103 | train_step_timing in s: 39.8",
        120,
        10000,
        39.8,
        "optimizer_step",
    ),
    (
        "NeMo without a global step",
        "Training epoch 0, iteration 119/9999 | lr: 3e-05 | reduced_train_loss: 2.103 | train_step_timing in s: 39.8",
        120,
        10000,
        39.8,
        "step",
    ),
    (
        "DeepSpeed timer",
        "[2026-02-03 04:05:06,123] [INFO] [timer.py:264:stop] epoch=0/micro_step=400/global_step=100,"
        " RunningAvgSamplesPerSec=112.41, CurrSamplesPerSec=118.03, MemAllocated=9.12GB, MaxMemAllocated=51.77GB",
        100,
        None,
        None,
        "optimizer_step",
    ),
    (
        "DeepSpeed step",
        "[2026-02-03 04:05:06,123] [INFO] [logging.py:96:log_dist] [Rank 0] step=100, skipped=4, lr=[1e-05],"
        " mom=[[0.9, 0.95]]",
        100,
        None,
        None,
        "optimizer_step",
    ),
    (
        "DeepSpeed pipeline",
        "steps: 100 loss: 2.1043 iter time (s): 1.713 samples/sec: 149.432",
        100,
        None,
        1.713,
        "optimizer_step",
    ),
    (
        "torchtitan",
        "[rank0]:[titan] 2026-02-03 04:05:06,123 - root - INFO - step: 120  loss:  4.10233  grad_norm:  0.8123 "
        " memory: 61.20GiB(77.31%)  tps: 5,310  tflops: 307.44  mfu: 31.09%",
        120,
        None,
        None,
        "step",
    ),
    (
        "torchtitan, older",
        "2026-02-03 04:05:06,123 - root - INFO - step: 120  loss: 4.1  memory: 61.20GiB(77.31%)  wps: 5,310  mfu: 31%",
        120,
        None,
        None,
        "step",
    ),
    ("nanoGPT", "iter 1250: loss 2.9014, time 318.42ms, mfu 27.31%", 1250, None, 0.31842, "step"),
    (
        "nanochat",
        "step 00118/05000 (2.36%) | loss: 3.912000 | lrm: 1.00 | dt: 331.20ms | tok/sec: 158,301 | mfu: 31.20 | total"
        " time: 1.23m",
        118,
        5000,
        0.3312,
        "step",
    ),
    (
        "build-nanogpt",
        "step   118 | loss: 3.910210 | lr 5.0000e-04 | norm: 0.6100 | dt: 331.20ms | tok/sec: 158301.12",
        118,
        None,
        0.3312,
        "step",
    ),
    ("build-nanogpt log.txt", "118 train 3.910210", 118, None, None, "step"),
    (
        "llm.c",
        "step  118/19560 | loss 3.911230 (+0.12z)| norm 0.6101 (+0.30z)| lr 5.10e-04 | 331.20 ms | 61.2% bf16 MFU |"
        " 1583010 tok/s",
        118,
        19560,
        0.3312,
        "step",
    ),
    (
        "llm.c, older",
        "step   118/19560 | train loss 3.911230 | norm 0.6101 | lr 5.10e-04 | 331.20 ms | 1583010 tok/s",
        118,
        19560,
        0.3312,
        "step",
    ),
    ("llm.c on a CPU", "step 118: train loss 3.911230 (took 331.201000 ms)", 118, None, 0.331201, "step"),
    ("llm.c main.log", "s:118 trl:3.9110 lr:0.000510 norm:0.61", 118, None, None, "step"),
    ("llm.c main.log, held out", "s:118 tel:3.9110", 118, None, None, "step"),
    (
        "modded-nanogpt",
        "step:118/2400 train_loss:4.9000 train_time:14868ms step_avg:126.00ms",
        118,
        2400,
        None,
        "step",
    ),
    ("modded-nanogpt without a loss", "step:118/2400 train_time:14868ms step_avg:126.00ms", 118, 2400, None, "step"),
    (
        "OLMo",
        "2026-02-03 04:05:06.789\thost:0\tolmo.train:979\tINFO\t[step=118/25000,epoch=0]",
        118,
        25000,
        None,
        "step",
    ),
    (
        "OLMo-core",
        "2026-02-03 04:05:06.789\thost:0\tolmo_core.train.callbacks:1\tINFO\t[step=118/25,000,epoch=1,eta=1 day, 2:03]",
        118,
        25000,
        None,
        "step",
    ),
    ("Composer", "[batch=120/4800]:", 120, 4800, None, "step"),
    ("Composer by epochs", "[epoch=2][batch=20/400]:", 420, None, None, "step"),
    (
        "MaxText",
        "completed step: 118, seconds: 1.913, TFLOP/s/device: 171.3, Tokens/s/device: 4282.8, total_weights: 65536,"
        " loss: 3.912",
        119,
        None,
        1.913,
        "step",
    ),
    (
        "clu notes",
        "I0203 04:05:06.123456 140 logging_writer.py:48] Setting work unit notes: 2.3 steps/s, 11.8% (118/1000),"
        " ETA: 6m",
        118,
        1000,
        None,
        "step",
    ),
    (
        "clu",
        "I0203 04:05:06.123456 140 logging_writer.py:48] [118] learning_rate=0.001, loss=3.91, steps_per_sec=2.3",
        118,
        None,
        None,
        "step",
    ),
    (
        "torchtune",
        "Step 205 | loss:1.31 lr:2e-05 tokens_per_second_per_gpu:4110.2 peak_memory_active:18.2",
        205,
        None,
        None,
        "optimizer_step",
    ),
    (
        "verl",
        "(TaskRunner pid=123) step:118 - actor/pg_loss:np.float64(0.013) - perf/throughput:1042.7 -"
        " timing_s/step:88.41 - training/epoch:0",
        118,
        None,
        88.41,
        "optimizer_step",
    ),
    ("NeMo-RL", "========================= Step 12/1000 =========================", 12, 1000, None, "step"),
    ("OpenRLHF", "✨ Global step 12: {'policy_loss': 0.013, 'actor_lr': 1e-06}", 12, None, None, "step"),
    (
        "prime-rl",
        "04:05:06 SUCCESS Step 12 | Time: 45.60s | Loss: 0.0123 | Entropy: 0.41",
        12,
        None,
        45.6,
        "step",
    ),
    (
        "LitGPT",
        "Epoch 1 | iter 118 step 29 | loss train: 1.234, val: n/a | iter time: 331.20 ms (step)",
        29,
        None,
        None,
        "optimizer_step",
    ),
    (
        "LitGPT, older",
        "iter 118 step 29: loss 1.2345, iter time: 331.20ms (optimizer.step)",
        29,
        None,
        None,
        "optimizer_step",
    ),
    ("dictionary with a step", "{'loss': 2.31, 'step': 118, 'learning_rate': 0.0003}", 118, None, None, "step"),
]


@pytest.mark.parametrize("row", LINES, ids=[row[0] for row in LINES])
def test_the_line_of_a_framework(row: Row) -> None:
    _, text, step, total, each_s, unit = row
    (event,) = counts_of(text + "\n")
    assert (event.step, event.total, event.unit) == (step, total, unit)
    assert event.seconds_per_step == (None if each_s is None else pytest.approx(each_s))
    assert event.confidence >= 0.55
    if total is not None:
        assert event.total_source


@pytest.mark.parametrize("row", LINES, ids=[row[0] for row in LINES])
def test_a_line_in_program_text_is_no_step(row: Row) -> None:
    for quoted in (f'    # {row[1]}"', f'print0(f"{row[1]}"', f"logger.info('{row[1]}'"):
        assert all(event.confidence < 0.5 for event in counts_of(quoted + "\n")), quoted


FIGURES: list[tuple[str, dict[str, float | str]]] = [
    (LINES[0][1], {"lr": 1.5e-4, "loss": 3.1412, "grad_norm": 0.412}),
    (LINES[11][1], {"loss": 4.10233, "grad_norm": 0.8123, "tokens_per_s": 5310, "memory_bytes": 61.2 * 1024**3}),
    (LINES[8][1], {"memory_allocated_bytes": 51.77e9}),
    (LINES[14][1], {"loss": 3.912, "tokens_per_s": 158301}),
    (LINES[17][1], {"loss": 3.91123, "grad_norm": 0.6101, "lr": 5.1e-4}),
    ("step 14 | loss: nan | lr: 0.1 | dt: 1ms |", {"loss": "nan"}),
    ("train/CrossEntropyLoss=3.977", {"loss": 3.977}),
    ("    throughput/device/tokens_per_second=36,204", {"tokens_per_s": 36204}),
    ("    System/Peak GPU Memory (MB)=61,200", {"memory_allocated_bytes": 61.2e9}),
    ("\t Train loss/train/total: 2.9100", {"loss": 2.91}),
    ("\t Train memory/peak_reserved_mem: 61.2000", {"memory_reserved_bytes": 61.2e9}),
    (
        "[Rank 0] (after 100 iterations) memory (MB) | allocated: 10.0 | max allocated: 100.5 | reserved: 7.0 |"
        " max reserved: 200.0",
        {"memory_allocated_bytes": 100.5 * 1024**2, "memory_reserved_bytes": 200 * 1024**2},
    ),
    (
        "{'loss': '1.834', 'grad_norm': '0.7104', 'learning_rate': '1.7e-05', 'epoch': '0.42',"
        " 'memory/max_allocated (GiB)': '20.5'}",
        {"loss": 1.834, "grad_norm": 0.7104, "lr": 1.7e-5, "memory_allocated_bytes": 20.5 * 1024**3},
    ),
]


@pytest.mark.parametrize(("line", "wanted"), FIGURES)
def test_the_figures_of_a_line(line: str, wanted: dict[str, float | str]) -> None:
    found = {value.name: value.value for value in fused(line + "\n").values}
    for name, value in wanted.items():
        assert found[name] == (value if isinstance(value, str) else pytest.approx(value))


@pytest.mark.parametrize(
    ("line", "phase"),
    [
        ("validation loss at iteration 500 | lm loss value: 3.1E+00 | lm loss PPL: 2.2E+01 |", "evaluating"),
        ("saving checkpoint at iteration     500 to /ckpt in torch_dist format", "saving"),
        ("Validation epoch 0, iteration 3/10 | val_loss: 2.1", "evaluating"),
        ("- root - INFO - validate step: 120  loss: 4.1  memory: 61.20GiB(77%)", "evaluating"),
        ("step 1250: train loss 2.8812, val loss 2.9512", "evaluating"),
        ("Step 00250 | Validation bpb: 0.9821", "evaluating"),
        ("118 hella 0.2510", "evaluating"),
        ("2026-02-03 04:05:06.789 host:0 olmo.train:1 INFO [eval_step=10/40]", "evaluating"),
        ("[Eval batch=5/40] Eval on c4 data", "evaluating"),
        ("Completed eval after train step 500", "evaluating"),
        ("step:118 - val-core/math/acc/mean@16:0.41 - val-aux/reward:0.2", "evaluating"),
    ],
)  # fmt: skip
def test_lines_of_evaluation_are_told_and_not_counted(line: str, phase: str) -> None:
    steps = fused(line + "\n")
    assert (steps.step, steps.phase) == (None, phase)


@pytest.mark.parametrize(
    "line",
    [
        "exiting program at iteration 500 datetime: 2026-02-03",
        "Total training time: 12.31m",
        "total average iteration time: 331.201000 ms",
        "stopping_early: wallclock_cap train_time:600038ms step:13780/20000",
        "{'train_runtime': '812.3', 'train_samples_per_second': '9.1', 'train_loss': '1.2', 'epoch': '3'}",
    ],
)
def test_closing_words(line: str) -> None:
    ended = fused(line + "\n").ended
    assert ended is not None
    assert ended.how == "finished"


TOTALS: list[tuple[str, float, str]] = [
    (
        "Trainer is initialized with local batch size 8, global batch size 64, gradient accumulation steps 1, sequence"
        f" length 2048, total steps 1000 (warmup 200)\n{LINES[11][1]}\n",
        1000,
        "torchtitan",
    ),
    (f"Total training steps: 3900\n{LINES[32][1]}\n", 3900, "verl"),
    (
        f"Training Progress:   0%|          | 19/3900 [1:06:49<227:17:01, 222.37s/it]\n{LINES[32][1]}\n",
        3900,
        "verl bar",
    ),
    (f"Overriding: max_iters = 5000\n{LINES[13][1]}\n", 5000, "nanoGPT"),
    (f"Calculated number of iterations from target data:param ratio: 21,400\n{LINES[15][1]}\n", 21400, "nanochat"),
    (f"I0203 04:05:06.1 140 pyconfig.py:1] Config param steps: 150\n{LINES[28][1]}\n", 150, "MaxText"),
    (f"max_duration: 3ep\n{LINES[27][1]}\n", 1200, "Composer"),
    (f"[INFO|trainer.py:2243] 2026-02-03 >>   Total optimization steps = 375\n{LINES[8][1]}\n", 375, "DeepSpeed"),
]


@pytest.mark.parametrize(("text", "total", "what"), TOTALS, ids=[row[2] for row in TOTALS])
def test_banners_give_totals(text: str, total: float, what: str) -> None:
    steps = fused(text)
    assert steps.total == total, what
    assert steps.total_source


@pytest.mark.parametrize(
    ("line", "how"),
    [
        ("***** train metrics *****", "finished"),
        ("Time limit reached. Elapsed time is 4:00:00. Signaling Trainer to stop.", "finished"),
        ("(TaskRunner pid=123) ('Final validation metrics: ' \"{'val/acc': 0.41}\")", "finished"),
        ("[rank0]:[titan] 2026-02-03 04:05:06,123 - root - INFO - Training completed", "finished"),
        ("`Trainer.fit` stopped: `max_steps=9000` reached.", "finished"),
        ("  exitcode  : -9 (pid: 4143)", "killed"),
        ("Terminated", "killed"),
        ("Segmentation fault (core dumped)", "error"),
        ("srun: error: node01: task 3: Exited with exit code 1", "error"),
        ("terminate called after throwing an instance of 'c10::DistBackendError'", "error"),
        ("Fatal Python error: Aborted", "error"),
    ],
)
def test_how_runs_end(line: str, how: str) -> None:
    ended = fused(f"{LINES[13][1]}\n{line}\n").ended
    assert ended is not None
    assert ended.how == how


@pytest.mark.parametrize(
    "line",
    [
        "training will be terminated by early stopping if needed",
        "handles faults",
        "eval metrics: 0.4",
        "no signaling here",
    ],
)
def test_words_that_end_nothing(line: str) -> None:
    assert fused(f"{LINES[13][1]}\n{line}\n").ended is None
