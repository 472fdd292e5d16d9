"""What is taken from a run's settings for its finish time."""

from __future__ import annotations

import pytest

from advisor.finish.plan import plan_of
from monitor.types.documents import Setting
from monitor.types.run import Run, RunEnd


def _run(**settings: str | float | None) -> Run:
    return Run(
        run_id="r",
        name="r",
        total=500,
        settings=tuple(Setting(name=k.replace("__", "."), value=v, source="a flag") for k, v in settings.items()),
    )


def test_periods_are_read_from_settings() -> None:
    plan = plan_of(_run(eval_steps=250, save_steps="100", trainer__steps_per_epoch=40))
    assert [*plan.known_periods] == [(250, "evaluating"), (100, "saving"), (40, "end of epoch")]
    assert plan.total == 500


@pytest.mark.parametrize("value", ["auto", None, True, 0, -1, "nan", 0.25])
def test_what_is_no_number_of_steps_is_no_period(value: str | float | None) -> None:
    assert plan_of(_run(eval_steps=value)).known_periods == ()


def test_periods_in_steps_are_not_used_for_epochs() -> None:
    run = Run(run_id="r", name="r", unit="epoch", settings=(Setting(name="save_steps", value=5, source=""),))
    assert plan_of(run).save_every is None


def test_the_first_of_a_name_wins() -> None:
    twice = (Setting(name="--eval-steps", value=10, source=""), Setting(name="eval_steps", value=20, source=""))
    assert plan_of(Run(run_id="r", name="r", settings=twice)).eval_every == 10


def test_early_stopping_and_limits() -> None:
    assert plan_of(_run(early_stopping_patience=3)).early_stopping
    assert plan_of(_run(early_stopping="true")).early_stopping
    assert not plan_of(_run(early_stopping=False)).early_stopping
    assert plan_of(_run(max_wallclock_seconds=600)).max_time_s == 600
    run = Run(run_id="r", name="r", job_limit_s=5000.0, last_step_s=4000.0, ended=RunEnd(how="error", seen_s=1.0))
    assert plan_of(run, 4100.0).limit_s == 1000
    assert plan_of(run).ended == "error"
