"""Boxed and plain tables, JSON of whole epochs, print loops with announced totals. Every sample line is invented."""

from __future__ import annotations

import pytest

from tests.steps.texts import counts_of, events_of, fused


def _box(rows: dict[str, str]) -> str:
    rule = "-" * 42 + "\n"
    return rule + "".join(f"| {key:<24}| {value:<12} |\n" for key, value in rows.items()) + rule


def _sb3(n: int) -> str:
    return _box(
        {
            "rollout/": "", "   ep_rew_mean": "12.1", "time/": "", "   fps": "512", "   iterations": f"{n}",
            "   time_elapsed": f"{4 * n}", "   total_timesteps": f"{2048 * n}", "train/": "", "   loss": "0.41",
            "   learning_rate": "0.0003", "   value_loss": "7.1",
        }
    )  # fmt: skip


def test_tables_of_stable_baselines() -> None:
    steps = fused("".join(_sb3(n) for n in range(1, 60)))
    assert (steps.step, steps.total, steps.source) == (59 * 2048, None, "box_table")
    assert steps.step_seconds == pytest.approx(4 / 2048, rel=0.02)
    assert {v.name: v.value for v in steps.values}["loss"] == 0.41


@pytest.mark.parametrize("seconds", [1.5, 2.3, 3.4])
def test_whole_seconds_a_table_give_the_rate_all_the_same(seconds: float) -> None:
    tables = (_box({"time_elapsed": f"{int(seconds * n)}", "total_timesteps": f"{1000 * n}"}) for n in range(1, 200))
    assert fused("".join(tables)).step_seconds == pytest.approx(seconds / 1000, rel=0.05)


def test_evaluation_tables_are_no_counter() -> None:
    assert counts_of(_box({"eval/mean_reward": "12.1", "eval/step": "100"})) == []


def test_rounded_steps_of_a_table_are_read_as_printed() -> None:
    event = counts_of(_box({"loss": "0.14", "samples": "5.28e+06", "step": "2.06e+04"}))[-1]
    assert (event.step, event.total) == (20600, None)


@pytest.mark.parametrize(
    ("rows", "step", "unit"),
    [
        ({"Epoch": "12", "AverageEpRet": "101", "TotalEnvInteracts": "48000", "Time": "123"}, 48000, "step"),
        ({"misc/nupdates": "12", "misc/total_timesteps": "24576"}, 24576, "step"),
        ({"Epoch": "12", "loss": "0.1"}, 12, "epoch"),
    ],
)
def test_which_row_is_the_counter(rows: dict[str, str], step: float, unit: str) -> None:
    event = counts_of(_box(rows))[-1]
    assert (event.step, event.unit) == (step, unit)


def test_other_boxes_are_no_counters() -> None:
    assert counts_of(_box({"Params": "12.1 M", "FLOPs": "4.1 G", "Layers": "12"})) == []


TABLES = (
    (
        "E    #       LOSS TOK2VEC  LOSS NER  ENTS_F  ENTS_P  ENTS_R  SCORE\n"
        "---  ------  ------------  --------  ------  ------  ------  ------\n"
        + "".join(f"  {n // 2}     {200 * n}     612.30   40.10   70.10   71.20   69.10    0.70\n" for n in range(5)),
        800, "step", None,
    ),
    (
        "epoch     train_loss  valid_loss  accuracy  time\n"
        + "".join(f"{n}         1.234000    0.912000    0.812000  00:42\n" for n in range(5)),
        4, "epoch", 42,
    ),
    (
        "  epoch    train_loss    valid_acc    valid_loss     dur\n"
        "-------  ------------  -----------  ------------  ------\n"
        + "".join(f"      {n}        0.6905       0.6150        0.6580  1.5000\n" for n in range(1, 6)),
        5, "epoch", 1.5,
    ),
    ("step,loss,lr\n" + "".join(f"{n * 10},0.{90 - n},0.001\n" for n in range(5)), 40, "step", None),
    ("| step | loss | elapsed |\n" + "".join(f"| {n * 10} | 0.5 | {n * 25}.5 |\n" for n in range(9)), 80, "step", 2.5),
    (
        "Step\tTraining Loss\tValidation Loss\n"
        + "".join(f"{n * 500}\t0.4{n}0000\t0.61\n" for n in range(1, 6)),
        2500, "step", None,
    ),
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "step", "unit", "step_seconds"), TABLES, ids=("spacy", "fastai", "skorch", "csv", "pipes", "tabs")
)
def test_plain_tables(text: str, step: float, unit: str, step_seconds: float | None) -> None:
    steps = fused(text)
    assert (steps.step, steps.unit, steps.total, steps.source) == (step, unit, None, "column_table")
    if step_seconds is None:
        assert steps.step_seconds is None
    else:
        assert steps.step_seconds == pytest.approx(step_seconds, rel=0.02)


