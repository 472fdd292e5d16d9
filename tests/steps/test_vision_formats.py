"""Lines of vision frameworks and bars that begin anew each epoch. Every sample line here is invented."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from monitor.types.steps import StepEvent, StepUnit
from tests.steps.texts import counts_of, events_of, fused


@dataclass(frozen=True)
class Sample:
    """A text, and what its last count has to be."""

    name: str
    text: str
    step: float
    total: float | None
    unit: StepUnit = "step"
    each_s: float | None = None
    loss: float | None = None


SAMPLES = (
    Sample(
        "detectron2",
        "  MAX_ITER: 9000\n"
        "[02/03 04:05:06 d2.utils.events]:  eta: 0:32:51  iter: 4019  total_loss: 0.77  loss_cls: 0.21  "
        "time: 0.4100  last_time: 0.4300  data_time: 0.0100  lr: 0.02  max_mem: 9000M\n",
        4019, 9000, each_s=0.43, loss=0.77,
    ),
    Sample(
        "detectron2 without its settings",
        "[02/03 04:05:06] d2.utils.events INFO:  eta: 0:32:51  iter: 4019  total_loss: 0.77  time: 0.4100  lr: 0.02\n",
        4019, None, each_s=0.41,
    ),
    Sample(
        "mmengine epochs",
        "train_cfg = dict(max_epochs=12, type='EpochBasedTrainLoop')\n"
        "2026/02/03 04:05:06 - mmengine - INFO - Epoch(train)  [4][ 200/1410]  lr: 1.5e-03  eta: 2:03:11  "
        "time: 0.4120  data_time: 0.0091  memory: 6120  loss: 0.5127\n",
        3 * 1410 + 200, 12 * 1410, each_s=0.412, loss=0.5127,
    ),
    Sample(
        "mmengine iterations",
        "02/03 04:05:06 - mmengine - INFO - Iter(train) [  500/80000]  lr: 1.0e-02  eta: 9:03:11  "
        "time: 0.4100  loss: 1.5\n",
        500, 80000, each_s=0.41, loss=1.5,
    ),
    Sample(
        "mmcv epochs",
        "2026-02-03 04:05:00,123 - mmdet - INFO - workflow: [('train', 1)], max: 24 epochs\n"
        "2026-02-03 04:05:06,123 - mmdet - INFO - Epoch [7][350/1410]\tlr: 1.500e-03, eta: 1:12:40, time: 0.412, "
        "data_time: 0.010, memory: 6120, loss_cls: 0.3, loss: 0.61\n",
        6 * 1410 + 350, 24 * 1410, each_s=0.412,
    ),
    Sample(
        "mmcv iterations",
        "2026-02-03 04:05:06,123 - mmseg - INFO - Iter [1200/40000]\tlr: 9.7e-03, eta: 4:12:40, "
        "time: 0.391, loss: 0.9\n",
        1200, 40000, each_s=0.391,
    ),
    Sample(
        "yolox",
        "2026-02-03 04:05:06 | INFO     | yolox.core.trainer:270 - epoch: 12/150, iter: 40/310, mem: 5120Mb, "
        "iter_time: 0.212s, data_time: 0.004s, total_loss: 3.1, iou_loss: 1.1, lr: 1.0e-03, size: 640, ETA: 2:31:07\n",
        11 * 310 + 40, 150 * 310, each_s=0.212, loss=3.1,
    ),
    Sample(
        "timm",
        "Scheduled epochs: 310. LR stepped per epoch.\n"
        "Train: 3 [ 150/1251 ( 12%)]  Loss: 3.91 (4.02)  Time: 0.331s, 3092.10/s  (0.352s, 2909.40/s)  "
        "LR: 5.000e-04  Data: 0.012 (0.020)\n",
        3 * 1251 + 150, 310 * 1251, each_s=0.331, loss=3.91,
    ),
    Sample(
        "torchvision references",
        "Namespace(batch_size=32, epochs=90, lr=0.1)\n"
        "Epoch: [3]  [ 150/1251]  eta: 0:06:10  lr: 0.1  img/s: 512.3  loss: 3.9000 (4.1000)  acc1: 20.1 (18.3)  "
        "time: 0.3310  data: 0.0100  max mem: 8121\n",
        3 * 1251 + 150, 90 * 1251, each_s=0.331, loss=3.9,
    ),
    Sample(
        "mae, at the end of an epoch",
        "Start training for 800 epochs\n"
        "Epoch: [0]  [ 20/312]  eta: 0:06:10  lr: 0.000100  loss: 0.9100 (0.9500)  time: 0.3310  data: 0.0100\n"
        "Epoch: [0] Total time: 0:01:43 (0.3303 s / it)\n",
        312, 800 * 312,
    ),
    Sample(
        "dino",
        "Epoch: [3/100]  [ 150/1251]  eta: 0:06:10  loss: 3.9 (4.1)  lr: 0.0001 (0.0001)  time: 0.331  max mem: 8121\n",
        3 * 1251 + 150, 100 * 1251,
    ),
    Sample(
        "swin",
        "[2026-02-03 04:05:06 swin_tiny] (main.py 221): INFO Train: [3/300][150/1251]\teta 0:06:10 lr 0.000125\t "
        "wd 0.05\ttime 0.3310 (0.3520)\tloss 6.1000 (6.4000)\tgrad_norm 2.1 (2.3)\tmem 8121MB\n",
        3 * 1251 + 150, 300 * 1251, each_s=0.331,
    ),
    Sample(
        "openpcdet",
        "2026-02-03 04:05:06,123   INFO  Train:    3/80 (  4%) [ 150/1251 ( 12%)]  Loss: 1.21 (1.40)  LR: 3.0e-03\n",
        2 * 1251 + 150, 80 * 1251,
    ),
    Sample(
        "paddledetection",
        "[02/03 04:05:06] ppdet.engine INFO: Epoch: [3] [  20/1251] learning_rate: 0.001 loss: 1.92 eta: 1:02:03 "
        "batch_cost: 0.4100 data_cost: 0.0100 ips: 19.5 images/s\n",
        3 * 1251 + 20, None, each_s=0.41,
    ),
    Sample(
        "paddleseg",
        "2026-02-03 04:05:06 [INFO]\t[TRAIN] epoch: 3, iter: 100/8000, loss: 0.9, lr: 0.0099, batch_cost: 0.41, "
        "reader_cost: 0.001, ips: 19.5 samples/sec | ETA 00:54:00\n",
        100, 8000, each_s=0.41, loss=0.9,
    ),
    Sample(
        "paddleclas",
        "[2026/02/03 04:05:06] ppcls INFO: [Train][Epoch 3/120][Iter: 100/2500]lr: 0.1, CELoss: 5.1, loss: 5.1, "
        "batch_cost: 0.41s, reader_cost: 0.01\n",
        2 * 2500 + 100, 120 * 2500,
    ),
    Sample(
        "paddleocr",
        "[2026/02/03 04:05:06] ppocr INFO: epoch: [3/500], global_step: 120, lr: 0.001, loss: 1.9, "
        "avg_reader_cost: 0.01 s, avg_batch_cost: 0.4100 s, ips: 19.5\n",
        120, None, each_s=0.41,
    ),
    Sample(
        "basicsr",
        "  total_iter: 300000\n"
        "2026-02-03 04:05:06,123 INFO: [MSRN_..][epoch: 33, iter: 167,900, lr:(1.000e-04,)] [eta: 1 day, 3:04:05, "
        "time (data): 0.412 (0.003)] l_pix: 2.1e-02\n",
        167900, 300000, each_s=0.412,
    ),
    Sample(
        "cyclegan, whole epochs",
        "(epoch: 3, iters: 400, time: 0.512, data: 0.003) G_GAN: 0.41 D_real: 0.21\n"
        "End of epoch 3 / 200 \t Time Taken: 62 sec\n",
        3, 200, "epoch",
    ),
    Sample("dcgan", "[3/25][100/1583] Loss_D: 0.51 Loss_G: 2.11 D(x): 0.8\n" * 2, 2 * 1583 + 100, 25 * 1583),
    Sample(
        "pytorch-gan",
        "[Epoch 0/200] [Batch 10/938] [D loss: 0.6] [G loss: 0.7]\n"
        "[Epoch 1/200] [Batch 3/938] [D loss: 0.6] [G loss: 0.7]\n",
        938 + 3, 200 * 938,
    ),
    Sample("mxnet", "INFO:root:Epoch[3] Time cost=62.100\n", 4, None, "epoch"),
    Sample(
        "darknet",
        "max_batches=6000\n120: 2.345678, 2.456789 avg loss, 0.001000 rate, 1.250000 seconds, 7680 images\n",
        120, 6000, each_s=1.25,
    ),
    Sample(
        "caffe",
        "max_iter: 450000\n"
        "I0203 04:05:06.123456  1234 solver.cpp:218] Iteration 1200 (4.2 iter/s, 4.76s/20 iters), loss = 0.41\n",
        1200, 450000, loss=0.41,
    ),
    Sample(
        "stylegan",
        "Training for 25000 kimg...\n"
        "tick 12    kimg 48.4     time 12m 30s      sec/tick 45.0    sec/kimg 11.20\n",
        48.4, 25000,
    ),
    Sample(
        "nerfstudio", "120 (0.40%)          45.100 ms            22 m, 29 s      90.1 K\n", 120, None, each_s=0.0451
    ),
)  # fmt: skip


def _last(text: str) -> StepEvent:
    return counts_of(text)[-1]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_known_lines(sample: Sample) -> None:
    event = _last(sample.text)
    assert (event.step, event.total, event.unit) == (sample.step, sample.total, sample.unit)
    assert event.source == "known_lines"
    assert bool(event.total_source) == (event.total is not None)
    if sample.each_s is not None:
        assert event.seconds_per_step == pytest.approx(sample.each_s)
    if sample.loss is not None:
        assert {v.name: v.value for v in event.values}["loss"] == sample.loss


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_what_is_not_whole_claims_no_count_that_a_whole_line_would_not(sample: Sample) -> None:
    """However the last line is cut, no count appears that is above the whole line's."""
    before, _, line = sample.text.rstrip("\n").rpartition("\n")
    for length in range(len(line)):
        for event in counts_of(before + "\n" + line[:length]):
            if event.source == "known_lines" and event.step is not None:
                assert event.step <= sample.step
                assert event.total in (None, sample.total)


