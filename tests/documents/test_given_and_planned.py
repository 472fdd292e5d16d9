"""Settings of a command line and the plan they make. The command lines are invented."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from monitor.documents.given import argv_settings
from monitor.documents.planned import planned
from monitor.types.documents import Setting


def _values(*argv: str) -> dict[str, object]:
    return {s.name: s.value for s in argv_settings(argv)}


def test_every_spelling_of_a_setting() -> None:
    values = _values("python", "-u", "train.py", "--max_steps", "100", "--lr=3e-4", "--bf16", "-e", "3",
                     "trainer.max_steps=200", "--resume", "false", "--offset", "-1")  # fmt: skip
    assert values == {"max_steps": 100.0, "lr": 3e-4, "bf16": True, "e": 3.0, "trainer.max_steps": 200.0,
                      "resume": False, "offset": -1.0}  # fmt: skip


def test_secrets_are_hidden() -> None:
    assert "abcdef123" not in str(_values("python", "t.py", "--api_key", "abcdef123", "wandb.api_key=abcdef123"))


def test_a_plan_names_where_its_total_stands() -> None:
    plan = planned(argv_settings(("python", "t.py", "--train-iters", "20000", "--save-interval", "500")))
    assert (plan.total, plan.total_source, plan.save_every) == (20000.0, "--train-iters", 500.0)
    assert plan.epochs is None
    assert plan.early_stopping is None


def test_minus_one_is_no_total() -> None:
    assert planned((Setting(name="max_steps", value=-1.0, source="x"),)).total is None


def test_warmup_steps_are_no_total() -> None:
    assert planned((Setting(name="scheduler.warmup.steps", value=10.0, source="x"),)).total is None


@given(st.lists(st.text(max_size=40), max_size=20))
def test_no_command_line_makes_a_total_that_is_none(argv: list[str]) -> None:
    total = planned(argv_settings(tuple(argv))).total
    assert total is None or total > 0