@pytest.mark.parametrize(
    "text",
    [
        "epoch     train_loss  valid_loss  accuracy  time\n0         1.234000    0.912000    0.812000  00:42\n",
        "step,loss,lr\n40,0.5,0.1\n30,0.5,0.1\n20,0.5,0.1\n10,0.5,0.1\n",
        "precision    recall  f1-score   support\n0       0.92      0.95      0.94       999\n"
        "1       0.97      0.88      0.92      1184\n2       0.88      0.71      0.78       586\n",
        "name step size\nalpha 1 2\nbeta 2 3\ngamma 3 4\n",
    ],
)
def test_tables_that_do_not_rise_are_no_training(text: str) -> None:
    assert counts_of(text) == []


@pytest.mark.parametrize(
    ("text", "step", "total"),
    [
        (
            '{"train_lr": 0.0001, "train_loss": 0.91, "test_acc1": 71.2, "epoch": 3, "n_parameters": 86000000}\n',
            3,
            None,
        ),
        ('Namespace(epochs=90)\n{"train_loss": 0.91, "epoch": 3}\n', 3, 90),
    ],
)
def test_json_of_an_epoch(text: str, step: float, total: float | None) -> None:
    event = counts_of(text)[-1]
    assert (event.step, event.total, event.unit, event.source) == (step, total, "epoch", "prefixed_json")


@pytest.mark.parametrize(
    "text",
    ['{"epoch": 3.5, "train_loss": 1}', '{"epoch": true, "train_a": 1}', '{"epoch": -1, "train_a": 1}', '{"epoch"}'],
)
def test_odd_json_claims_nothing(text: str) -> None:
    assert counts_of(text + "\n") == []


def _loop(pattern: str, count: int) -> str:
    return "".join(pattern.format(n=n, s=10 * n) + "\n" for n in range(1, count))


@pytest.mark.parametrize(
    ("text", "step", "total", "unit"),
    [
        ("num_epochs: 35\n" + _loop("Epoch {n}, Train Loss: 0.5", 9), 8, 35, "epoch"),
        ("max_steps = 2000\n" + _loop("step {s} loss 0.5", 9), 80, 2000, "step"),
        ("max_iters=2000\n" + _loop("iter {s}: loss 0.5", 9), 80, 2000, "step"),
        ("max_steps = 20\n" + _loop("step {s} loss 0.5", 9), 80, None, "step"),
        ("warmup_steps: 2000\n" + _loop("step {s} loss 0.5", 9), 80, None, "step"),
        ("num_epochs: 35\n" + _loop("step {s} loss 0.5", 9), 80, None, "step"),
        (_loop("Epoch [1/10], Step [{s}/600], Loss: 0.5", 9), 80, 6000, "step"),
    ],
)
def test_print_loops_take_the_total_that_the_text_announces(
    text: str, step: float, total: float | None, unit: str
) -> None:
    steps = fused(text)
    assert (steps.step, steps.total, steps.unit) == (step, total, unit)


def test_the_time_of_an_epoch_may_stand_in_the_lines_after_it() -> None:
    text = "".join(
        f"Epoch: {n}/30\nTime Taken: 30.50s - LR: 1e-4\nTrain Loss: 6.1\nValid Loss: 6.0\n---\n" for n in range(1, 9)
    )
    steps = fused(text)
    assert (steps.step, steps.total) == (8, 30)
    assert steps.step_seconds == pytest.approx(30.5)


def test_a_time_far_below_is_not_the_epochs() -> None:
    text = "".join(f"Epoch: {n}/30\n" + "note\n" * 12 + "export took 3.5s\n" for n in range(1, 9))
    assert fused(text).step_seconds is None


@pytest.mark.parametrize(
    "shape", ["Epoch: {n:02d} | Time: 0m 42s", "Epoch {n} took 42.0 seconds", "Epoch {n}/30 [42.0s]"]
)
def test_the_time_of_an_epoch_in_its_line(shape: str) -> None:
    assert events_of(shape.format(n=3) + "\n") == [] or counts_of(shape.format(n=3) + "\n")
    assert fused("".join(shape.format(n=n) + "\n" for n in range(1, 9))).step_seconds == pytest.approx(42)