@pytest.mark.parametrize(
    "line",
    [
        "2026/02/03 04:05:06 - mmengine - INFO - Epoch(val)  [4][ 50/500]    eta: 0:00:31  time: 0.0610",
        "Test:  [ 10/97]  eta: 0:00:06  loss: 0.9 (0.9)  acc1: 71.1 (71.1)  time: 0.06",
        "Test: [  10/97]  Time: 0.061 (0.070)  Loss: 0.91 (0.91)",
        "[02/03 04:05:06 d2.evaluation.evaluator]: Start inference on 500 batches",
        "I0203 04:05:06.123456  1234 solver.cpp:330] Iteration 1000, Testing net (#0)",
    ],
)
def test_evaluation_is_a_phase_and_no_step(line: str) -> None:
    assert [e.phase for e in events_of(line + "\n") if e.phase] == ["evaluating"]
    assert counts_of(line + "\n") == []


def test_times_of_a_log_without_a_year_give_the_rate() -> None:
    lines = (
        f"[02/03 23:{50 + n // 6:02d}:{n % 6 * 10:02d} d2.utils.events]:  eta: 1:00:00  iter: {20 * n + 19}  "
        "total_loss: 0.5  time: 0.3  lr: 0.02\n"
        for n in range(50)
    )
    steps = fused("".join(lines))
    assert steps.step_seconds == pytest.approx(0.5, rel=0.02)
    assert steps.phase != "stalled"


