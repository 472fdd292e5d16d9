"""Bars, dictionaries and ends of language-model trainers over several lines. Every sample here is invented."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.steps.formats.registry import TextReader
from tests.steps.texts import bar, clock, counts_of, events_of, fused


def test_torchtune_counts_on_over_its_bars() -> None:
    text = "epochs: 3\n"
    for epoch in (1, 2):
        for n in range(1, 101):
            text += bar(n, 100, n * 2.0, f"{epoch}|{(epoch - 1) * 100 + n}|Loss: 1.{n:02d}")
    steps = fused(text)
    assert (steps.step, steps.total, steps.epoch) == (200, 300, 2)
    assert steps.step_seconds == pytest.approx(2.0, rel=0.02)


def test_recipe_whose_label_repeats_the_step_of_the_epoch() -> None:
    text = ""
    for epoch in (1, 2):
        for n in range(1, 51):
            text += bar(n, 50, n, f"Training Epoch: {epoch}/3, step {n - 1}/50 completed (loss: 1.31)")
    steps = fused(text)
    assert (steps.step, steps.total) == (100, 150)


def test_episodes_count_and_the_inner_loop_does_not() -> None:
    text = ""
    for episode in (1, 2):
        for n in range(1, 26):
            text += bar(n, 25, n * 60, f"Episode [{episode}/20]") + "\n"
            text += "".join(bar(k, 8, k, "Train epoch [1/1]") for k in range(9)) + "\n"
    steps = fused(text)
    assert (steps.step, steps.total) == (50, 500)
    assert steps.step_seconds == pytest.approx(60, rel=0.05)


def test_epochs_of_an_outer_bar() -> None:
    text = bar(0, 3, 0, "Train epoch") + "\n"
    text += "".join(bar(n, 1000, n, "Train step of epoch 0") for n in range(1, 200))
    steps = fused(text)
    assert (steps.step, steps.total) == (199, 3000)


def test_bar_without_a_rate_and_its_planned_steps() -> None:
    text = "max_steps: 9000\n"
    text += "".join(
        f"\rEpoch 0: :  1%|#     | {n}/10000 [{clock(n * 40)}<53:20:00, v_num=,"
        f" reduced_train_loss=2.1, global_step={n - 1}.0, consumed_samples={n * 512}.0]"
        for n in range(1, 200)
    )
    steps = fused(text)
    assert (steps.step, steps.total) == (199, 9000)
    assert steps.step_seconds == pytest.approx(40, rel=0.02)


def test_planned_steps_are_no_total_of_a_bar_that_counts_batches() -> None:
    text = "max_steps: 500\n" + "".join(bar(n, 2000, n, "Epoch 0", ", v_num=0, loss=2.1") for n in range(1, 50))
    assert fused(text).total is None


def test_bars_of_two_ranks_are_one_count() -> None:
    text = ""
    for n in range(1, 400):
        text += bar(n, 1000, n * 1.5)
        if n > 2:
            text += bar(n - n % 3, 1000, (n - n % 3) * 1.5)
    steps = fused(text)
    assert (steps.step, steps.total) == (399, 1000)
    assert steps.step_seconds == pytest.approx(1.5, rel=0.02)


def test_a_bar_that_has_begun_anew_is_no_other_rank() -> None:
    text = "".join(bar(n, 1000, n * 1.5) for n in range(1, 400)) + "\n"
    text += "".join(bar(n, 1000, n * 1.5) for n in range(5))
    assert fused(text).step != 399


def test_a_bar_that_never_moves_gives_way_to_lines_that_do() -> None:
    text = "\rTraining: |          | 0/? [00:00<?, ?it/s]\n"
    text += "".join(
        f"[13/09/24 {n // 15:02d}:{n * 4 % 60:02d}:00] INFO   Epoch {n}: v_x 3.8e-01  x 2.1e-01  loss 3.0e-01\n"
        for n in range(40)
    )
    steps = fused(text)
    assert (steps.step, steps.unit) == (40, "epoch")
    assert steps.step_seconds == pytest.approx(240, rel=0.01)


DICT = "{{'loss': {loss}, 'grad_norm': 0.7, 'learning_rate': {lr}, 'epoch': {epoch}}}\n"


def _trainer(lines: int, per_epoch: int, every: int, *, last_rate: float = 0.0, end: bool = True) -> str:
    text = "".join(
        DICT.format(loss=2.0, lr=1e-4 * (1 - k / lines) + last_rate, epoch=round(k * every / per_epoch, 2))
        for k in range(1, lines + 1)
    )
    epoch = round(lines * every / per_epoch, 2)
    runtime_s = lines * every * 13.0
    if end:
        text += f"{{'train_runtime': {runtime_s}, 'train_steps_per_second': {1 / 13:.3f}, 'epoch': {epoch}}}\n"
    return text


def test_the_closing_dictionary_tells_the_steps() -> None:
    steps = fused(_trainer(48, 240, 10))
    assert (steps.step, steps.total, steps.unit) == (480, 480, "optimizer_step")
    assert steps.ended is not None


def test_lines_that_every_rank_prints_count_once() -> None:
    lines = _trainer(48, 240, 10).splitlines(keepends=True)
    assert fused("".join(line + "[rank1]: " + line for line in lines)).step == 480


def test_a_run_that_was_evaluated_and_may_have_stopped_early_claims_no_steps() -> None:
    text = _trainer(24, 240, 10, last_rate=1e-4, end=False) + "{'eval_loss': 1.9, 'epoch': 1.0}\n"
    steps = fused(text + "{'train_runtime': 3120.0, 'train_steps_per_second': 0.154, 'epoch': 1.0}\n")
    assert (steps.step, steps.unit) == (1.0, "epoch")


def test_epochs_stand_in_while_no_steps_are_told_and_their_total_follows_from_the_banner() -> None:
    banner = (
        "***** Running training *****\n  Num examples = 3,840\n  Num Epochs = 2\n"
        "  Total train batch size (w. parallel, distributed & accumulation) = 16\n  Total optimization steps = {n}\n"
    )
    text = _trainer(12, 240, 10, end=False)
    steps = fused(banner.format(n=480) + text)
    assert (steps.step, steps.total, steps.unit) == (0.5, 2, "epoch")
    assert fused(banner.format(n=300) + text).total is None, "another limit ends this run"


def test_dictionary_over_several_lines() -> None:
    text = "".join(
        f"{{'accuracy': 0.41,\n 'gradient_norm': 0.5,\n 'learning_rate': 0.0003,\n 'loss': 2.3,\n 'step': {n}}}\n"
        for n in (100, 110)
    )
    steps = fused(text)
    assert steps.step == 110
    assert {v.name: v.value for v in steps.values}["loss"] == 2.3


def test_composer_that_plans_in_tokens_counts_its_batches() -> None:
    block = "[token={tokens}/1000000]:\n\t Train time/batch: {n}\n\t Train loss/train/total: 2.9100\n"
    steps = fused("".join(block.format(n=n, tokens=n * 2000) for n in (10, 20, 30)))
    assert (steps.step, steps.total) == (30, 500)
    steps = fused("".join(block.format(n=n, tokens=n * 2000 + 7) for n in (11, 20, 31)) + "[Eval batch=5/40]\n")
    assert (steps.step, steps.total) == (31, None), "batches of different sizes"


@pytest.mark.parametrize(
    "label",
    [
        "Running loglikelihood requests",
        "Processed prompts",
        "Capturing CUDA graph shapes",
        "Running generate_until requests",
    ],
)
def test_bars_of_evaluation_and_serving_are_no_training(label: str) -> None:
    assert fused("".join(bar(n, 500, n, label) for n in range(300))).step is None


@pytest.mark.parametrize(
    "line",
    [
        "{'step': 118, 'eval_loss': 2.1}",
        "config = {'loss': 'mse', 'step': 1000}",
        "{'eval_loss': 2.1, 'eval_runtime': 4.1, 'epoch': 1.0}",
        "{'loss': 0.5, 'learning_rate': 1e-5}",
    ],
)
def test_other_dictionaries_are_no_counters(line: str) -> None:
    assert all(event.confidence <= 0.55 and event.total is None for event in counts_of(line + "\n"))
    assert fused(line + "\n").step is None


def test_composer_tells_the_time_of_a_batch_in_the_block_before() -> None:
    block = "[batch={n}/4800]:\n\t Train time/batch: {n}\n\t Train loss/train/total: 2.9100\n"
    block += "\t Train throughput/batches_per_sec: 0.5000\n"
    events = counts_of("".join(block.format(n=n) for n in (10, 20, 30)))
    assert [e.step for e in events] == [10, 20, 30]
    assert [e.seconds_per_step for e in events] == [None, 2.0, 2.0]


def test_evaluation_after_megatron_lines_is_a_pause() -> None:
    text = ""
    for k in range(1, 61):
        at = k * 10 + (k // 10) * 100
        stamp = f"2026-02-03 04:{at // 60:02d}:{at % 60:02d}"
        text += (
            f" [{stamp}] iteration {k * 10:8d}/   20000 | elapsed time per iteration (ms): 1000.0 | lm loss: 3E+00 |\n"
        )
        if k % 10 == 9:
            text += f" validation loss at iteration {k * 10} | lm loss value: 3.1E+00 |\n"
    steps = fused(text)
    assert (steps.step, steps.total) == (600, 20000)
    assert steps.step_seconds == pytest.approx(1.0, rel=0.03)
    assert steps.wall_seconds_per_step == pytest.approx(2.0, rel=0.15)


def test_the_clock_that_ends_a_run_is_a_setting() -> None:
    reader = TextReader()
    events_of("iterations:20000 warmup_steps:20 max_wallclock_seconds:600.000\n", reader)
    (setting,) = reader.settings()
    assert (setting.name, setting.value) == ("max_wallclock_seconds", 600.0)


_WORDS = st.sampled_from(
    ("iteration", "step", "step:", "Step ", "[batch=", "]:", "/", "|", " - ", "loss", "{'", "': ", "'step'", "'epoch'",
     "}", "elapsed time per iteration (ms): ", "global_step=", "micro_step=", "12", "0.5", "nan", "1,234", "s:",
     "trl:", "Epoch ", "train_runtime", "completed step: ", "dt: 1ms", "\n", "\r", " ", ",", "=", "memory: 5GiB")
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.lists(_WORDS, max_size=40).map("".join))
def test_pieces_of_known_lines_give_counts_that_can_be(text: str) -> None:
    for event in events_of(text):
        assert event.step is None or event.step >= 0
        assert event.total is None or (event.step is not None and event.total > 0)
        assert event.seconds_per_step is None or event.seconds_per_step > 0


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=300))
def test_any_text_claims_no_run(text: str) -> None:
    steps = fused(text)
    assert steps.step_seconds is None or steps.step_seconds > 0
