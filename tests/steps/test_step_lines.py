"""Printed lines, dictionaries and ends. Every sample line here is invented."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.clean import clean
from monitor.steps.formats.stamps import line_time_s
from tests.steps.texts import counts_of, events_of, fused

SHAPES: list[tuple[str, float, float | None, float | None]] = [
    ("iter 100: loss 2.3456, time 120.50ms, mfu 35.1%", 100, None, 2.3456),
    ("step:    20 /   250 loss: 1.9000 tokens: 40000", 20, 250, 1.9),
    ("<epoch: 33, iter: 167,900, lr:6.2e-06, t:31.60s, eta:281.80h>", 167900, None, None),
    ("Epoch [2][400/12000] lr: 0.0010, eta: 1 day, 6:20:15, time: 0.410, memory: 7200, loss: 4.87", 12400, None, 4.87),
    ("step 00014 (0.00%) | loss: nan | dt: 5.08ms", 14, None, None),
    ("2026-02-03 04:05:06,123 - INFO - Step 40/1000; acc: 71.2; xent: 0.31; lr: 1.0", 40, 1000, 0.31),
    ("[ 40/1000] loss 0.52 lr 1e-4", 40, 1000, 0.52),
    ("step:118/2400 train_loss:4.9 train_time:14868ms step_avg:126.00ms", 118, 2400, 4.9),
    ("global_step=1200 train/loss=0.4", 1200, None, 0.4),
    ("epoch: 12/150, iter: 40/310, total_loss: 3.1, lr: 1.0e-03", 11 * 310 + 40, 150 * 310, 3.1),
    ("Epoch 3/50, loss: 0.71", 3, 50, 0.71),
]


@pytest.mark.parametrize(("line", "step", "total", "loss"), SHAPES)
def test_shapes(line: str, step: float, total: float | None, loss: float | None) -> None:
    (event,) = counts_of(line + "\n")
    assert (event.step, event.total) == (step, total)
    found = {value.name: value.value for value in event.values}
    if loss is not None:
        assert found["loss"] == loss
    if event.source == "step_line":
        assert event.confidence == 0.3, "one line is not yet believed"


def test_not_a_number_travels_as_text() -> None:
    (event,) = counts_of("step 14 | loss: nan | lr: 0.1\n")
    assert event.values[0].value == "nan"


def test_rising_lines_are_believed_from_the_third_on() -> None:
    events = counts_of("".join(f"step {n} loss 1.0\n" for n in (1, 2, 3)))
    assert [e.confidence for e in events] == [0.3, 0.3, pytest.approx(0.75)]


def test_lines_without_figures_are_held_back_until_they_rise() -> None:
    assert counts_of("step 1 of 9\nstep 2 of 9\n") == []
    assert [e.step for e in counts_of("step 1 of 9\nstep 2 of 9\nstep 3 of 9\n")] == [1, 2, 3]


@pytest.mark.parametrize(
    "line",
    [
        "[1/5] Loading tokenizer...",
        "Saving checkpoint at step 500",
        "Best model found at step 1200",
        "resuming from step 900",
        "eval step 7: accuracy 0.9",
        "listening on port 8080",
        "version 1.2.3 build 4",
        "took 3 iterations of the moon",
        "GPU 0: 12 GB of 80 GB",
    ],
)
def test_other_lines_are_no_steps(line: str) -> None:
    assert counts_of("".join(line.replace("5", str(n)) + "\n" for n in range(3))) == []


def test_a_count_that_is_cut_off_waits_for_its_end() -> None:
    assert counts_of("step 12") == []
    assert counts_of("step 123 loss")[0:1] == []


def test_an_iteration_count_that_begins_anew_each_epoch_becomes_one() -> None:
    text = "".join(f"epoch {e} step {n}/100 loss 1.0\n" for e in (1, 2, 3) for n in range(10, 101, 10))
    steps = fused(text)
    assert steps.step == 300


def test_time_stamps_give_a_rate_at_once() -> None:
    text = "".join(
        f"2026-02-03 04:{s // 60:02d}:{s % 60:02d},250 INFO step {s // 2}/5000 loss 1.5\n" for s in range(0, 600, 20)
    )
    steps = fused(text)
    assert (steps.rate_clock, steps.step) == ("source", 290)
    assert steps.step_seconds == pytest.approx(2.0)


def test_printed_iteration_time_is_the_last_resort_and_says_so() -> None:
    steps = fused("".join(f"iter {n}: loss 2.5, time 120.00ms\n" for n in range(0, 200, 10)))
    assert steps.step_seconds == pytest.approx(0.12)
    assert steps.wall_seconds_per_step is None
    assert any("prints" in note for note in steps.notes)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-02-03T04:05:06Z x", 1770091506.0),
        ("[2026-02-03 04:05:06.500+01:00] x", 1770087906.5),
        ("1770091506.25 step 1", 1770091506.25),
        ("2026-13-40 99:99:99 x", None),
        ("no time here", None),
        ("step 1770091506999 x", None),
    ],
)
def test_line_times(text: str, seconds: float | None) -> None:
    assert line_time_s(text) == seconds


@pytest.mark.parametrize(
    "line",
    [
        "{'loss': 1.8342, 'grad_norm': 0.71, 'learning_rate': 1.7e-05, 'epoch': 0.42}",
        "{'loss': '1.8342', 'grad_norm': '0.71', 'learning_rate': '1.7e-05', 'epoch': '0.42'}",
        " 42%|##  | 42/100 [00:42<00:58,  1.00s/it]"
        "{'loss': 1.8342, 'grad_norm': 0.71, 'learning_rate': 1.7e-05, 'epoch': 0.42}",
    ],
)
def test_trainer_dictionaries_of_both_versions(line: str) -> None:
    event = next(e for e in events_of(line + "\n") if e.source == "hf_dict")
    assert {v.name: v.value for v in event.values} == {"loss": 1.8342, "grad_norm": 0.71, "lr": 1.7e-05}
    assert event.epoch == 0.42


def test_train_runtime_ends_the_run_and_its_mean_loss_is_not_the_last() -> None:
    text = "{'loss': 0.5, 'learning_rate': 0.1, 'epoch': 2.9}\n"
    steps = fused(text + "{'train_runtime': '87.05', 'train_loss': '0.926', 'epoch': '3'}\n")
    assert steps.ended is not None
    assert steps.ended.how == "finished"
    assert {v.name: v.value for v in steps.values}["loss"] == 0.5


ENDS = [
    ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.", "out_of_memory"),
    ("Traceback (most recent call last):\n  File\nRuntimeError: CUDA out of memory. Tried", "out_of_memory"),
    ("[rank0]: Traceback (most recent call last):\n[rank0]: ValueError: bad", "error"),
    ("29948it [35:34,  7.00s/it]slurmstepd: error: *** JOB 1 ON node01 CANCELLED AT 2026-01-01T00:00:00 ***", "killed"),
    ("slurmstepd: error: *** JOB 1 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***", "time_limit"),
    ("KeyboardInterrupt", "killed"),
    ("Training complete!", "finished"),
    ("`Trainer.fit` stopped: `max_epochs=80` reached.", "finished"),
    ("[after training is done] datetime: 2026-01-01", "finished"),
    ("120 epochs completed in 1.374 hours.", "finished"),
    ("2026-09-16 12:53:21 - INFO - Training finished after not improving. Early stop", "finished"),
    ("[2026-01-01 00:00:00] [launch.py:351:main] Process 41 exits successfully.", "finished"),
]


@pytest.mark.parametrize(("text", "how"), ENDS)
def test_ends(text: str, how: str) -> None:
    ended = fused("step 1 loss 1\nstep 2 loss 1\n" + text + "\n").ended
    assert ended is not None
    assert ended.how == how
    assert ended.evidence


@pytest.mark.parametrize(
    "text",
    [
        "Exception ignored in: <function f>\nTraceback (most recent call last):\n",
        "waiting until training is configured\n",
        "memory allocated: 30724 MiB\n",
        "ImportError hints: none\n",
    ],
)
def test_no_ends(text: str) -> None:
    assert fused("step 1 loss 1\n" + text).ended is None


def test_a_run_that_steps_on_has_not_ended() -> None:
    assert fused("step 5 loss 1\nTraceback (most recent call last):\nstep 6 loss 1\n").ended is None


@given(st.one_of(st.text(max_size=300), st.binary(max_size=300)))
def test_no_text_raises_or_leaves_anything_unclean(data: str | bytes) -> None:
    for event in events_of(data):
        assert event.step is None or event.step >= 0
        assert clean(event.evidence) == event.evidence


@pytest.mark.parametrize(
    "unit",
    [
        "eval step 1 ",
        "[00:00",
        "a=1 ",
        "step ",
        "1/1[00:00<00:00, ",
        "epoch [1][1/2",
        "'loss': 1, ",
        "{'",
        "2026-02-03 ",
        "it 1it",
    ],
)
def test_lines_made_to_be_slow_are_not(unit: str) -> None:
    text = (unit * 5000)[:4000] + "\n"
    start = time.thread_time()
    for _ in range(5):
        events_of(text)
    assert time.thread_time() - start < 2.0


JSON_LINES: list[tuple[str, float, float | None, dict[str, object]]] = [
    ('{"step": 40, "loss": 1.9, "lr": 1e-4}', 40, None, {"loss": 1.9, "lr": 1e-4}),
    ('{"current_steps": 10, "total_steps": 90, "loss": "2.5", "elapsed_time": "0:00:32"}', 10, 90, {"loss": 2.5}),
    ('{"iter": 7, "max_iters": 50}', 7, 50, {}),
    ('{"epoch": 0.5, "train/loss": 0.25, "global_step": 12, "config": {"step": 3}}', 12, None, {"loss": 0.25}),
]


@pytest.mark.parametrize(("line", "step", "total", "values"), JSON_LINES)
def test_an_object_a_line_is_a_reading(line: str, step: float, total: float | None, values: dict[str, object]) -> None:
    (event,) = counts_of(line + "\n")
    assert (event.source, event.step, event.total) == ("json_line", step, total)
    assert {value.name: value.value for value in event.values} == values


@pytest.mark.parametrize(
    "line",
    [
        '{"step": true, "loss": 1}',
        '{"loss": 1.9}',
        '{"step": 10, "split": "val", "loss": 1.0}',
        '{"step": 10, "name": "start"}',
        '{"step": ' + "9" * 400 + ', "loss": 1}',
        '{"step": 10, "loss"',
        '{"a":' * 2000 + "1" + "}" * 2000,
    ],
)
def test_other_objects_are_no_reading(line: str) -> None:
    assert [event for event in counts_of(line + "\n") if event.source == "json_line"] == []


def test_the_clocks_of_an_object() -> None:
    (stamped,) = counts_of('{"step": 1, "loss": 1, "_timestamp": 1700000000.5}\n')
    assert (stamped.event_s, stamped.event_clock) == (1700000000.5, "text")
    (elapsed,) = counts_of('{"step": 1, "loss": 1, "elapsed_time": "1:02:03", "timestamp": 12}\n')
    assert (elapsed.elapsed_s, elapsed.event_clock) == (3723.0, "none")


@pytest.mark.parametrize(
    ("text", "how", "evidence"),
    [
        ("Traceback (most recent call last):\n  File x\nValueError: bad batch\n", "error", "ValueError: bad batch"),
        (
            "[rank1]: Traceback (most recent call last):\n[rank1]:   File x\n[rank1]: some.lib.DistError: lost\n",
            "error",
            "[rank1]: some.lib.DistError: lost",
        ),
        (
            "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB. " + "GPU 0 has a capacity. " * 20 + "\n",
            "out_of_memory",
            ("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB. " + "GPU 0 has a capacity. " * 20)[:160],
        ),
    ],
)
def test_the_evidence_of_an_end_names_it(text: str, how: str, evidence: str) -> None:
    ended = fused("step 1 loss 1\nstep 2 loss 1\n" + text).ended
    assert ended is not None
    assert (ended.how, ended.evidence) == (how, evidence)


@pytest.mark.parametrize(
    "line",
    [
        "Evaluating...",
        "***** Running Evaluation *****",
        "2026-02-03 04:05:06,123 - INFO - Validating on 400 samples",
        "[rank0] starting validation",
        "INFO: Running validation at step 500",
    ],
)
def test_an_announced_evaluation_is_a_phase_until_the_next_line(line: str) -> None:
    steps = "".join(f"step {n} loss 1\n" for n in (1, 2, 3))
    assert fused(steps + line + "\n").phase == "evaluating"
    assert fused(steps + line + "\nvalidation loss 2.5\n").phase == "training"
    assert fused(steps + line + "\nstep 4 loss 1\n").phase == "training"


@pytest.mark.parametrize(
    "line",
    [
        "Evaluation results: good",
        "Evaluating every 100 steps",
        "Starting evaluation every 10 epochs",
        "Evaluating: loss 2.5",
        "the re-evaluating of things",
        "x" * 200 + " Evaluating...",
    ],
)
def test_other_talk_of_evaluation_is_no_phase(line: str) -> None:
    assert fused("step 1 loss 1\nstep 2 loss 1\nstep 3 loss 1\n" + line + "\n").phase == "training"


def test_an_announced_evaluation_is_no_step() -> None:
    pieces = [
        f"step {n} loss 1 elapsed {n * 2 + n // 10 * 30}s\n" + "Evaluating...\n" * (n % 10 == 9) for n in range(40)
    ]
    assert fused("".join(pieces)).step_seconds == pytest.approx(2.0, rel=0.01)