# Bars that begin anew each epoch.

_K3 = "━" * 20


def _keras3(n: int, length: int, each_ms: int, rest: str = "") -> str:
    return (
        f"\r\x1b[1m{n}/{length}\x1b[0m \x1b[32m{_K3}\x1b[0m \x1b[1m3s\x1b[0m {each_ms}ms/step - loss: 0.5{rest}\x08\x08"
    )


def test_keras_3_counts_over_its_epochs() -> None:
    text = "".join(
        f"Epoch {epoch}/5\n"
        + "".join(_keras3(n, 40, 100) for n in range(1, 41))
        + _keras3(40, 40, 100, " - val_loss: 0.6")
        + "\n"
        for epoch in (1, 2, 3)
    )
    steps = fused(text)
    assert (steps.step, steps.total, steps.source) == (120, 200, "epoch_bars")
    assert steps.step_seconds == pytest.approx(0.1, rel=0.02)
    assert steps.wall_seconds_per_step == pytest.approx(0.1, rel=0.05)


@pytest.mark.parametrize(
    ("text", "step", "total", "unit"),
    [
        (
            "Epoch 3/50\n118/1250 [=>............................] - ETA: 2:14 - loss: 0.91 - acc: 0.6\r",
            2618,
            62500,
            "step",
        ),
        ("Epoch 1/50\n    118/Unknown - 14s 118ms/step - loss: 0.91\r", 118, None, "step"),
        ("Epoch 1/50\n    118/Unknown \x1b[1m14s\x1b[0m 118ms/step - loss: 0.91\r", 118, None, "step"),
        ("Epoch 3/50\n1250/1250 - 148s - 118ms/step - accuracy: 0.71 - loss: 0.91\n", 3750, 62500, "step"),
        ("Epoch 3/50\n1250/1250 - 148s - loss: 0.91 - val_loss: 0.8 - 148s/epoch - 118ms/step\n", 3750, 62500, "step"),
        ("Epoch 1/10\n83s - loss: 1.7 - acc: 0.5\nEpoch 2/10\n86s - loss: 0.6 - acc: 0.8\n", 2, 10, "epoch"),
    ],
)
def test_keras_shapes(text: str, step: float, total: float | None, unit: str) -> None:
    event = [e for e in counts_of(text) if e.source == "epoch_bars"][-1]
    assert (event.step, event.total, event.unit) == (step, total, unit)


