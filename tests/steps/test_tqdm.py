"""tqdm bars. Every sample line here is invented."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.steps.formats.bar_text import last_bar
from tests.steps.texts import bar, counts_of, events_of, fused

SHAPES: list[tuple[str, float, float | None, float | None]] = [
    # line, n, total, elapsed
    ("Train:  41%|████▏     | 205/500 [03:25<04:55,  1.00s/it, loss=1.31]", 205, 500, 205),
    ("  0%|          | 0/500 [00:00<?, ?it/s]", 0, 500, 0),
    ("1312it [02:11,  9.98it/s]", 1312, None, 131),
    ("0it [00:00, ?it/s]", 0, None, 0),
    (" 11%|█         | 11/100 [1:02:03<27:46:40, 13.40s/it]", 11, 100, 3723),
    (" 88%|████████▊ | 880/1000 [63:12:05<08:41, 258.55s/it]", 880, 1000, 227525),
    ("  3%|3         | 30/1000 [10:00<1 day, 4:14:33, 20.0s/it]", 30, 1000, 600),
    ("1,234/10,000 [00:10<01:00, 20it/s]", 1234, 10000, 10),
    (" 24%|##4       | 12/50 [00:30<01:35,  2.50s/it]", 12, 50, 30),
    (" 30% 120/400 [00:30<01:10,  4.00it/s]", 120, 400, 30),
    ("Epoch 1: : 1it [25:44, 1544.00s/it]", 1, None, 1544),
    ("25/? [00:26<00:00, 1.0it/s]", 25, None, 26),
    ("412it [00:08, 51.50it/s]", 412, None, 8),
    ("Epoch 2:  37%|███▋      | 74/200 [00:49<01:24,  1.50it/s, v_num=0, train_loss=0.41]", 474, None, 49),
    ("Epoch 0: :  60%|██████    | 120/200 [1:20:00<53:20, v_num=, reduced_train_loss=2.1]", 120, None, 4800),
    ("1.20k/3.00M [01:30<62:28:30, 13.3it/s]", 1200, 3e6, 90),
    ("3.5/10 [00:35<01:05, 10.0s/it]", 3.5, 10, 35),
]


@pytest.mark.parametrize(("line", "n", "total", "elapsed_s"), SHAPES)
def test_every_shape_gives_its_count(line: str, n: float, total: float | None, elapsed_s: float) -> None:
    (event,) = counts_of(line)
    assert (event.step, event.total) == (n, total)
    printed = last_bar(line)
    assert printed is not None
    assert printed.elapsed_s == elapsed_s


@pytest.mark.parametrize(
    ("rate", "seconds"),
    [("2.50s/it", 2.5), ("2.50it/s", 0.4), ("3.4kit/s", 1 / 3400), ("1.2ex/s", 1 / 1.2), ("?it/s", None)],
)
def test_rate_is_seconds_for_one_whichever_way_it_is_printed(rate: str, seconds: float | None) -> None:
    printed = last_bar(f" 10%|#         | 10/100 [00:25<03:45, {rate}]")
    assert printed is not None
    assert printed.seconds_per_step == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    ("line", "phase"),
    [
        ("Map:  45%|####  | 4500/10000 [00:03<00:04, 1200.00 examples/s]", "preparing"),
        ("Loading checkpoint shards:  50%|##  | 2/4 [00:04<00:04,  2.39s/it]", "preparing"),
        ("Downloading:  12%|# | 1.20G/9.90G [00:20<02:20, 62.0MB/s]", "preparing"),
        ("Saving the dataset (1/1 shards):  50%|##  | 5/10 [00:01<00:01,  5.00it/s]", "preparing"),
        ("Validation DataLoader 0:  40%|## | 400/1000 [00:08<00:12, 50.0it/s]", "evaluating"),
        ("Epoch 3 validation:  40%|## | 4/10 [00:08<00:12, 2.0s/it]", "evaluating"),
        ("Generating train split: 300 examples [00:01, 290.00 examples/s]", "preparing"),
        ("Sanity Checking DataLoader 0:  50%|█████     | 1/2 [00:00<00:00,  7.57it/s]", "preparing"),
        ("model.safetensors:  50%|█████     | 100M/200M [00:01<00:01,  99.0MB/s]", "preparing"),
    ],
)
def test_other_bars_give_a_phase_and_no_step(line: str, phase: str) -> None:
    steps = fused(line)
    assert steps.step is None
    assert steps.phase == phase


def test_one_endless_line_of_bars_is_read_to_its_end() -> None:
    text = "".join(bar(n, 5000, n * 0.5) for n in range(5001))
    steps = fused(text)
    assert (steps.step, steps.total) == (5000, 5000)
    assert steps.step_seconds == pytest.approx(0.5, rel=0.01)


def test_the_epoch_fraction_in_front_is_not_the_step() -> None:
    line = "Epoch 150/30000, Steps:   1%|1    | 300/30000 [00:05<08:15, 60.00it/s, lr=0, step_loss=0.05]"
    (event,) = counts_of(line)
    assert (event.step, event.total, event.epoch) == (300, 30000, 150)
    assert {v.name: v.value for v in event.values} == {"lr": 0, "loss": 0.05}


def test_validation_inside_the_epoch_is_told_and_does_not_count() -> None:
    text = "Epoch 0:  33%|###   | 990/3000 [01:06<02:14, 15.00it/s]\n"
    validation = "Validation DataLoader 0:  40%|## | 400/1000 [00:08<00:12, 50.0it/s]\n"
    steps = fused(text + validation)
    assert (steps.step, steps.phase) == (990, "evaluating")


def test_printed_rate_of_a_clock_that_runs_on_over_epochs_is_not_believed() -> None:
    text = "".join(
        f"\rEpoch 0: : {n}it [{n * 17 // 600:02d}:{n * 17 // 10 % 60:02d},  1.71s/it]" for n in range(0, 900, 5)
    )
    text += "".join(
        f"\rEpoch 1: : {n}it [{(1530 + n * 17 // 10) // 60:02d}:{(1530 + n * 17 // 10) % 60:02d}, 999.00s/it]"
        for n in range(1, 100)
    )
    steps = fused(text)
    assert steps.step == 895 + 99
    assert steps.step_seconds == pytest.approx(1.7, rel=0.03)


def test_bar_an_epoch_becomes_one_count_of_the_run() -> None:
    text = "".join(bar(n, 180, n, f"Epoch {epoch}/200") for epoch in (6, 7) for n in range(1, 181))
    steps = fused(text)
    assert (steps.step, steps.total, steps.epoch) == (7 * 180, 200 * 180, 7)
    assert steps.step_seconds == pytest.approx(1.0, rel=0.02)


def test_bar_that_is_drawn_again_with_its_figures_keeps_its_clock() -> None:
    text = "".join(  # tqdm draws once for the count and once more for the figures, and between them its clock may turn
        bar(n, 900, n * 0.1 - 0.1, "Training") + bar(n, 900, n * 0.1, "Training", f", loss={1 / n:.3f}")
        for n in range(5, 400, 5)
    )
    assert fused(text).step_seconds == pytest.approx(0.1, rel=0.02)


def test_bars_of_many_short_epochs_lose_no_half_seconds() -> None:
    text = ""
    for epoch in range(20):  # 100 steps in 9.96 s: the clock says 9 at last, the mean rate of the closed bar the rest
        text += "".join(bar(n, 100, n * 0.0996, f"Epoch {epoch}") for n in range(101))
    assert fused(text).step_seconds == pytest.approx(0.0996, rel=0.005)


def test_bar_that_restarts_without_an_epoch_number_claims_no_total() -> None:
    text = "".join(bar(n, 50, n, "Training") for _ in range(3) for n in range(51))
    steps = fused(text)
    assert (steps.step, steps.total) == (150, None)
    assert "how many epochs" in steps.total_source


def test_epoch_lines_give_the_bars_their_epoch() -> None:
    text = "".join(f"\nEpoch {e}/20\n" + "".join(bar(n, 50, n, "Training") for n in range(51)) for e in (1, 2, 3))
    steps = fused(text)
    assert (steps.step, steps.total) == (150, 1000)


def _with_evaluations() -> str:
    text = ""
    elapsed = 0.0
    for n in range(1, 401):
        elapsed += 0.5
        text += bar(n, 1000, elapsed)
        if n % 100 == 0:
            text += "\n" + "".join(bar(k, 40, k / 4) for k in range(1, 41)) + "\n"
            elapsed += 10
    return text


def test_unnamed_evaluation_bar_inside_an_unnamed_training_bar() -> None:
    steps = fused(_with_evaluations() + "".join(bar(k, 40, k / 4) for k in range(1, 20)))
    assert (steps.step, steps.total, steps.phase) == (400, 1000, "evaluating")
    assert steps.step_seconds == pytest.approx(0.5, rel=0.03)
    assert steps.wall_seconds_per_step == pytest.approx(0.6, rel=0.06)


def test_nested_loops_are_one_count() -> None:
    text = bar(0, 10, 0) + "\n"
    for epoch in range(1, 4):
        text += "".join(bar(n, 200, n / 10) for n in range(1, 201)) + "\n" + bar(epoch, 10, epoch * 20) + "\n"
    text += "".join(bar(n, 200, n / 10) for n in range(1, 101))
    steps = fused(text)
    assert (steps.step, steps.total) == (700, 2000)


def test_the_same_state_twice_is_one_reading() -> None:
    assert len(counts_of(bar(5, 10, 5) * 3)) == 1


@given(st.text(alphabet="[]/|<%:,.0123456789 its?kMday\r\n", max_size=200))
def test_whatever_looks_like_a_bar_gives_counts_that_can_be(text: str) -> None:
    for event in events_of(text):
        assert event.step is None or event.step >= 0
        assert event.seconds_per_step is None or event.seconds_per_step > 0
