"""Tables, JSON Lines and the small formats of single programs. The texts are invented."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.clock import ManualClock
from monitor.steps.log_file import LogFacts, read_log
from monitor.steps.stores.follower import StoreFollower
from monitor.steps.stores.json_lines import JsonLines
from monitor.steps.stores.registry import STORES, kind_of
from monitor.steps.stores.table import Table
from tests.steps.stores.crafted import ORIGIN, T0_S, counts, read, steps


def _log(folder: Path, name: str, content: str) -> LogFacts:
    (folder / name).write_text(content)
    return read_log([str(folder / name)], ManualClock(4_000_000_000.0))[1]


def _ultralytics(epochs: int) -> str:
    rows = (f"{n},{20.0 * n:.2f},{1 / n:.5f},{2 / n:.5f},0.5,0.001\n" for n in range(1, epochs + 1))
    return "epoch,time,train/box_loss,train/cls_loss,metrics/mAP50(B),lr/pg0\n" + "".join(rows)


def test_epochs_with_a_clock_and_their_total_beside_them(tmp_path: Path) -> None:
    (tmp_path / "args.yaml").write_text("task: detect\nepochs: 50\npatience: 100\n")
    facts = _log(tmp_path, "results.csv", _ultralytics(20)).steps
    assert (facts.step, facts.unit, facts.total) == (20, "epoch", 50)
    assert facts.step_seconds == pytest.approx(20, rel=0.01)
    assert [v for v in facts.values if v.name == "loss"] == []  # parts of a loss are not the loss


def test_padded_columns_that_count_from_zero_have_no_clock(tmp_path: Path) -> None:
    header = "               epoch,      train/box_loss,       metrics/mAP_0.5\n"
    rows = "".join(f"{n:20d},{1 / (n + 1):20.5f},{0.1:20.5f}\n" for n in range(8))
    facts = _log(tmp_path, "results.csv", header + rows).steps
    assert (facts.step, facts.unit, facts.step_seconds) == (8, "epoch", None)


def test_a_time_of_one_step_is_no_clock(tmp_path: Path) -> None:
    rows = "".join(f"{n},{0.4 + 0.01 * (n % 3)},{1 / n}\n" for n in range(1, 30))
    assert _log(tmp_path, "m.csv", "step,time,loss\n" + rows).steps.step_seconds is None


def test_sparse_rows_of_lightning(tmp_path: Path) -> None:
    rows = "".join(f"0,{50 * n - 1},{1 / n},\n" for n in range(1, 9)) + "0,400,,0.3\n"
    facts = _log(tmp_path, "metrics.csv", "epoch,step,train_loss_step,val_loss\n" + rows)
    assert (facts.steps.step, facts.loss, facts.steps.epoch) == (400, 0.125, 0)


def test_a_row_that_is_not_whole_is_no_number(tmp_path: Path) -> None:
    follower = StoreFollower("m.csv")
    path = tmp_path / "m.csv"
    path.write_text("step,loss\n10,0.5\n20,0.4\n123")
    assert steps(read(path, follower=follower)) == [20]
    path.write_text("step,loss\n10,0.5\n20,0.4\n123,0.3\n")
    assert steps(read(path, follower=follower)) == [123]


def test_a_table_that_was_written_anew_with_one_more_column(tmp_path: Path) -> None:
    follower = StoreFollower("m.csv")
    path = tmp_path / "m.csv"
    path.write_text("step,loss\n10,0.5\n20,0.4\n")
    read(path, follower=follower)
    path.write_text("step,loss,lr\n10,0.5,\n20,0.4,\n30,0.3,0.1\n")
    again = read(path, follower=follower)
    assert (again.restarted, steps(again)[-1]) == (True, 30)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("people.csv", "name,age\nalice,30\nbob,31\n"),
        ("sensor.csv", "step,room\n1,2\n2,3\n"),
        ("cells.tsv", "a\tb\n1\t2\n"),
        ("package.json", '{"name": "x", "version": "1"}\n'),
        ("notes.jsonl", '{"text": "step 3"}\n'),
    ],
)
def test_data_is_no_training(name: str, content: str) -> None:
    assert kind_of(name, content.encode()) is None


def test_shuffled_rows_are_a_data_set(tmp_path: Path) -> None:
    rows = "".join(f"{n * 7919 % 101},{n / 3}\n" for n in range(90))
    (tmp_path / "d.csv").write_text("step,reward\n" + rows)
    assert counts(read(tmp_path / "d.csv")) == []


def test_time_left_tells_the_total(tmp_path: Path) -> None:
    rows = "".join(f"{n}\t{100 + 40 * n}\t{int((100 + 40 * n) / (n + 1) * (499 - n))}\n" for n in range(120))
    facts = _log(tmp_path, "time_left.tsv", "iter\tPassed\tRemaining\n" + rows).steps
    assert (facts.step, facts.total) == (120, 500)
    assert facts.step_seconds == pytest.approx(0.04, rel=0.02)


def test_episodes_are_summed_and_have_no_total(tmp_path: Path) -> None:
    rows = "".join(f"1.0,100,{5.0 * n}\r\n" for n in range(1, 11))
    header = f'#{{"t_start": {T0_S}, "env_id": "Invented-v0"}}\r\nr,l,t\r\n'
    facts = _log(tmp_path, "0.monitor.csv", header + rows)
    assert (facts.steps.step, facts.steps.total, facts.last_line_s) == (1000, None, T0_S + 50)
    assert facts.steps.step_seconds == pytest.approx(0.05, rel=0.02)


def test_trainer_state_has_a_total_and_no_clock(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"step": n, "epoch": n / 50, "loss": 1 / n} for n in range(10, 101, 10)]
    rows.append({"step": 100, "epoch": 2.0, "eval_loss": float("nan"), "eval_runtime": 3.0})
    state = {"epoch": 2.0, "global_step": 100, "max_steps": 300, "is_world_process_zero": True, "log_history": rows}
    facts = _log(tmp_path, "trainer_state.json", json.dumps(state, indent=2))
    assert (facts.steps.step, facts.steps.total, facts.steps.step_seconds) == (100, 300, None)
    assert (facts.steps.unit, facts.loss) == ("optimizer_step", 0.01)


def test_a_state_that_is_written_anew_gives_what_is_new(tmp_path: Path) -> None:
    follower = StoreFollower("trainer_state.json")
    path = tmp_path / "trainer_state.json"
    for last in (20, 40):
        rows = [{"step": n, "loss": 1.0} for n in range(10, last + 1, 10)]
        path.write_text(json.dumps({"global_step": last, "max_steps": 90, "log_history": rows, "pad": "x" * last}))
        found = steps(read(path, follower=follower))
    assert found == [40]
    path.write_text('{"global_step": 60, "log_his')
    assert steps(read(path, follower=follower)) == []


@pytest.mark.parametrize(
    "row",
    [
        '{{"current_steps": {n}, "total_steps": 90, "loss": 0.5, "elapsed_time": "0:00:{n:02d}"}}',
        '{{"step": {n}, "data": {{"actor/loss": NaN, "timing_s/step": 3.0}}}}',
        '{{"Time": "2026-02-03T04:05:{n:02d}+00:00", "Step": {n}, "Loss": 1.5}}',
        '{{"training_iteration": {n}, "time_total_s": {n}.5, "timesteps_total": 4000, "config": {{"lr": 1}}}}',
        '{{"iteration": {n}, "total_loss": 0.4, "time": 0.41, "eta_seconds": 40}}',
        '{{"time/total_timesteps": {n}, "rollout/ep_rew_mean": 3.5, "time/time_elapsed": {n}}}',
    ],
)
def test_json_lines_of_many_programs(tmp_path: Path, row: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(row.format(n=n) + "\n" for n in range(1, 41)))
    assert steps(read(path))[-1] == 40


def test_results_by_epoch_between_steps_are_no_restart(tmp_path: Path) -> None:
    rows = [json.dumps({"loss": 0.5, "lr": 0.1, "step": 50 * n}) for n in range(1, 9)]
    rows.insert(4, json.dumps({"coco/bbox_mAP": 0.3, "step": 1}))
    path = tmp_path / "scalars.json"
    path.write_text("\n".join(rows) + "\n")
    found = JsonLines().feed(path.read_bytes(), ORIGIN)
    assert [e.step for e in found] == [50.0 * n for n in range(1, 9)]


def test_metrics_of_mlflow(tmp_path: Path) -> None:
    folder = tmp_path / "metrics"
    folder.mkdir()
    (folder / "loss").write_text("".join(f"{int(1000 * (T0_S + 4 * n))} {1 / n} {10 * n}\n" for n in range(1, 20)))
    last = counts(read(folder / "loss"))[-1]
    assert (last.source, last.step, last.event_s) == ("mlflow", 190, T0_S + 76)


def test_the_best_of_a_folder_may_be_a_store(tmp_path: Path) -> None:
    (tmp_path / "readme.txt").write_text("nothing\n")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "metrics.csv").write_text("step,loss\n10,0.5\n20,0.4\n")
    facts = read_log([str(tmp_path)], ManualClock())[1]
    assert facts.steps.step == 20


def test_a_line_without_end_is_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_bytes(b"step,loss\n1,0.5\n" + b"9" * 3_000_000 + b"\n2,0.4\n")
    assert [e.step for e in Table().feed(path.read_bytes(), ORIGIN)] == [1, 2]


@given(st.sampled_from(STORES), st.binary(max_size=300), st.integers(0, 300))
def test_no_bytes_break_any_store(kind: object, garbage: bytes, cut: int) -> None:
    for store in STORES:
        if store is kind:
            store.matches("a.csv", garbage)
            reader = store.make()
            reader.feed(garbage[:cut], ORIGIN)
            reader.feed(garbage[cut:] + b"\n", ORIGIN)
            reader.settings()
            assert 0 <= reader.enter(garbage, 5) <= len(garbage)


@given(st.text(max_size=200), st.sampled_from(("a.csv", "a.tsv", "a.jsonl", "metrics.json", "loss")))
def test_no_text_is_taken_for_a_store_and_breaks_it(text: str, name: str) -> None:
    kind = kind_of(name, text.encode("utf-8", "replace"))
    found = [] if kind is None else kind.make().feed(text.encode("utf-8", "replace") + b"\n", ORIGIN)
    assert all(e.step is None or e.step >= 0 for e in found)