def test_keras_evaluation_after_training_is_no_training() -> None:
    text = "Epoch 1/1\n40/40 - 4s - 100ms/step - loss: 0.5\n"
    text += "".join(f"\r{n}/313 {_K3} 0s 2ms/step - accuracy: 0.9 - loss: 0.4" for n in range(1, 314)) + "\n"
    steps = fused(text)
    assert (steps.step, steps.total, steps.phase) == (40, 40, "evaluating")


def test_prediction_alone_is_no_training() -> None:
    assert counts_of("".join(f"\r{n}/313 {_K3} 0s 2ms/step" for n in range(1, 314)) + "\n") == []


_V8 = "      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size\n"
_V5 = "      Epoch    GPU_mem   box_loss   obj_loss   cls_loss  Instances       Size\n"
_V7 = "     Epoch   gpu_mem       box       obj       cls     total    labels  img_size\n"
_FIGURES = "6.9G      0.853      0.912      1.210         52        640"
_TQDM = f"      3/99       {_FIGURES}:  41%|████▏     | 14/34 [00:05<00:08,  2.40it/s]"
_OWN = f"\r\x1b[K      3/100      {_FIGURES}: 41% ━━━━╸─────── 14/34 2.4it/s 5.8s<8.3s"


@pytest.mark.parametrize(
    ("text", "step", "total"),
    [
        (_V8 + _OWN, 2 * 34 + 14, 3400),
        (_V8 + _TQDM.replace("3/99", "3/100"), 2 * 34 + 14, 3400),
        (_V5 + _TQDM, 3 * 34 + 14, 3400),
        (_V7 + "\r" + _TQDM, 3 * 34 + 14, 3400),
        ("Starting training for 100 epochs...\n" + _TQDM, 3 * 34 + 14, 3400),
        ("Starting training for 99 epochs...\n" + _TQDM, 2 * 34 + 14, 99 * 34),
    ],
)
def test_yolo_bars_know_their_first_epoch(text: str, step: float, total: float) -> None:
    steps = fused(text + "\r")
    assert (steps.step, steps.total, steps.source) == (step, total, "epoch_bars")


def test_yolo_bars_claim_nothing_where_the_first_epoch_is_not_told() -> None:
    assert [e for e in counts_of(_TQDM + "\r") if e.source == "epoch_bars"] == []


def test_yolo_validation_is_a_phase() -> None:
    text = _V8 + _OWN.replace("14/34", "34/34") + "\n"
    text += "\r                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 50%"
    text += " ━━━━━━────── 2/4 3.1it/s 0.6s<0.6s"
    steps = fused(text)
    assert (steps.step, steps.phase) == (102, "evaluating")


def test_time_of_epochs_that_the_text_leaves_out_is_not_invented() -> None:
    def epoch(number: int) -> str:
        bars = (
            f"\r      {number}/99      {_FIGURES}: 41%|####| {n}/34 [00:{n:02d}<00:08, 1.00it/s]"
            for n in range(2, 35, 4)
        )
        return "".join(bars) + "\n"

    steps = fused(_V7 + "".join(epoch(number) for number in (0, 1, 5, 9, 13)))
    assert (steps.step, steps.total) == (13 * 34 + 34, 3400)
    assert steps.step_seconds == pytest.approx(1.0)
    assert steps.wall_seconds_per_step is None


def test_rich_bars_of_lightning_number_from_0() -> None:
    line = f"Epoch 3/9 {'━' * 40} 74/200 0:00:49 • 0:01:24 1.50it/s v_num: 0.000 train_loss: 0.41\n"
    event = [e for e in counts_of(line) if e.source == "epoch_bars"][-1]
    assert (event.step, event.total) == (3 * 200 + 74, 2000)
    event = [e for e in counts_of(f"Epoch 1/3 {'━' * 40} 20/20 0:00:00 0:00:00\n") if e.source == "epoch_bars"][-1]
    assert (event.step, event.total) == (20, 60)
