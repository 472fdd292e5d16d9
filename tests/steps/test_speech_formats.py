"""Lines of speech, translation, RL and classic frameworks. Every sample line here is invented."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from monitor.types.steps import StepUnit
from tests.steps.texts import counts_of, events_of, fused


@dataclass(frozen=True)
class Sample:
    """A text, and what its last count has to be."""

    name: str
    text: str
    step: float
    total: float | None
    unit: StepUnit = "step"
    source: str = "known_lines"


_FAIRSEQ = (
    "2026-02-03 04:05:06 | INFO | train_inner | epoch 012:    240 / 655 loss=4.117, nll_loss=2.5, ppl=5.7, wps=41270, "
    "ups=1.31, wpb=31503, bsz=912, num_updates=7445, lr=0.0004, gnorm=0.9, train_wall=76, gb_free=12.1, wall=5712\n"
)
_FAIRSEQ_JSON = (
    '{"epoch": 12, "update": 11.366, "loss": "4.117", "ppl": "5.7", "wps": "41270", "num_updates": "7445", '
    '"lr": "0.0004", "train_wall": "76", "wall": "5712"}\n'
)
SAMPLES = (
    Sample("fairseq", _FAIRSEQ, 7445, None, "optimizer_step"),
    Sample(
        "fairseq, updates",
        "Namespace(arch='t', max_epoch=0, max_update=50000)\n" + _FAIRSEQ, 7445, 50000, "optimizer_step",
    ),
    Sample("fairseq, epochs", "{'max_epoch': 30, 'max_update': 0}\n" + _FAIRSEQ, 7445, 30 * 655, "optimizer_step"),
    Sample(
        "fairseq, the sooner of both",
        "{'max_epoch': 30, 'max_update': 12000}\n" + _FAIRSEQ, 7445, 12000, "optimizer_step",
    ),
    Sample(
        "fairseq, whole epoch",
        "2026-02-03 04:05:06 | INFO | train | epoch 012 | loss 4.1 | ppl 5.7 | wps 41270 | ups 1.31 | "
        "num_updates 7860 | lr 0.0004 | gnorm 0.9 | train_wall 480 | gb_free 12 | wall 6012\n",
        7860, None, "optimizer_step",
    ),
    Sample(
        "fairseq json",
        "2026-02-03 04:05:06 | INFO | train_inner | " + _FAIRSEQ_JSON,
        7445, None, "optimizer_step", "prefixed_json",
    ),
    Sample(
        "fairseq hydra",
        "[2026-02-03 04:05:06,123][train_inner][INFO] - " + _FAIRSEQ_JSON,
        7445, None, "optimizer_step", "prefixed_json",
    ),
    Sample("fairseq2", "[02/03/26 04:05:06] INFO Train Metrics (step 500) - Loss: 2.1 | Elapsed: 41\n", 500, None),
    Sample(
        "espnet, begins",
        "[node] 2026-02-03 04:05:06,123 (trainer:318) INFO: 2/40epoch started. Estimated time to finish: 3 hours\n",
        1, 40, "epoch",
    ),
    Sample(
        "espnet, over",
        "[node] 2026-02-03 04:05:00,123 (trainer:318) INFO: 3/40epoch started.\n"
        "[node] 2026-02-03 04:45:06,123 (trainer:373) INFO: 3epoch results: [train] iter_time=1.2e-04, loss=61.2, "
        "[valid] loss=71.0\n",
        3, 40, "epoch",
    ),
    Sample(
        "funasr",
        "[2026-02-03 04:05:06,123][root][INFO] - train, rank: 0, epoch: 1/50, data_slice: 0/1, "
        "step_in_slice: 120/1500, step_in_epoch: 120, total step: 1620, (loss_avg_rank: 1.2), (lr: 2.0e-04)\n",
        1620, 75000, "micro_batch",
    ),
    Sample(
        "coqui",
        " > EPOCH: 3/1000\n   --> TIME: 2026-02-03 04:05:06 -- STEP: 118/406 -- GLOBAL_STEP: 1336\n", 1336, 406000,
    ),
    Sample("tacotron", "Train loss 1200 0.512345 Grad Norm 0.412345 1.21s/it\n", 1200, None),
    Sample(
        "opennmt-py",
        "[2026-02-03 04:05:06,123 INFO] Step 1600/100000; acc:  58.80; ppl:  9.05; xent: 2.20; lr: 1.00000; "
        "10988/8515 tok/s;    111 sec\n",
        1600, 100000, "optimizer_step",
    ),
    Sample("old opennmt-py", "Epoch  2,   50/ 6252; acc:  31.2; ppl: 91.1; 3012 src tok/s; 42 s elapsed\n", 6302, None),
    Sample(
        "marian",
        "[2026-02-03 04:05:06] [config] after-batches: 80000\n"
        "[2026-02-03 04:05:06] Ep. 1 : Up. 1000 : Sen. 64,000 : Cost 5.1 : Time 12.34s : 5000.1 words/s\n",
        1000, 80000, "optimizer_step",
    ),
    Sample("estimator", "INFO:tensorflow:loss = 4.1, step = 1200 (23.456 sec)\n", 1200, None),
    Sample("tf-slim", "INFO:tensorflow:global step 120: loss = 0.9123 (0.412 sec/step)\n", 120, None),
    Sample(
        "tf object detection",
        "I0203 04:05:06.123456 1234 model_lib.py:705] Step 500 per-step time 0.412s loss=0.912\n", 500, None,
    ),
    Sample(
        "flair",
        "2026-02-03 04:05:00,123  - max_epochs: \"10\"\n"
        "2026-02-03 04:05:06,123 epoch 3 - iter 118/1187 - loss 0.91 - time (sec): 41.20 - "
        "samples/sec: 91.60 - lr: 0.1\n",
        2 * 1187 + 118, 11870,
    ),
    Sample(
        "word language model",
        "| epoch   3 |   200/ 2983 batches | lr 5.00 | ms/batch 12.30 | loss  5.10 | ppl   164.02\n",
        2 * 2983 + 200, None,
    ),
    Sample(
        "rl_games",
        "fps step: 12345 fps step and policy inference: 9123 fps total: 9000 epoch: 12/500 frames: 196608\n",
        12, 500,
    ),
    Sample("rl_games without frames", "fps step: 12345 fps total: 90 epoch: 12/500\n", 12, 500),
    Sample("rl_games without an end", "fps step: 12345 fps total: 90 epoch: 12 frames: 196608\n", 12, None),
    Sample("older coqui", " > EPOCH: 3/1000\n   --> STEP: 118/406 -- GLOBAL_STEP: 1336\n", 1336, 406000),
    Sample("rsl_rl", "                       Learning iteration 120/1500\n", 120, 1500),
    Sample("xgboost", "[117]\tvalidation_0-logloss:0.42\n[118]\tvalidation_0-logloss:0.41\n", 119, None),
    Sample("xgboost in a container", "[12:00:01] [118]#011train-rmse:3.50#011validation-rmse:3.60\n", 119, None),
    Sample("lightgbm", "[118]\tvalid_0's auc: 0.91\tvalid_0's binary_logloss: 0.31\n", 118, None),
    Sample("lightgbm, cross-validation", "[118]\tcv_agg's valid auc: 0.91 + 0.01\n", 118, None),
)  # fmt: skip


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_known_lines(sample: Sample) -> None:
    event = counts_of(sample.text)[-1]
    assert (event.step, event.total, event.unit, event.source) == (
        sample.step,
        sample.total,
        sample.unit,
        sample.source,
    )
    assert bool(event.total_source) == (event.total is not None)


@pytest.mark.parametrize(
    "line",
    [
        "2026-02-03 04:05:06 | INFO | valid | epoch 012 | valid on 'valid' subset | loss 4.1 | num_updates 7860",
        '2026-02-03 04:05:06 | INFO | fairseq.tasks | begin validation on "valid" subset',
        '[2026-02-03 04:05:06,123][valid][INFO] - {"epoch": 12, "valid_loss": "4.2", "num_updates": "7860"}',
        "[node] 2026-02-03 04:05:06,123 (trainer:793) INFO: 3epoch:valid:1-50batch: loss=71.0",
        "2026-02-03 04:05:06,123 DEBUG CV Batch 3/120 loss 41.2 loss_att 40.1",
        " > EVALUATION ",
        "2026-02-03 04:05:06,123 INFO [train.py:1050] Computing validation loss",
    ],
)
def test_evaluation_is_a_phase_and_no_step(line: str) -> None:
    assert {e.phase for e in events_of(line + "\n") if e.phase} == {"evaluating"}
    assert counts_of(line + "\n") == []


@pytest.mark.parametrize(
    "text",
    [
        "2026-02-03 04:05:06,123 DEBUG TRAIN Batch 3/120 loss 41.200 loss_att 40.1 lr 0.001 rank 0\n",
        "2026-02-03 04:05:06,123 INFO [train.py:898] Epoch 3, batch 100, loss[loss=0.31, over 1234.00 frames.], "
        "tot_loss[loss=0.33], batch size: 42, lr: 1.00e-03\n",
        "[node] 2026-02-03 04:07:06,123 (trainer:793) INFO: 3epoch:train:101-150batch: iter_time=1.2e-04, loss=61.2\n",
        "(epoch: 3, iters: 400, time: 0.512, data: 0.003) G_GAN: 0.41\n",
    ],
)
def test_batches_of_epochs_without_a_length_are_no_count_of_the_run(text: str) -> None:
    assert counts_of(text * 3) == []
    assert [e.phase for e in events_of(text)] == ["training"]


@pytest.mark.parametrize(
    "line",
    [
        "2026-02-03 04:05:06 | INFO | fairseq_cli.train | done training in 5712.3 seconds",
        "Training time 1 day, 2:03:04",
        "Stopping. Best iteration:",
        "Early stopping, best iteration is:",
        "Did not meet early stopping. Best iteration is:",
        "bestTest = 0.2611",
        "Stopped by overfitting detector  (50 iterations wait)",
        "*** Best metric: 81.2 (epoch 290)",
    ],
)
def test_closing_words(line: str) -> None:
    assert "finished" in [e.ended for e in events_of(line + "\n")]


def test_a_counter_that_goes_with_a_resumed_run_takes_no_total_from_its_epochs() -> None:
    text = " > EPOCH: 0/1000\n   --> TIME: 2026-02-03 04:05:06 -- STEP: 118/406 -- GLOBAL_STEP: 90118\n"
    event = counts_of(text)[-1]
    assert (event.step, event.total) == (90118, None)


def _catboost(n: int, iterations: int, each_s: float) -> str:
    elapsed_s = (n + 1) * each_s
    left_s = (iterations - n - 1) * each_s
    left = f"{int(left_s) // 60}m {int(left_s) % 60}s" if left_s >= 60 else f"{left_s:.3g}s"
    elapsed = f"{int(elapsed_s) // 60}m {int(elapsed_s) % 60}s" if elapsed_s >= 60 else f"{elapsed_s:.3g}s"
    return f"{n}:\tlearn: 0.41\ttest: 0.44\tbest: 0.44 ({n})\ttotal: {elapsed}\tremaining: {left}\n"


@pytest.mark.parametrize("iterations", [500, 1000, 2000])
def test_the_total_of_catboost_follows_from_the_time_left(iterations: int) -> None:
    text = "".join(_catboost(n, iterations, 0.05) for n in range(0, iterations, 10))
    steps = fused(text)
    assert (steps.step, steps.total) == (iterations - 9, iterations)
    assert steps.step_seconds == pytest.approx(0.05, rel=0.05)
    assert "time left" in steps.total_source


def test_a_time_left_that_bounds_nothing_gives_no_total() -> None:
    assert counts_of("0:\tlearn: 6.21\ttotal: 2ms\tremaining: 3s\n")[-1].total is None


def test_times_since_the_line_before_add_up() -> None:
    lines = (f"INFO:tensorflow:loss = 4.1, step = {100 * n} (25.000 sec)\n" for n in range(1, 30))
    assert fused("".join(lines)).step_seconds == pytest.approx(0.25, rel=0.01)


def test_times_that_begin_anew_each_epoch_add_up() -> None:
    lines = (
        f"2026 epoch {epoch} - iter {n}/100 - loss 0.91 - time (sec): {n * 0.5:.2f} - samples/sec: 91.60 - lr: 0.1\n"
        for epoch in (1, 2, 3)
        for n in range(10, 101, 10)
    )
    steps = fused("".join(lines))
    assert steps.step == 300
    assert steps.step_seconds == pytest.approx(0.5, rel=0.02)


def test_the_time_of_a_block_stands_in_its_last_lines() -> None:
    blocks = (
        f"#########\n          Learning iteration {n}/1500\n\n       Computation: 30000 steps/s\n   Mean reward: 1.2\n"
        f"        Iteration time: 0.60s\n            Total time: {0.6 * (n + 1):.2f}s\n               ETA: 842.3s\n"
        for n in range(40)
    )
    steps = fused("".join(blocks))
    assert (steps.step, steps.total) == (39, 1500)
    assert steps.step_seconds == pytest.approx(0.6, rel=0.02)


def test_a_pair_that_may_be_epoch_and_batch_or_batch_and_total_tells_no_epoch() -> None:
    (event,) = events_of("2026-02-03 04:05:06,123 DEBUG TRAIN Batch 40/500 loss 41.2 lr 0.001 rank 0\n")
    assert (event.step, event.epoch) == (None, None)
